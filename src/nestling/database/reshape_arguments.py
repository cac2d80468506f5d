"""What the methods that change columns are given, checked."""

from __future__ import annotations

from typing import Any

from nestling.calculus.optional import is_optional
from nestling.calculus.types import Bag, Scalar
from nestling.database.arguments import NOT_GIVEN
from nestling.database.reshape import AddColumn, WidenColumn
from nestling.errors import ChangeError, QueryError, shown
from nestling.frontend.catalog import FieldPath
from nestling.frontend.schema import element_value, record_type
from nestling.values.bag import EMPTY


def column_path(path: object) -> FieldPath:
    """A column: its name, or with dots, or as a tuple, the way to one inside."""
    found = tuple(path.split(".")) if isinstance(path, str) else path
    if isinstance(found, tuple) and found and all(isinstance(name, str) and name for name in found):
        return found
    if isinstance(path, str):
        raise QueryError(
            f"{path!r} is no way to a column: between two dots stands a name",
            hint='a name that has dots in it is a tuple: ("a.b",)',
        )
    raise QueryError(
        f"a column is named by a str, not {shown(path)}", hint='"qty", or inside a bag "items.qty"'
    )


def added(path: FieldPath, type: Any, default: Any) -> AddColumn:
    """A column that is to come."""
    type_ = record_type({path[-1]: type}).types[0]
    where = ".".join(path)
    if default is NOT_GIVEN:
        if isinstance(type_, Bag):
            return AddColumn(path, type_, EMPTY)
        if not (is_optional(type_) or (isinstance(type_, Scalar) and type_.nullable)):
            raise QueryError(
                f"the rows there are need a value of {where!r}",
                hint=f"add_column({where!r}, …, default=value), or a type that may be None",
            )
        default = None
    try:
        return AddColumn(path, type_, element_value(type_, default))
    except ChangeError as error:
        raise QueryError(f"the default of {where!r} is none: {error.what}", hint=error.hint) from error


def widened(path: FieldPath, type: Any) -> WidenColumn:
    """A column that is to hold more."""
    type_ = record_type({path[-1]: type}).types[0]
    if not isinstance(type_, Scalar):
        raise QueryError(f"{'.'.join(path)!r} is widened to a scalar", hint="int, Decimal, float, T | None")
    return WidenColumn(path, type_)
