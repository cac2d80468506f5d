"""Every case of every spec file, against the pass it names.

``pytest --update`` (``make spec-update``) writes what the passes answer into the files instead.
"""

from pathlib import Path

import pytest

from tests.passes import PASSES
from tests.specfile import Block, SpecError, cases, parse, render, tidy, with_expected

SPECS = Path(__file__).parent / "specs"


def read(path: Path) -> tuple[Block, ...]:
    try:
        return parse(path.read_text(encoding="utf-8"))
    except SpecError as error:
        error.add_note(f"in {path.name}")
        raise


CASES = [
    pytest.param(path, index, id=f"{path.name}:{case.line}")
    for path in sorted(SPECS.glob("*.spec"))
    for index, case in enumerate(cases(read(path)))
]


@pytest.mark.parametrize(("path", "index"), CASES)
def test_spec(path: Path, index: int, request: pytest.FixtureRequest) -> None:
    blocks = read(path)  # again: with --update, earlier cases have changed the file
    case = cases(blocks)[index]
    assert case.name in PASSES, f"no pass {case.name!r}; tests/passes.py knows {sorted(PASSES)}"

    answer = tidy(PASSES[case.name](case.input, case.relations, case.args))

    if request.config.getoption("--update") and answer != case.expected:
        path.write_text(render(with_expected(blocks, case, answer)), encoding="utf-8")
    else:
        assert answer == case.expected
