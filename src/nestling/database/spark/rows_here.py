"""A DataFrame whose rows all come here, as they are: Arrow looks at them and shreds them, no query is compiled for it.

Labels are those of ``shredding``. What is not plain here (rows that are refused, floats, bags inside bags) goes the way
of queries, which know more, and say what is wrong.

Law: the flat rows are those of ``FlatRows``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from nestling.calculus.lists import is_list
from nestling.calculus.maps import is_map
from nestling.calculus.optional import is_optional
from nestling.calculus.types import Bag, Record, Scalar, Type, dictionary_name
from nestling.database.definitions import TableDef
from nestling.database.feed import FEED_COLUMNS, SIGNS
from nestling.database.spark.frame_changes import is_feed, is_here
from nestling.database.spark.keyed import is_flat_by_key
from nestling.engine.spark import limits
from nestling.engine.spark.jobs import WORK, described_jobs
from nestling.engine.spark.labels import label_start
from nestling.engine.spark.types import arrow_type, sql_type

#: Rows as they were shredded, by flat table: what comes and goes is not summed.
Here = dict[str, Any]
#: Rows by which others are judged.
_SOME = 1000


def rows_here(frame: Any, width: float | None) -> Any:
    """All rows of a DataFrame as an Arrow table; ``None`` where they are too many, or may take too much room: one takes
    ``width`` bytes, if that is known."""
    most = limits.MAX_FETCHED_ROWS
    if width is not None:
        most = min(most, int(limits.MAX_FETCHED_BYTES / max(1.0, width)))
    elif not is_here(frame):
        return None
    if not most:
        return None
    with described_jobs(frame.sparkSession, "nestling: rows that came, as they are"):
        WORK.queries += 1
        found = frame.limit(most + 1).toArrow()
    return found if found.num_rows <= most else None


def width_of(frame: Any) -> float | None:
    """The bytes of a row, by some of them."""
    if is_here(frame):
        return None
    WORK.queries += 1
    some = frame.limit(_SOME).toArrow()
    return float(some.nbytes / max(1, some.num_rows))


def shredded(table: TableDef, rows: Any, sign: int) -> Here | None:
    """The flat rows of ``rows``, each as often as it says, or ``sign``; ``None`` where they are not plain."""
    import pyarrow as pa

    if not is_flat_by_key(table):
        return None
    try:
        found = _Shredding(table).of(rows, _signs(rows, sign))
    except (_NotPlainError, pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    return found if sum(part.num_rows for part in found.values()) <= limits.MAX_COLLECTED_ROWS else None


class _NotPlainError(Exception):
    """Queries look at these rows."""


def _need(condition: bool) -> None:
    if not condition:
        raise _NotPlainError


def _signs(rows: Any, sign: int) -> Any:
    """How often each row comes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not is_feed(rows.column_names):
        return pa.repeat(pa.scalar(sign, pa.int64()), rows.num_rows)
    kinds = pa.array(SIGNS.keys(), pa.string())
    places = pc.index_in(_whole(rows.column("_change_type")).cast(pa.string()), value_set=kinds)
    _need(not places.null_count)
    return pa.array(SIGNS.values(), pa.int64()).take(places)


def _whole(column: Any) -> Any:
    """A column in one piece."""
    import pyarrow as pa

    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


@dataclass
class _Shredding:
    """Rows of a table, as columns."""

    table: TableDef

    def of(self, rows: Any, signs: Any) -> Here:
        import pyarrow.compute as pc

        record = self.table.record
        _need(len({*rows.column_names}) == rows.num_columns)
        given = {name: rows.column(name) for name in rows.column_names if name not in FEED_COLUMNS}
        _need(given.keys() == {*record.names})
        columns = {name: _whole(column) for name, column in given.items()}
        found: Here = {}
        environment = self._environment(columns) if self.table.labels else None
        bags: list[tuple[str, Any, Any, Type]] = []
        parts: list[Any] = []
        for name, type_ in record.fields:
            parts += self._flat(type_, columns[name], (name,), environment, bags)
        found[self.table.name] = _table(parts, signs)
        for name, labels, lists, element in bags:
            owners = pc.list_parent_indices(lists)
            found[name] = _table(
                [labels.take(owners), *_scalars(element, lists.flatten())], signs.take(owners)
            )
        return found

    def _flat(
        self, type_: Type, values: Any, path: tuple[str, ...], environment: Any, bags: list[Any]
    ) -> Iterator[Any]:
        import pyarrow as pa
        import pyarrow.compute as pc

        match type_:
            case Record(fields):
                for (name, field), part in zip(fields, _parts(type_, values), strict=True):
                    yield from self._flat(field, part, (*path, name), environment, bags)
            case Bag(element):
                _need(not (is_map(type_) or is_list(type_)))
                _need(pa.types.is_list(values.type) and not values.null_count)
                site = dictionary_name(self.table.name, path)
                labels = pc.binary_join_element_wise(label_start(site), environment, ")", "")
                bags.append((site, labels, values, element))
                yield labels
            case _:
                yield scalar_column(type_, values)

    def _environment(self, columns: dict[str, Any]) -> Any:
        """The keys of all rows, as labels have them."""
        import pyarrow as pa
        import pyarrow.compute as pc

        parts = []
        for name in self.table.key:
            type_ = self.table.record.types[self.table.record.names.index(name)]
            values = scalar_column(type_, columns[name])
            match type_:
                case Scalar("int", False):
                    parts += ["i", values.cast(pa.string()), ";"]
                case Scalar("str", False):
                    parts += ["s", pc.utf8_length(values).cast(pa.string()), ":", values]
                case _:
                    raise _NotPlainError
        return pc.binary_join_element_wise(*parts, "")


def _parts(type_: Record, values: Any) -> list[Any]:
    """The fields of structs, in the order of ``type_``."""
    import pyarrow as pa

    _need(not is_optional(type_) and pa.types.is_struct(values.type) and not values.null_count)
    names = [field.name for field in values.type]
    _need(sorted(names) == sorted(type_.names))
    found = dict(zip(names, values.flatten(), strict=True))
    return [found[name] for name in type_.names]


def _scalars(type_: Type, values: Any) -> Iterator[Any]:
    """The columns of elements without bags."""
    if isinstance(type_, Record):
        for field, part in zip(type_.types, _parts(type_, values), strict=True):
            yield from _scalars(field, part)
    else:
        yield scalar_column(type_, values)


def scalar_column(type_: Type, values: Any) -> Any:
    """Values as a column of files has them, if ``row_value`` takes all of them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    _need(isinstance(type_, Scalar))
    assert isinstance(type_, Scalar)
    _need(type_.nullable or not values.null_count)
    given, wanted = values.type, arrow_type(sql_type(type_))
    match type_.name:
        case "int":
            _need(pa.types.is_signed_integer(given))
            found = values.cast(wanted)
            if type_.size and len(found) > found.null_count:
                ends, most = pc.min_max(found).as_py(), 1 << type_.size[0] - 1
                _need(-most <= ends["min"] and ends["max"] < most)
            return found
        case "decimal":
            _need(pa.types.is_decimal128(given))
            # There and back, as declared: what loses a digit is refused.
            return (values.cast(pa.decimal128(*type_.size)) if type_.size else values).cast(wanted)
        case "bool" | "str" | "date" | "datetime":
            _need(given == wanted)
            return values
    raise _NotPlainError


def _table(columns: list[Any], signs: Any) -> Any:
    import pyarrow as pa

    names = [f"k{i}" for i in range(len(columns))]
    return pa.Table.from_arrays([*columns, signs], names=[*names, "m0"])
