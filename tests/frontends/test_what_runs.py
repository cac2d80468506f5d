"""What is read is what runs: decorators, edited files, replaced code, late names. A view is right, or refused."""

import builtins
import functools
import importlib.util
import linecache
import sys
from types import MethodType, SimpleNamespace
from typing import Any

import pytest

import nestling as nl
from nestling.calculus.evaluate import evaluate
from nestling.calculus.types import INT, record
from nestling.errors import QueryError
from nestling.frontend.comprehension import translate
from nestling.values.bag import ZBag

CATALOG = {"R": record(a=INT)}
ROWS = [SimpleNamespace(a=1), SimpleNamespace(a=5)]
DATABASE = {"R": ZBag([((1,), 1), ((5,), 1)])}


def agrees(view: Any) -> bool:
    """Whether a view is what its function computes; a refusal that says where and what to do is not wrong either."""
    try:
        expr = translate(view, CATALOG)
    except QueryError as error:
        assert error.hint
        return False
    found = [value for value, times in evaluate(expr, DATABASE).items() for _ in range(times)]
    assert sorted(found) == sorted(view(ROWS))
    return True


# decorators


def doubled(function):
    @functools.wraps(function)
    def wrapper(x):
        return function(x) * 2

    return wrapper


def doubled_any(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs) * 2

    return wrapper


def passed(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        """Nothing but the call."""
        return function(*args, **kwargs)

    return wrapper


def swapped(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return other(*args, **kwargs)

    return wrapper


class Doubling:
    def __init__(self, function):
        functools.update_wrapper(self, function)

    def __call__(self, x):
        return self.__wrapped__(x) * 2  # type: ignore[attr-defined]


def other(x):
    return x + 100


def plain(x, y=1):
    return x + y


def only_named(x, *, y):
    return x * y


late = functools.update_wrapper(functools.partial(plain, y=50), plain)
twice, twice_any, as_is, cached = doubled(plain), doubled_any(plain), passed(plain), functools.cache(plain)
other_one, object_ = swapped(plain), Doubling(plain)
liar: Any = lambda x: x + 7  # noqa: E731
liar.__wrapped__ = plain
replaced: Any = functools.wraps(plain)(lambda x: x - 1)
recoded: Any = lambda x: x  # noqa: E731
recoded.__code__ = other.__code__
defaulted: Any = functools.wraps(plain)(lambda x, y=2: x + y)
defaulted.__defaults__ = (9,)
signed: Any = lambda x, y=2: x + y  # noqa: E731
signed.__signature__ = "nonsense"
patched_const: Any = lambda x: x + 3  # noqa: E731
patched_const.__code__ = patched_const.__code__.replace(
    co_consts=tuple(4 if c == 3 else c for c in patched_const.__code__.co_consts)
)


class Methods:
    offset = 3

    def bound(self, x):
        return x + self.offset

    @classmethod
    def of_class(cls, x):
        return x + cls.offset

    @staticmethod
    def static(x):
        return x + 3

    @passed
    def wrapped(self, x):
        return x


methods: Any = SimpleNamespace(
    bound=Methods().bound, of_class=Methods.of_class, wrapped=Methods().wrapped, other=MethodType(plain, 4)
)


def yields(x):
    return [x]
    yield x


RIGHT = {
    "a decorator that computes": lambda R: [twice(r.a) for r in R],
    "a decorator that calls, and nothing else": lambda R: [as_is(r.a) for r in R],
    "one that calls something else": lambda R: [other_one(r.a) for r in R],
    "results that are remembered": lambda R: [cached(r.a) for r in R],
    "a __wrapped__ that lies": lambda R: [liar(r.a) for r in R],
    "a lambda under another's name": lambda R: [replaced(r.a) for r in R],
    "the code of another function": lambda R: [recoded(r.a) for r in R],
    "defaults that were replaced": lambda R: [defaulted(r.a) for r in R],
    "a signature that lies": lambda R: [signed(r.a) for r in R],
    "a static method": lambda R: [Methods.static(r.a) for r in R],
    "a named parameter": lambda R: [only_named(r.a, y=3) for r in R],
    "of several lambdas on a line": (lambda R: [r.a for r in R], lambda R: [r.a + 1 for r in R])[1],
}
REFUSED = {
    "a decorator of any arguments": lambda R: [twice_any(r.a) for r in R],
    "an object that decorates": lambda R: [object_(r.a) for r in R],
    "a partial function": lambda R: [late(r.a) for r in R],
    "constants that were replaced": lambda R: [patched_const(r.a) for r in R],
    "a bound method": lambda R: [methods.bound(r.a) for r in R],
    "a class method": lambda R: [methods.of_class(r.a) for r in R],
    "a decorated method": lambda R: [methods.wrapped(r.a) for r in R],
    "a function bound to an argument": lambda R: [methods.other() for r in R],
    "a function that yields after it returns": lambda R: [y for r in R for y in yields(r.a)],
}


@pytest.mark.parametrize("case", RIGHT)
def test_what_is_read_is_what_runs(case):
    assert agrees(RIGHT[case])


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_read_as_it_runs_is_refused(case):
    assert not agrees(REFUSED[case])


@doubled_any
def decorated_view(R):
    return [r.a for r in R]


def repeated(function):
    @functools.wraps(function)
    def again(R):
        return function(R) + function(R)

    return again


@repeated
def repeated_view(R):
    return [r.a for r in R]


def test_a_view_that_is_decorated():
    assert not agrees(decorated_view)
    assert agrees(repeated_view)
    assert not agrees(functools.update_wrapper(functools.partial(decorated_view), decorated_view))


# names


def test_builtins_that_are_shadowed():
    sum = lambda xs: 42  # noqa: E731
    assert agrees(lambda R: [sum([r.a]) for r in R])
    assert agrees(lambda R: [max(r.a, 3) for r in R])


def test_builtins_that_are_patched(monkeypatch):
    view = lambda R: [abs(r.a) for r in R]  # noqa: E731
    assert agrees(view)
    monkeypatch.setattr(builtins, "abs", lambda x: x + 1000)
    assert agrees(view)


def test_a_helper_that_is_patched(monkeypatch):
    view = lambda R: [plain(r.a) for r in R]  # noqa: E731
    monkeypatch.setattr(sys.modules[__name__], "plain", lambda x: x - 1)
    assert agrees(view)


def test_what_is_captured_is_captured_when_the_view_is_made():
    n, some = 1, [1]
    db = nl.Database()
    db.table("R", {"a": int})
    view = db.view("v", lambda R: [r.a + n for r in R if r.a in some])
    n = 100
    some.append(5)
    db.insert("R", [(1,), (5,)])
    assert list(view) == [2]


def assigned_after(R):
    n = 1
    f = lambda x: x + n  # noqa: E731
    n = 2
    return [f(r.a) for r in R]


def first_assigned_after(R):
    def f(x):
        return x + plain

    plain = 2
    return [f(r.a) for r in R]


def defined_after(R):
    def f(x):
        return other(x)

    def other(x):
        return -x

    return [f(r.a) for r in R]


def own_names(R):
    f = lambda n: n + 1  # noqa: E731
    n = 2
    return [f(r.a) + n for r in R]


def inner_yield(R):
    def f(x):
        return [x]
        yield 1

    return [y for r in R for y in f(r.a)]


@pytest.mark.parametrize("view", [assigned_after, first_assigned_after, defined_after, inner_yield])
def test_names_that_are_bound_after_the_function_that_reads_them(view):
    assert not agrees(view)


def test_names_that_a_function_binds_itself():
    assert agrees(own_names)


class Private:
    @staticmethod
    def view(R):
        return [r.a + __limit for r in R]  # type: ignore[name-defined]  # noqa: F821


globals()["__limit"], _Private__limit = 1, 2


def test_a_private_name():
    assert not agrees(Private.view)


# files

TEXT = """
def helper(x):
    return x + 1


def view(R):
    return [helper(r.a) for r in R]
"""
EDITS = {
    "another constant": TEXT.replace("+ 1", "+ 2"),
    "another operator": TEXT.replace("x + 1", "x - 1"),
    "another name": TEXT.replace("x + 1", "x + y"),
    "lines before": "\n\n" + TEXT,
    "another default": TEXT.replace("helper(x)", "helper(x, y=0)"),
    "a constant of another type": TEXT.replace("+ 1", "+ True"),
    "no longer Python": TEXT.replace("return x", "return return x"),
    "gone": "",
}


def imported(path: Any, text: str) -> Any:
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("edited", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("edit", EDITS)
def test_a_file_that_was_edited_since(edit, tmp_path):
    module = imported(tmp_path / "edited.py", TEXT)
    assert agrees(module.view)
    (tmp_path / "edited.py").write_text(EDITS[edit])
    assert not agrees(module.view)


def test_a_file_that_was_edited_elsewhere(tmp_path):
    module = imported(tmp_path / "edited.py", TEXT)
    (tmp_path / "edited.py").write_text(TEXT + "\n\ndef more(x):\n    return x\n")
    assert agrees(module.view)


def test_lambdas_that_moved_along_their_line(tmp_path):
    text = "def pair():\n    return (lambda R: [r.a for r in R]), (lambda R: [r.a + 1 for r in R])\n"
    one, two = imported(tmp_path / "edited.py", text).pair()
    (tmp_path / "edited.py").write_text(text.replace("return (", "return    ("))
    assert agrees(one)
    assert agrees(two)


def test_a_text_of_the_future(tmp_path):
    assert agrees(imported(tmp_path / "edited.py", "from __future__ import annotations\n" + TEXT).view)


def test_cells_of_a_notebook():
    """A function that is defined again is the one that runs, with the text of its own cell."""

    def cell(number: int, text: str, names: dict[str, Any]) -> None:
        file = f"<cell {number}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        exec(compile(text, file, "exec", dont_inherit=True), names)

    names: dict[str, Any] = {}
    cell(1, TEXT, names)
    first = names["view"]
    assert agrees(first)
    cell(2, "def helper(x):\n    return x * 10\n", names)
    assert agrees(first)
    linecache.cache["<cell 1>"] = linecache.cache["<cell 2>"]
    assert not agrees(first)
