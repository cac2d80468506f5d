"""What an expression stands for while a text is translated: the values that all front ends share.

Most are terms or bags of the calculus. A record that is written out keeps its fields as values, since one of them may
be a bag, and a bag is no term. What only one language has (a list written out, a function, a module) is a
``LanguageValue`` of that front end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Literal, TypeAlias, assert_never

from nestling.calculus.build import countwise, elements, for_, nonempty, product
from nestling.calculus.lists import ITEM, is_list
from nestling.calculus.optional import ITEMS, THERE
from nestling.calculus.terms import Const, Expr, Field, Sing, SingBag, Term, Tuple, Var
from nestling.calculus.traverse import Names
from nestling.calculus.types import UNIT, Bag, Record, Scalar, Type
from nestling.calculus.typing import element_type, term_type

#: A value of each type; false where a type has such a value.
DEFAULTS: dict[str, Any] = {
    "bool": False, "int": 0, "float": 0.0, "decimal": Decimal(0), "str": "", "bytes": b"",
    "date": date.min, "datetime": datetime.min, "time": time(), "timedelta": timedelta(0),
}  # fmt: skip

#: What Python calls a bag; elsewhere a bag is a list, and one that holds each element once a set.
Form: TypeAlias = Literal["list", "set", "dict", "generator"]


@dataclass(frozen=True, slots=True)
class One:
    """A scalar, or a record that a variable holds."""

    term: Term


@dataclass(frozen=True, slots=True)
class Row:
    """A record written out; its fields are values of any kind. In Python, one that is no tuple is ``named``."""

    fields: tuple[tuple[str, Value], ...]
    named: bool = False


@dataclass(frozen=True, slots=True)
class Many:
    """A bag, and its form; a dict holds ⟨key, value⟩. ``term`` is the bag, where it is a term."""

    expr: Expr
    form: Form = "list"
    term: Term | None = None


@dataclass(frozen=True, slots=True)
class Null:
    """``None`` or ``NULL``, of a type still to be seen."""


@dataclass(frozen=True, slots=True)
class Barred:
    """A name or column that must not be used here, and why."""

    what: str
    hint: str


@dataclass(frozen=True, slots=True)
class LanguageValue:
    """The base of the values that one front end has for itself."""


@dataclass(frozen=True, slots=True)
class Some(LanguageValue):
    """Whether ``expr`` has an element (``holds``), or whether it has none: as a condition cheaper than as a number."""

    expr: Expr
    holds: bool = True


@dataclass(frozen=True, slots=True)
class Perhaps(LanguageValue):
    """What may be absent: a bag of at most one element."""

    expr: Expr


Data: TypeAlias = One | Row | Many
Value: TypeAlias = One | Row | Many | Null | Barred | LanguageValue


def default(type_: Scalar) -> Const:
    """The value of ``type_`` that stands in for null."""
    return Const(DEFAULTS[type_.name], Scalar(type_.name))


def of_term(term: Term) -> One | Many:
    """What ``term`` stands for: a bag where its type is one."""
    return Many(elements(term), "list", term) if isinstance(term_type(term), Bag) else One(term)


def present(expr: Expr, names: Names) -> Expr:
    """``{⟨⟩}`` where ``expr`` has an element."""
    return countwise("exists", expr) if element_type(expr) == UNIT else nonempty(expr, names)


def fields_of(value: Value) -> tuple[tuple[str, Value], ...] | None:
    """The fields of a record, however it is held; ``None`` of anything else. One that is null has nulls in them."""
    found = all_fields(value)
    if found and found[0][0] == THERE:
        return None if found[1:] and found[1][0] == ITEMS else found[1:]
    return found


def all_fields(value: Value) -> tuple[tuple[str, Value], ...] | None:
    """The fields of a record, the flag of one that may be null among them."""
    if isinstance(value, Row):
        return value.fields
    if isinstance(value, One):
        type_ = term_type(value.term)
        if isinstance(type_, Record):
            return tuple((name, of_term(Field(value.term, name))) for name in type_.names)
    return None


def there(value: Value) -> Term | None:
    """Whether a record or a bag that may be null is not; ``None`` of what is never null, or a scalar."""
    found = all_fields(value)
    return found[0][1].term if found and found[0][0] == THERE and isinstance(found[0][1], One) else None


def bag_of(value: Value) -> Many | None:
    """``value`` as a bag, if it is one; one that is null has no elements."""
    found = all_fields(value)
    if found and len(found) == 2 and (found[0][0], found[1][0]) == (THERE, ITEMS):
        value = found[1][1]
    return value if isinstance(value, Many) else None


def without_positions(value: Many, names: Names, site: Callable[[], int]) -> Many:
    """The elements of a list as a bag; any other bag as it is."""
    if not is_list(type_of(value)):
        return value
    var = Var(names.fresh("x"), element_type(value.expr))
    return Many(for_(var, value.expr, singleton(of_term(Field(var, ITEM)), site)))


def data(value: Value) -> Data:
    """``value``, known to be data."""
    if not isinstance(value, One | Row | Many):
        raise TypeError(f"{value} is not data")
    return value


def type_of(value: Value) -> Type:
    """The type of a value that may stand in a row."""
    match found := data(value):
        case One(term):
            return term_type(term)
        case Row(fields):
            return Record(tuple((name, type_of(field)) for name, field in fields))
        case Many(expr):
            return Bag(element_type(expr))
        case _:
            assert_never(found)


def as_term(value: Value) -> Term | None:
    """The term that is ``value``, if one is."""
    match value:
        case One(term):
            return term
        case Many(_, _, term):
            return term
        case Row(fields):
            terms = [(name, as_term(field)) for name, field in fields]
            found = [(name, term) for name, term in terms if term is not None]
            return Tuple(tuple(found)) if len(found) == len(fields) else None
    return None


def singleton(value: Value, site: Callable[[], int]) -> Expr:
    """The bag of the one element ``value``; ``site`` numbers the inner bags."""
    term = as_term(value)
    if term is not None:
        return Sing(term)
    match found := data(value):
        case One(term):
            return Sing(term)
        case Row(fields):
            return product([(name, singleton(field, site)) for name, field in fields])
        case Many(expr):
            return SingBag(site(), expr)
        case _:
            assert_never(found)
