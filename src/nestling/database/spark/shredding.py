"""Shredding in SQL: the columns of a nested row, with labels in place of bags.

Labels are those of ``Shredder``: made from the key, or a number if there is none. A key with floats or decimals makes
none here, since Spark and Python format these differently: the bags of such a row are numbered, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nestling.calculus.types import ELEMENT, LABEL, Bag, Path, Record, Scalar, Type, dictionary_name
from nestling.database.definitions import TableDef
from nestling.engine.spark.labels import label_start
from nestling.quoting import sql_text

#: In a label's text, a value of a key.
_WRITTEN = {
    "bool": "CASE WHEN {} THEN 'b1' ELSE 'b0' END",
    "int": "concat('i', {}, ';')",
    "timedelta": "concat('t', {}, ';')",
    "time": "concat('c', {}, ';')",
    "str": "concat('s', length({0}), ':', {0})",
    "bytes": "concat('x', lower(hex({})), ';')",
    "date": "concat('D', date_format({}, 'yyyy-MM-dd'), ';')",
    "datetime": "concat('T', unix_micros(CAST({} AS TIMESTAMP)), ';')",
}


class InnerBag(NamedTuple):
    """A bag in a row: its level, its label, where it is, and what it holds."""

    path: Path
    label: str
    at: str
    element: Type


class Column(NamedTuple):
    """A column of a flat row; of a bag, its label."""

    text: str
    type: Type
    bag: InnerBag | None = None


def flat(table: TableDef, type_: Type, path: Path, at: str, environment: str) -> Iterator[Column]:
    """The columns of the value at ``at``, which is at a ``path`` of the rows of ``table``."""
    match type_:
        case Record(fields):
            for i, (name, field) in enumerate(fields):
                yield from flat(table, field, (*path, name), f"{at}.c{i}", environment)
        case Bag(element):
            here = path or (ELEMENT,)
            site = dictionary_name(table.name, here)
            label = f"concat({sql_text(label_start(site))}, {environment}, ')')"
            yield Column(label, LABEL, InnerBag(here, label, at, element))
        case _:
            yield Column(at, type_)


def named(columns: Sequence[Column]) -> str:
    """Columns as a flat table has them: ``k0, k1, …``."""
    return ", ".join(f"{column.text} AS k{i}" for i, column in enumerate(columns))


def leaves(type_: Type, at: str) -> Iterator[tuple[str, Type]]:
    """Where the columns of a value are, and their types; a bag is one."""
    if isinstance(type_, Record):
        for i, (_, field) in enumerate(type_.fields):
            yield from leaves(field, f"{at}.c{i}")
    else:
        yield at, type_


def numbered(number: str) -> str:
    """The environment of a label that no key names."""
    return f"concat('s', length({number}), ':', {number})"


def by_key(table: TableDef, at: str) -> str | None:
    """The environment of the labels of the row at ``at``; none where the table has no key that can be written."""
    parts = [written_value(table.record.types[i], f"{at}.c{i}") for i in table.key_positions]
    texts = [part for part in parts if part is not None]
    return ", ".join(texts) if texts and len(texts) == len(parts) else None


def written_value(type_: Type, at: str) -> str | None:
    match type_:
        case Record(fields):
            parts = [written_value(field, f"{at}.c{i}") for i, (_, field) in enumerate(fields)]
            texts = [part for part in parts if part is not None]
            return f"concat('(', {', '.join(texts)}, ')')" if len(texts) == len(parts) else None
        case Scalar(name, null) if name in _WRITTEN:
            text = _WRITTEN[name].format(at)
            return f"CASE WHEN {at} IS NULL THEN 'n' ELSE {text} END" if null else text
    return None
