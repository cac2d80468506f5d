"""Scalar functions: their types and their meaning.

A *strict* function of a null is null. Those that look at nulls say so: ``==`` and ``!=`` are total (a null equals a
null), ``and`` / ``or`` / ``not`` follow Kleene, ``if`` takes the other branch on null, ``is_null`` and ``coalesce``
are what they say, ``among(x, a, b, …)`` is ``x = a or x = b or …``. ``=`` is the strict equality of SQL. A *partial*
function has no value for some arguments, and raises ``NoValue`` there; none raises anything else.

One function gives a bag, and so makes rows of a scalar: ``numbers(n) = {0, 1, …, n - 1}``, ``∅`` where ``n ≤ 0``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nestling.calculus import arithmetic, standard
from nestling.calculus.library import LIBRARY, LibraryEntry
from nestling.calculus.types import BOOL, FLOAT, INT, NUMERIC, STR, Scalar, nullable
from nestling.errors import NoValue
from nestling.values.bag import ZBag
from nestling.values.digits import float_digit, float_large, float_low, square_digit, square_low
from nestling.values.exact import float_units

TypeRule = Callable[[Sequence[Scalar]], Scalar | None]


@dataclass(frozen=True, slots=True)
class Function:
    """``result`` is ``None`` for arguments the function does not take; ``takes`` says what it does.

    ``many``: there may be more arguments than ``arity``, all like the last. ``bag``: the value is an opaque bag of what
    ``result`` says.
    """

    name: str
    arity: int
    takes: str
    result: TypeRule
    apply: Callable[..., Any]
    strict: bool = True
    precedence: int = 0
    partial: bool = False
    many: bool = False
    bag: bool = False


def _joined(left: Scalar, right: Scalar) -> Scalar | None:
    """The type that holds values of both, if there is one."""
    null = left.nullable or right.nullable
    if left.name == right.name:
        return Scalar(left.name, null)
    if {left.name, right.name} == {"int", "float"}:
        return Scalar("float", null)
    if {left.name, right.name} == {"int", "decimal"}:
        return Scalar("decimal", null)
    return None


def _compare(args: Sequence[Scalar]) -> Scalar | None:
    joined = _joined(*args)
    return Scalar("bool", joined.nullable) if joined else None


def _equal(args: Sequence[Scalar]) -> Scalar | None:
    return BOOL if _joined(*args) else None


def _arithmetic(args: Sequence[Scalar]) -> Scalar | None:
    joined = _joined(*args)
    return joined if joined and joined.name in NUMERIC else None


def _plus(args: Sequence[Scalar]) -> Scalar | None:
    joined = _joined(*args)
    if joined and joined.name in (*NUMERIC, "str", "timedelta"):
        return joined
    return _shifted(args)


def _shifted(args: Sequence[Scalar]) -> Scalar | None:
    moment, span = args
    if moment.name in ("date", "datetime") and span.name == "timedelta":
        return Scalar(moment.name, moment.nullable or span.nullable)
    return None


def _minus(args: Sequence[Scalar]) -> Scalar | None:
    joined = _joined(*args)
    if joined and joined.name in ("date", "datetime", "timedelta"):
        return Scalar("timedelta", joined.nullable)
    return _arithmetic(args) or _shifted(args)


def _divide(args: Sequence[Scalar]) -> Scalar | None:
    joined = _arithmetic(args)
    return Scalar("float", joined.nullable) if joined and joined.name == "int" else joined


def _same(allowed: Sequence[str], result: Scalar | None = None) -> TypeRule:
    def rule(args: Sequence[Scalar]) -> Scalar | None:
        if any(arg.name not in allowed for arg in args):
            return None
        null = any(arg.nullable for arg in args)
        name = result.name if result else args[0].name
        return Scalar(name, null)

    return rule


def _takes(*allowed: str, result: str = "") -> TypeRule:
    """One type for each argument; several are parted by ``|``. The result is of the first unless it is named."""

    def rule(args: Sequence[Scalar]) -> Scalar | None:
        if any(arg.name not in names.split("|") for arg, names in zip(args, allowed, strict=True)):
            return None
        return Scalar(result or args[0].name, any(arg.nullable for arg in args))

    return rule


def _whole(args: Sequence[Scalar]) -> Scalar | None:
    (number,) = args
    if number.name not in NUMERIC:
        return None
    return Scalar("int" if number.name == "float" else number.name, number.nullable)


def _counted(args: Sequence[Scalar]) -> Scalar | None:
    (number,) = args
    return Scalar("int", size=(64,)) if number == INT else None


def _numbers(count: int) -> ZBag:
    return ZBag.of(*range(count))


def _logical(args: Sequence[Scalar]) -> Scalar | None:
    if any(arg.name != "bool" for arg in args):
        return None
    return Scalar("bool", any(arg.nullable for arg in args))


def _conditional(args: Sequence[Scalar]) -> Scalar | None:
    test, then, otherwise = args
    return _joined(then, otherwise) if test.name == "bool" else None


def _coalesce(args: Sequence[Scalar]) -> Scalar | None:
    joined = _joined(*args)
    return Scalar(joined.name, args[0].nullable and args[1].nullable) if joined else None


def _among_types(args: Sequence[Scalar]) -> Scalar | None:
    if any(_joined(args[0], other) is None for other in args[1:]):
        return None
    return Scalar("bool", any(arg.nullable for arg in args))


def _among(value: Any, *others: Any) -> Any:
    if value is None:
        return None
    if any(other is not None and arithmetic.equal(value, other) for other in others):
        return True
    return None if None in others else False


def _and(left: Any, right: Any) -> Any:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _or(left: Any, right: Any) -> Any:
    if left is True or right is True:
        return True
    return None if left is None or right is None else False


def _if(test: Any, then: Any, otherwise: Any) -> Any:
    return then if test is True else otherwise


_TWO, _NUM, _TEXT, _MOMENT = "two comparable scalars", "numbers", "strings", "a date or datetime"


def _functions() -> tuple[Function, ...]:
    both = "booleans"
    return (
        Function("or", 2, both, _logical, _or, False, 1),
        Function("and", 2, both, _logical, _and, False, 2),
        Function("not", 1, "a boolean", _logical, operator.not_, True, 3),
        Function("==", 2, _TWO, _equal, arithmetic.equal, False, 4),
        Function("!=", 2, _TWO, _equal, arithmetic.unequal, False, 4),
        Function("=", 2, _TWO, _compare, arithmetic.equal, True, 4),
        Function("<", 2, _TWO, _compare, operator.lt, True, 4),
        Function("<=", 2, _TWO, _compare, operator.le, True, 4),
        Function(">", 2, _TWO, _compare, operator.gt, True, 4),
        Function(">=", 2, _TWO, _compare, operator.ge, True, 4),
        Function("among", 3, "scalars that compare with the first", _among_types, _among, False, many=True),
        Function("+", 2, "numbers, strings, or a date and a span", _plus, arithmetic.add, True, 5, True),
        Function("-", 2, "numbers, dates, or a date and a span", _minus, arithmetic.subtract, True, 5, True),
        Function("*", 2, _NUM, _arithmetic, arithmetic.multiply, True, 6, True),
        Function("/", 2, _NUM, _divide, arithmetic.divide, True, 6, True),
        Function("//", 2, _NUM, _arithmetic, arithmetic.floor_divide, True, 6, True),
        Function("%", 2, _NUM, _arithmetic, arithmetic.modulo, True, 6, True),
        Function("neg", 1, "a number", _same((*NUMERIC, "timedelta")), arithmetic.negate, partial=True),
        Function("abs", 1, "a number", _same((*NUMERIC, "timedelta")), arithmetic.absolute),
        Function("is_null", 1, "a scalar", lambda args: BOOL, lambda value: value is None, False),
        Function("coalesce", 2, _TWO, _coalesce, lambda a, b: b if a is None else a, False),
        Function("nullable", 1, "a scalar", lambda args: nullable(args[0]), lambda value: value, False),
        Function("if", 3, "a boolean and two alike scalars", _conditional, _if, False),
        Function("lower", 1, "a string", _same(("str",)), str.lower),
        Function("upper", 1, "a string", _same(("str",)), str.upper),
        Function("strip", 1, "a string", _same(("str",)), str.strip),
        Function("length", 1, "a string or bytes", _same(("str", "bytes"), INT), len),
        Function("contains", 2, _TEXT, _same(("str",), BOOL), operator.contains),
        Function("starts_with", 2, _TEXT, _same(("str",), BOOL), str.startswith),
        Function("ends_with", 2, _TEXT, _same(("str",), BOOL), str.endswith),
        Function("year", 1, _MOMENT, _same(("date", "datetime"), INT), lambda day: day.year),
        Function("month", 1, _MOMENT, _same(("date", "datetime"), INT), lambda day: day.month),
        Function("day", 1, _MOMENT, _same(("date", "datetime"), INT), lambda day: day.day),
        Function("hour", 1, "a datetime", _same(("datetime",), INT), lambda moment: moment.hour),
        Function("minute", 1, "a datetime", _same(("datetime",), INT), lambda moment: moment.minute),
        Function("second", 1, "a datetime", _same(("datetime",), INT), lambda moment: moment.second),
        Function("weekday", 1, _MOMENT, _same(("date", "datetime"), INT), lambda day: day.weekday()),
        Function("to_date", 1, "a datetime", _same(("datetime",), Scalar("date")), lambda when: when.date()),
        Function("replace", 3, _TEXT, _same(("str",)), str.replace),
        Function("to_float", 1, "a number", _same(NUMERIC, FLOAT), float, partial=True),
        Function("to_int", 1, "a number", _same(NUMERIC, INT), int, partial=True),
        Function(
            "to_str", 1, "an int, bool or string", _same(("int", "bool", "str"), STR), str, partial=True
        ),
        Function("numbers", 1, "an int that is not null", _counted, _numbers, bag=True),
        Function("float_units", 1, "a float", _same(("float",), INT), float_units),
        Function("float_digit", 2, "a float and a place", _takes("float", "int", result="int"), float_digit),
        Function("float_low", 1, "a float", _takes("float"), float_low),
        Function("float_large", 1, "a float", _takes("float"), float_large),
        Function(
            "square_digit", 2, "a float and a place", _takes("float", "int", result="int"), square_digit
        ),
        Function("square_low", 1, "a float", _takes("float"), square_low),
    )


def _standard() -> tuple[Function, ...]:
    """What SQL has beyond Python; see ``standard``."""
    number, day, moment = "int|float|decimal", "a date", "date|datetime"
    whole, reads = "a string and a number of places", "a string that spells it"
    return (
        Function("quotient", 2, "ints", _takes("int", "int"), standard.quotient, partial=True),
        Function("only", 1, "an int", _takes("int", result="bool"), standard.only, partial=True),
        Function("remainder", 2, _NUM, _arithmetic, standard.remainder, partial=True),
        Function("round", 2, "a number and an int", _takes(number, "int"), standard.rounded, partial=True),
        Function("floor", 1, "a number", _whole, standard.floor, partial=True),
        Function("ceil", 1, "a number", _whole, standard.ceil, partial=True),
        Function("sqrt", 1, "a float", _takes("float"), standard.root),
        Function("to_decimal", 3, "a number, its digits and its places",
                 _takes(number, "int", "int", result="decimal"), standard.exact, partial=True),
        Function("to_bits", 2, "a number and its bits", _takes(number, "int", result="int"), standard.bounded,
                 partial=True),
        Function("ratio", 4, "two numbers that are no floats, digits and places",
                 _takes("int|decimal", "int|decimal", "int", "int", result="decimal"), standard.ratio,
                 partial=True),
        Function("like", 3, "a string, a pattern and its escape sign",
                 _takes("str", "str", "str", result="bool"), standard.like, partial=True),
        Function("matches", 2, "a string and a pattern", _takes("str", "str", result="bool"), standard.matches,
                 partial=True),
        Function("substring", 3, "a string and two ints", _takes("str", "int", "int"), standard.substring),
        Function("position", 2, _TEXT, _takes("str", "str", result="int"), standard.position),
        Function("trim", 2, _TEXT, _takes("str", "str"), str.strip),
        Function("trim_left", 2, _TEXT, _takes("str", "str"), str.lstrip),
        Function("trim_right", 2, _TEXT, _takes("str", "str"), str.rstrip),
        Function("add_days", 2, "a date and an int", _takes("date", "int"), standard.add_days, partial=True),
        Function("add_months", 2, f"{_MOMENT} and an int", _takes(moment, "int"), standard.add_months,
                 partial=True),
        Function("days_between", 2, "dates", _takes("date", "date", result="int"), standard.days_between),
        Function("quarter", 1, _MOMENT, _takes(moment, result="int"), standard.quarter),
        Function("day_of_week", 1, _MOMENT, _takes(moment, result="int"), standard.day_of_week),
        Function("day_of_year", 1, _MOMENT, _takes(moment, result="int"), standard.day_of_year),
        Function("truncate", 2, f"{_MOMENT} and the name of a unit", _takes(moment, "str"), standard.truncated,
                 partial=True),
        Function("to_datetime", 1, day, _takes("date", result="datetime"), standard.midnight),
        Function("read_int", 1, reads, _takes("str", result="int"), standard.read_int, partial=True),
        Function("read_float", 1, reads, _takes("str", result="float"), standard.read_float, partial=True),
        Function("read_decimal", 3, whole, _takes("str", "int", "int", result="decimal"),
                 standard.read_decimal, partial=True),
        Function("read_date", 1, reads, _takes("str", result="date"), standard.read_date, partial=True),
        Function("read_datetime", 1, reads, _takes("str", result="datetime"), standard.read_datetime,
                 partial=True),
        Function("read_moment", 1, reads, _takes("str", result="datetime"), standard.read_moment, partial=True),
        Function("read_bool", 1, reads, _takes("str", result="bool"), standard.read_bool, partial=True),
        Function("to_text", 1, "a bool, a number, a string or a moment",
                 _takes("bool|int|float|decimal|str|date|datetime", result="str"), standard.written, partial=True),
    )  # fmt: skip


def _library() -> tuple[Function, ...]:
    """One function for each entry of the library."""
    return tuple(
        Function(e.name, len(e.takes), _words(e.takes), _entry_rule(e), e.of, partial=e.is_partial)
        for e in LIBRARY.values()
    )


def _words(kinds: Sequence[str]) -> str:
    """What an entry takes, in words."""
    return ", ".join(kind.replace("int32", "int").replace("|", " or ") for kind in kinds)


def _entry_rule(entry: LibraryEntry) -> TypeRule:
    plain = _takes(
        *(kind.replace("int32", "int") for kind in entry.takes), result=entry.gives.removesuffix("?")
    )
    if not entry.gives.endswith("?"):
        return plain

    def rule(args: Sequence[Scalar]) -> Scalar | None:
        found = plain(args)
        return nullable(found) if found else None

    return rule


#: What the absence of a value of an operator is called after, and the operator with a value in its place.
ABSENT = {
    "+": "sum",
    "-": "difference",
    "*": "product",
    "/": "fraction",
    "//": "floor_quotient",
    "%": "modulo",
}


def absence(function: Function) -> Function:
    """``no_f(t, …)`` — whether ``f(t, …)`` has no value; of a null it has one, which is null. It is total itself."""

    def result(args: Sequence[Scalar]) -> Scalar | None:
        return BOOL if function.result(args) else None

    def apply(*args: Any) -> bool:
        try:
            apply_function(function, args)
        except NoValue:
            return True
        return False

    return Function(
        f"no_{ABSENT.get(function.name, function.name)}",
        function.arity,
        function.takes,
        result,
        apply,
        strict=False,
    )


def instead(function: Function) -> Function:
    """``some_f(d, t, …)`` — ``f(t, …)``, or ``d`` where that has no value; of a null it is null. It is total itself."""

    def result(args: Sequence[Scalar]) -> Scalar | None:
        found = function.result(args[1:])
        if not found or found.name != args[0].name:
            return None
        return nullable(found) if args[0].nullable else found

    def apply(default: Any, *args: Any) -> Any:
        try:
            return function.apply(*args)
        except NoValue:
            return default

    takes = f"a value of the same type, and {function.takes}"
    return Function(total_name(function.name), function.arity + 1, takes, result, apply)


def total_name(name: str) -> str:
    """What the partial function ``name`` is called with a value wherever it has none."""
    return f"some_{ABSENT.get(name, name)}"


def _all() -> tuple[Function, ...]:
    named = [_checked(f) for f in (*_functions(), *_standard(), *_library())]
    partial = [f for f in named if f.partial]
    return (*named, *map(absence, partial), *map(instead, partial))


def _checked(function: Function) -> Function:
    """``function`` such that it raises ``NoValue`` where it has no value; the operators do by themselves."""
    if not function.partial or function.name in ABSENT:
        return function
    return replace(function, apply=arithmetic.partial(function.apply, ArithmeticError, ValueError))


FUNCTIONS: dict[str, Function] = {function.name: function for function in _all()}
INFIX = {function.name for function in FUNCTIONS.values() if function.precedence and function.arity == 2}


def apply_function(function: Function, args: Sequence[Any]) -> Any:
    """The value of a call; a strict function of a null is null."""
    if function.strict and any(arg is None for arg in args):
        return None
    return function.apply(*args)
