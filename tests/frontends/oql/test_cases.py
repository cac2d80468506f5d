"""Every case of the spec files of OQL; ``pytest --update`` writes what is answered into them."""

from pathlib import Path

import pytest

from tests.frontends.oql.answers import DOORS
from tests.specfile import cases, parse, render, tidy, with_expected

HERE = Path(__file__).parent
CASES = [
    pytest.param(path, index, id=f"{path.name}:{case.line}")
    for path in sorted(HERE.glob("*.spec"))
    for index, case in enumerate(cases(parse(path.read_text(encoding="utf-8"))))
]


@pytest.mark.parametrize(("path", "index"), CASES)
def test_case(path: Path, index: int, request: pytest.FixtureRequest) -> None:
    blocks = parse(
        path.read_text(encoding="utf-8")
    )  # again: with --update, earlier cases have changed the file
    case = cases(blocks)[index]

    found = tidy(DOORS[case.name](case.input, *case.args))

    if request.config.getoption("--update") and found != case.expected:
        path.write_text(render(with_expected(blocks, case, found)), encoding="utf-8")
    else:
        assert found == case.expected
