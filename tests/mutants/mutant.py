"""Mutants: a text of one function is replaced while a check runs, in this process, for all who have the function.

A mutant names what is broken, the function, the text and the check that notices. It is caught if the check fails
with the mutant and passes without. A mutant whose function or text is gone is itself an error: whoever rewrites the
function rewrites the mutant. Only the code of the function is exchanged, so those who imported it by name have it too.
"""

import inspect
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FunctionType
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.errors import HypothesisException

from tests.engines.shared import forget
from tests.passes import PASSES
from tests.specfile import cases, tidy
from tests.test_specs import SPECS, read

#: How laws are tried: the same draws every time, and what fails is not made small.
TRIED = settings(
    settings.get_profile("default"),
    max_examples=100,
    deadline=None,
    derandomize=True,
    database=None,
    phases=(Phase.explicit, Phase.generate),
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)


class NoMutant(AssertionError):
    """A mutant that does not fit its function."""


@dataclass(frozen=True)
class Check:
    """A law, a spec or an example, by name; ``cases`` are tried one after the other until one fails."""

    name: str
    cases: Sequence[Callable[[], Any]]


@dataclass(frozen=True)
class Mutant:
    """In ``function`` of ``module``, ``old`` becomes ``new``: ``check`` fails."""

    broken: str
    module: str
    function: str
    old: str
    new: str
    check: Check
    quick: bool = False

    @cached_property
    def target(self) -> FunctionType:
        """The function whose code is exchanged."""
        try:
            found: Any = import_module(f"nestling.{self.module.replace('/', '.')}")
            for name in self.function.split("."):
                found = inspect.getattr_static(found, name)
                found = getattr(found, "fget", None) or getattr(found, "func", None) or found
        except (AttributeError, ModuleNotFoundError) as error:
            raise NoMutant(f"{self.broken}: {self.module} has no {self.function}") from error
        found = inspect.unwrap(found)
        if not isinstance(found, FunctionType):
            raise NoMutant(f"{self.broken}: {self.function} of {self.module} is no function")
        return found

    @cached_property
    def code(self) -> CodeType:
        """The code of the broken function."""
        path = Path(self.target.__code__.co_filename)
        body, first = inspect.getsourcelines(self.target)
        if (found := "".join(body).count(self.old)) != 1:
            raise NoMutant(
                f"{self.broken}: {self.function} of {self.module} has {self.old!r} {found} times, not once"
            )
        lines = path.read_text().splitlines(keepends=True)
        lines[first - 1 : first - 1 + len(body)] = ["".join(body).replace(self.old, self.new)]
        whole = compile("".join(lines), str(path), "exec", dont_inherit=True)
        (code,) = (c for c in codes(whole) if c.co_qualname == self.target.__code__.co_qualname)
        return code


def codes(code: CodeType) -> Iterator[CodeType]:
    """``code`` and all that is defined in it."""
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from codes(const)


@contextmanager
def broken(mutant: Mutant) -> Iterator[None]:
    """Inside, the function is the mutant."""
    target: Any = mutant.target
    code = mutant.code
    whole = target.__code__
    target.__code__ = code
    try:
        yield
    finally:
        target.__code__ = whole


def catch(mutant: Mutant) -> None:
    """Some case of the check fails with the mutant, and holds without it."""
    for case in mutant.check.cases:
        with broken(mutant):
            caught = fails(case)
        if caught:
            case()
            return
    pytest.fail(f"{mutant.check.name} holds though {mutant.broken}")


def fails(case: Callable[[], Any]) -> bool:
    """Whether a case fails; a mutant that is no program, or a law that finds nothing to try, fails by itself."""
    try:
        case()
    except (NameError, ImportError, HypothesisException):
        raise
    except (Exception, pytest.fail.Exception):  # noqa: BLE001 - whatever a broken function raises was noticed
        return True
    return False


# -- checks


def example(test: Callable[..., Any], **arguments: Any) -> Check:
    """A test of one behaviour, with what its fixtures would give: a function makes it anew."""
    return Check(_name(test, arguments), [partial(_run, test, arguments)])


def law(test: Callable[..., Any], **arguments: Any) -> Check:
    """A property, on the same draws every time."""
    return Check(_name(test, arguments), [partial(_tried, test, arguments)])


def any_of(name: str, check: Callable[[int], Any], tries: int) -> Check:
    """A check of random cases by their seeds."""
    return Check(name, [partial(check, seed) for seed in range(tries)])


def spec(name: str) -> Check:
    """All cases of a spec file."""
    path = SPECS / f"{name}.spec"
    return Check(path.name, [partial(_answers, case) for case in cases(read(path))])


def _answers(case: Any) -> None:
    assert tidy(PASSES[case.name](case.input, case.relations, case.args)) == case.expected


def _tried(test: Any, arguments: dict[str, Any]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(test, "_hypothesis_internal_use_settings", TRIED)
        _run(test, arguments)


def _run(test: Callable[..., Any], arguments: dict[str, Any]) -> None:
    """Nothing that the test's module remembers, or shares, comes from a mutant, or goes to one."""
    own = vars(sys.modules[test.__module__]).values()
    remembered = [forget, *(f.cache_clear for f in own if hasattr(f, "cache_clear"))]
    for clear in remembered:
        clear()
    try:
        with ExitStack() as stack:
            test(**{name: _made(stack, value) for name, value in arguments.items()})
    finally:
        for clear in remembered:
            clear()


def _made(stack: ExitStack, value: Any) -> Any:
    """A fixture's value; one that yields is gone on with at the end."""
    found = value() if callable(value) and not isinstance(value, type) else value
    return stack.enter_context(contextmanager(lambda: found)()) if isinstance(found, Generator) else found


def folder() -> Iterator[Path]:
    """What ``tmp_path`` is."""
    with TemporaryDirectory() as made:
        yield Path(made)


def patches() -> Iterator[pytest.MonkeyPatch]:
    """What ``monkeypatch`` is."""
    with pytest.MonkeyPatch.context() as patch:
        yield patch


def fixture(made: Any, **arguments: Any) -> Callable[[], Any]:
    """What a fixture without others makes."""
    return partial(inspect.unwrap(made), **arguments)


def _name(test: Callable[..., Any], arguments: dict[str, Any]) -> str:
    given = ", ".join(str(value) for value in arguments.values() if isinstance(value, str | int | bool))
    return f"{test.__module__.rpartition('.')[2]}::{test.__name__}{f'[{given}]' if given else ''}"
