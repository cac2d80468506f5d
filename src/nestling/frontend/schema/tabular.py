"""Rows of a DataFrame of pandas or Polars or of an Arrow table, known by what they can do and never imported.

What has nothing but Arrow's capsules is read by pyarrow, which is imported then. A stream, which can be read once, is
made a table before anybody looks at it.

pandas has no None of its own for numbers and moments: what is missing is a NaN, ``NaT`` or ``NA``, and ints beside a
missing one are floats. So in a column that is nullable

* what pandas holds to be missing is None, a NaN in a column of floats too;
* a float column that stands for ints is read as ints, up to the 53 bits that a float keeps. Others are refused: use
  ``Int64``.

In a column that is not nullable nothing is replaced: a NaN is a float, and ``NaT`` is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from nestling.calculus.types import Scalar, Type
from nestling.errors import ChangeError, shown

#: How tables of Arrow are passed from one library to another.
_CAPSULES = ("__arrow_c_stream__", "__arrow_c_array__")
#: The largest int up to which every int is a float.
EXACT = 1 << 53


def tabular_rows(data: Any, types: Mapping[str, Type]) -> list[Any] | None:
    """The rows of ``data`` if it is a DataFrame of pandas or a table of Arrow, with the types of some columns."""
    if hasattr(data, "to_dicts") and hasattr(data, "columns"):  # Polars'
        return list(data.to_dicts())
    if hasattr(data, "to_dict") and hasattr(data, "columns"):
        return _pandas_rows(data, types) if hasattr(data, "isna") else list(data.to_dict("records"))
    data = readable(data)
    return arrow_rows(data) if hasattr(data, "to_pylist") else None


def is_tabular(data: Any) -> bool:
    """Whether ``data`` has columns."""
    return hasattr(data, "columns") or any(hasattr(data, name) for name in (*_CAPSULES, "read_all"))


def readable(data: Any) -> Any:
    """``data``, or a table of Arrow in its place where it is a stream, or has nothing but Arrow's capsules."""
    if hasattr(data, "to_pylist") or hasattr(data, "to_dict"):
        return data
    if hasattr(data, "read_all"):  # a stream of Arrow's batches
        return data.read_all()
    if hasattr(data, "to_dicts") or not any(hasattr(data, name) for name in _CAPSULES):
        return data
    if hasattr(data, "to_arrow") and isinstance(data, Iterable):
        return data  # a table of ours: its rows are nearer than columns made of them
    try:
        import pyarrow
    except ImportError as error:
        raise ChangeError(
            f"{shown(data)} is read by pyarrow, which is not installed", hint="pip install pyarrow"
        ) from error
    return pyarrow.table(data) if hasattr(data, _CAPSULES[0]) else pyarrow.record_batch(data)


def tuples(data: Any, types: Mapping[str, Type]) -> list[tuple[Any, ...]] | None:
    """The rows of a table whose columns have these names, in their order; none where it has others."""
    names, columns = list(types), list[Any]()
    if hasattr(data, "isna") and hasattr(data, "to_dict"):
        if sorted(map(str, data.columns)) == sorted(names):
            columns = [_column(data[name], type_) for name, type_ in types.items()]
    elif hasattr(data, "to_dicts") and hasattr(data, "get_column"):  # Polars'
        if sorted(data.columns) == sorted(names):
            columns = [data.get_column(name).to_list() for name in names]
    elif hasattr(data, "to_pylist") and sorted(getattr(data.schema, "names", ())) == sorted(names):
        columns = [data.column(name).to_pylist() for name in names]
    return list(zip(*columns, strict=True)) if columns else None


def arrow_rows(table: Any) -> list[Any]:
    """The rows of an Arrow table as dicts."""
    _check_distinct(getattr(table, "column_names", ()))
    try:
        rows: list[Any] = table.to_pylist()
    except (ValueError, OverflowError, NotImplementedError) as error:
        raise ChangeError(
            f"the Arrow table holds what Python cannot: {error}", hint="cast the column first"
        ) from error
    return rows


def has_zones(type_: Any) -> bool:
    """Whether moments with a time zone stand anywhere in values of one of Arrow's types."""
    inner = (type_.field(place).type for place in range(type_.num_fields))
    return getattr(type_, "tz", None) is not None or any(map(has_zones, inner))


def without_zones(value: Any) -> Any:
    """Rows with moments of a time zone as the same moments in UTC, without one: what Spark's timestamps are."""
    match value:
        case datetime() if value.tzinfo is not None:
            return value.astimezone(UTC).replace(tzinfo=None)
        case list():
            return [without_zones(inner) for inner in value]
        case dict():
            return {name: without_zones(inner) for name, inner in value.items()}
    return value


def _pandas_rows(frame: Any, types: Mapping[str, Type]) -> list[dict[str, Any]]:
    names = list(frame.columns)
    _check_distinct(names)
    columns = [_column(frame[name], types.get(name)) for name in names]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _column(series: Any, type_: Type | None) -> list[Any]:
    values: list[Any] = series.tolist()
    if not isinstance(type_, Scalar) or not type_.nullable:
        return values
    if type_.name == "int" and series.dtype.kind == "f":
        values = [_int(value) for value in values]
    return [None if gone else value for value, gone in zip(values, series.isna(), strict=True)]


def _int(value: float) -> float | int:
    return int(value) if value.is_integer() and -EXACT <= value <= EXACT else value


def _check_distinct(names: Iterable[Any]) -> None:
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise ChangeError(f"column {twice[0]!r} stands twice", hint="rename or drop one of them")
