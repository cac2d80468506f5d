"""What a view should say: Python runs the text of a comprehension, DuckDB that of a query.

Neither knows Nestling. A sum of floats is the exact sum, rounded once; one of decimals has all its digits.
"""

import builtins
import math
import re
from collections import Counter, namedtuple
from collections.abc import Iterable
from datetime import date
from decimal import Decimal, localcontext
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa

from tests.soak.schema import Column
from tests.soak.values import Frozen, counted, rounded

ARROW = {
    "int": pa.int64(),
    "str": pa.string(),
    "float": pa.float64(),
    "wild": pa.float64(),
    "nan": pa.float64(),
    "dec": pa.decimal128(18, 2),
    "long": pa.decimal128(38, 10),
    "date": pa.date32(),
    "bool": pa.bool_(),
}
NAMES = vars(builtins) | {"Decimal": Decimal, "date": date}


#: Beyond this a decimal of ten places has more digits than DuckDB's.
LONGEST = Decimal(10) ** 28


class Unjudged(Exception):
    """A relation that is asked for has a number that DuckDB cannot hold: it has nothing to say."""


class Oracle:
    """The relations of a database, to be asked."""

    def __init__(self) -> None:
        self.duck = duckdb.connect(config={"threads": 1})
        self.rows: dict[str, list[Any]] = {}
        self.told: dict[str, list[Any]] = {}
        self.waiting: dict[str, tuple[Column, ...]] = {}
        self.unknown: set[str] = set()

    def tell(self, name: str, columns: tuple[Column, ...], rows: list[Any]) -> None:
        """What relation ``name`` holds now; lists that were told once are not changed."""
        self.unknown.discard(name)
        if self.told.get(name) is not rows:
            self.told[name], self.waiting[name] = rows, columns
            self.rows[name] = [named(columns, row) for row in rows]

    def forget(self, name: str) -> None:
        """Nobody knows what relation ``name`` holds now, nor what is read from it."""
        self.unknown.add(name)
        for known in (self.told, self.rows, self.waiting):
            known.pop(name, None)

    def register(self, name: str, columns: tuple[Column, ...]) -> None:
        """Let DuckDB know a relation."""
        rows = self.told[name]
        if any(is_too_long(column, row[i]) for row in rows for i, column in enumerate(columns)):
            self.waiting[name] = columns
            raise Unjudged(name)
        arrays = [
            pa.array([spelled(column, row[place]) for row in rows], arrow(column))
            for place, column in enumerate(columns)
        ]
        self.duck.register(name, pa.table(arrays, names=[column.name for column in columns]))

    def said(self, language: str, text: str) -> list[Any]:
        """The rows of a view."""
        if any(names(text, name) for name in self.unknown):
            raise Unjudged(text)
        return self.python(text) if language == "python" else self.sql(text)

    def python(self, text: str) -> list[Any]:
        """The rows of a comprehension."""
        with localcontext() as context:
            context.prec = 200
            found = eval(text, NAMES | {"sum": total} | self.rows)
        return [tuple(pair) for pair in found.items()] if isinstance(found, dict) else list(found)

    def sql(self, text: str) -> list[Any]:
        """The rows of a query, which DuckDB answers from the relations that the query names.

        Others wait: a sum in a view of Python may have more digits than DuckDB's decimals.
        """
        for name in [name for name in self.waiting if names(text, name)]:
            self.register(name, self.waiting.pop(name))
        return list(self.duck.execute(text).fetchall())


def names(text: str, relation: str) -> bool:
    """Whether ``text`` reads ``relation``."""
    return re.search(rf"\b{re.escape(relation)}\b", text) is not None


def is_too_long(column: Column, value: Any) -> bool:
    """Whether a number in ``value`` is too long for DuckDB."""
    if column.kind != "bag":
        return column.kind == "long" and value is not None and abs(value) >= LONGEST
    parts = column.parts
    elements = [(element,) for element in value] if column.scalars else value
    return any(is_too_long(part, v) for e in elements for part, v in zip(parts, e, strict=True))


def expected(oracle: Oracle, language: str, text: str) -> tuple[list[Any], Counter[Frozen]]:
    """The rows of a view as its oracle has them, and as they are compared."""
    rows = oracle.said(language, text)
    found = counted(rows)
    return rows, found if language == "python" else rounding(found)


def flat(rows: list[Any]) -> list[Any]:
    """Rows as tuples, also where a comprehension made dicts."""
    return [tuple(row.values()) if isinstance(row, dict) else row for row in rows]


def rounding(found: Counter[Frozen]) -> Counter[Frozen]:
    whole: Counter[Frozen] = Counter()
    for row, times in found.items():
        whole[rounded(row)] += times
    return whole


def total(values: Iterable[Any]) -> Any:
    """The sum of numbers, exactly; of floats, rounded once."""
    found = list(values)
    floats = [value for value in found if isinstance(value, float)]
    if not floats:
        return sum(found)
    special = [value for value in floats if not math.isfinite(value)]
    return sum(special) if special else math.fsum(found)


@cache
def row_class(names: tuple[str, ...]) -> Any:
    make: Any = namedtuple  # the names are known only here
    return make("Row", names)


def named(columns: tuple[Column, ...], row: Any) -> Any:
    """A row with names, also inside its bags."""
    return row_class(tuple(column.name for column in columns))(
        *(inside(column, value) for column, value in zip(columns, row, strict=True))
    )


def inside(column: Column, value: Any) -> Any:
    if column.kind != "bag" or column.scalars:
        return value
    return [named(column.parts, element) for element in value]


def arrow(column: Column) -> Any:
    if column.kind != "bag":
        return ARROW[column.kind]
    if column.scalars:
        return pa.list_(arrow(column.parts[0]))
    return pa.list_(pa.struct([(part.name, arrow(part)) for part in column.parts]))


def spelled(column: Column, value: Any) -> Any:
    """``value`` as Arrow takes it: a record is a dict."""
    if column.kind != "bag" or column.scalars:
        return value
    return [
        {part.name: spelled(part, v) for part, v in zip(column.parts, element, strict=True)}
        for element in value
    ]
