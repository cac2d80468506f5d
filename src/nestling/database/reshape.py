"""Changes of the columns of a table: what becomes of its type, of its rows, and of the queries that read it.

A column is named by its path; the elements of bags are passed through: ``items.qty``. A query that read the table reads
in its place what gives back the rows as they were (``as_before``): columns that were added are left out, those with new
names have their old ones. So every view keeps its type and its answer.

Law: for every row, ``as_before`` of the converted row is the row; of a column that was dropped, the others are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from nestling.calculus.build import elements, for_
from nestling.calculus.terms import Expr, Field, Product, Relation, Sing, SingBag, Term, Tuple, Var
from nestling.calculus.traverse import Names
from nestling.calculus.types import Bag, Record, Scalar, Type, show_type
from nestling.errors import ChangeError, QueryError, brief
from nestling.frontend.catalog import FieldPath
from nestling.frontend.schema import element_value
from nestling.values.bag import ZBag


@dataclass(frozen=True)
class AddColumn:
    """A column at the end of the record that ``path`` leads into, with one value in all rows there are."""

    path: FieldPath
    type: Type
    value: Any


@dataclass(frozen=True)
class DropColumn:
    """A column that goes, with what it holds."""

    path: FieldPath


@dataclass(frozen=True)
class RenameColumn:
    """A column that gets another name in its place."""

    path: FieldPath
    name: str


@dataclass(frozen=True)
class WidenColumn:
    """A column that holds more: larger numbers, finer ones, or None."""

    path: FieldPath
    type: Scalar


Reshape = AddColumn | DropColumn | RenameColumn | WidenColumn


def reshaped(record: Record, change: Reshape) -> Record:
    """The type of the rows afterwards."""

    def changed(here: Record) -> Record:
        fields, name = dict(here.fields), change.path[-1]
        _check_there(fields, change)
        match change:
            case AddColumn(_, type_):
                fields[name] = type_
            case DropColumn():
                del fields[name]
                if not fields:
                    raise QueryError(
                        f"{_text(change)} is the only column", hint="drop the table, or what it is in"
                    )
            case RenameColumn(_, new):
                fields = {new if old == name else old: type_ for old, type_ in fields.items()}
            case WidenColumn(_, type_):
                _check_wider(fields[name], type_, _text(change))
                fields[name] = type_
        return replace(here, fields=tuple(fields.items()))

    return _record_at(record, change.path[:-1], changed)


def _check_there(fields: dict[str, Type], change: Reshape) -> None:
    name, listed = change.path[-1], ", ".join(fields)
    if isinstance(change, AddColumn):
        if name in fields:
            raise QueryError(f"there is a column {_text(change)} already", hint=f"there are {listed}")
        return
    if name not in fields:
        raise QueryError(f"there is no column {_text(change)}", hint=f"there are {listed}")
    if isinstance(change, RenameColumn) and change.name in fields:
        raise QueryError(
            f"there is a column {change.name!r} beside {name!r} already", hint=f"there are {listed}"
        )


def _text(change: Reshape) -> str:
    return repr(".".join(change.path))


def _record_at(type_: Record, level: FieldPath, act: Callable[[Record], Record]) -> Record:
    if not level:
        return act(type_)
    fields = dict(type_.fields)
    if level[0] not in fields:
        raise QueryError(f"there is no column {level[0]!r}", hint=f"there are {', '.join(fields)}")

    def inside(inner: Type) -> Type:
        match inner:
            case Bag(element):
                return replace(inner, element=inside(element))
            case Record():
                return _record_at(inner, level[1:], act)
        raise QueryError(
            f"{level[0]!r} holds no columns: it is {show_type(inner)}",
            hint="name a record or a bag of records",
        )

    fields[level[0]] = inside(fields[level[0]])
    return replace(type_, fields=tuple(fields.items()))


def _check_wider(old: Type, new: Scalar, where: str) -> None:
    """Every value of ``old`` is one of ``new``; of a float it is looked at row by row."""
    if not isinstance(old, Scalar):
        raise QueryError(
            f"{where} is no scalar: it is {show_type(old)}", hint="widen a column inside it: items.qty"
        )
    ways = {"int": ("int", "decimal", "float"), "decimal": ("decimal",)}
    if new.name not in ways.get(old.name, (old.name,)) or (old.nullable and not new.nullable):
        raise QueryError(
            f"{where} is {show_type(old)}, which not every {show_type(new)} can be",
            hint="add a column and fill it",
        )


# -- rows


def converted(record: Record, change: Reshape) -> Callable[[Any], Any]:
    """From a row as it was, nested, the row as it is afterwards."""
    places = {name: i for i, name in enumerate(record.names)}
    name, *rest = change.path
    if not rest:
        return _converted_here(places, change, dict(record.fields).get(name))
    place = places[name]
    inner = _through_bags(dict(record.fields)[name], replace(change, path=tuple(rest)))
    return lambda row: (*row[:place], inner(row[place]), *row[place + 1 :])


def _through_bags(type_: Type, change: Reshape) -> Callable[[Any], Any]:
    if isinstance(type_, Bag):
        inner = _through_bags(type_.element, change)
        return lambda bag: ZBag([(inner(element), times) for element, times in bag.items()])
    assert isinstance(type_, Record)
    return converted(type_, change)


def _converted_here(places: dict[str, int], change: Reshape, type_: Type | None) -> Callable[[Any], Any]:
    match change:
        case AddColumn(_, _, value):
            return lambda row: (*row, value)
        case RenameColumn():
            return lambda row: row
        case DropColumn(path):
            gone = places[path[0]]
            return lambda row: row[:gone] + row[gone + 1 :]
        case WidenColumn(path, wide):
            place = places[path[0]]
            return lambda row: (*row[:place], _widened(row[place], wide, _text(change)), *row[place + 1 :])


def _widened(value: Any, type_: Scalar, where: str) -> Any:
    if value is None:
        return None
    try:
        found = element_value(type_, value)
    except ChangeError as error:
        raise QueryError(f"{where} cannot be widened: {error.what}", hint=error.hint) from error
    if found != value:
        raise QueryError(f"{where} has {brief(value)}, which no {type_.name} is", hint="widen it to Decimal")
    return found


# -- queries


def as_before(old: Record, table: Relation, change: Reshape) -> Expr:
    """The rows of ``table``, which is changed, as they were of type ``old``."""
    row = Var("row", table.type.element)
    return for_(row, table, _row_before(row, old, change.path, change, Names(frozenset(["row"]))))


def _row_before(row: Term, old: Record, path: FieldPath, change: Reshape, names: Names) -> Expr:
    if len(path) == 1:
        new = change.name if isinstance(change, RenameColumn) else path[0]
        return Sing(Tuple(tuple((n, Field(row, new if n == path[0] else n)) for n in old.names)))
    factors = [
        (
            name,
            _inner_before(Field(row, name), type_, path[1:], change, names)
            if name == path[0]
            else Sing(Field(row, name)),
        )
        for name, type_ in old.fields
    ]
    return Product(tuple(factors))


def _inner_before(field: Term, old: Type, path: FieldPath, change: Reshape, names: Names) -> Expr:
    """What the field was, as the one element of a bag."""
    if isinstance(old, Record):
        return _row_before(field, old, path, change, names)
    assert isinstance(old, Bag)
    element = Var(names.fresh("element"), _element_after(old, path, change))
    return SingBag(
        0,
        for_(element, elements(field), _inner_before(element, old.element, path, change, names)),
        old.opaque,
    )


def _element_after(old: Bag, path: FieldPath, change: Reshape) -> Type:
    """The type of the elements of a bag afterwards."""
    inner = old.element
    if isinstance(inner, Bag):
        return replace(inner, element=_element_after(inner, path, change))
    assert isinstance(inner, Record)
    return reshaped(inner, replace(change, path=path))
