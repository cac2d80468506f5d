"""Random tables: with keys and without, nullable columns, numbers at the edge, bags one and two levels deep.

Values are few, so that rows meet. A bag is a list here, a record a tuple; nothing of Nestling is used, so that the
model of a database is not the database.
"""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from math import inf, nan
from random import Random
from typing import Any

#: A float that is added up exactly in any order, and those that are not finite.
TAME = (0.0, 0.5, 1.5, -2.25, 4.0)
SPECIAL = (inf, -inf, -0.0)
#: NaN has a column of its own, which is shown and added up: it equals nothing and has no place in an order.
#: Floats whose sum depends on the order of additions, unless it is computed exactly.
WILD = (1e16, -1e16, 1.0, 0.1, 0.2, 1e-300, 3e300)
DECIMALS = tuple(map(Decimal, ("0.00", "1.25", "2.50", "-3.50", "9999999999.99")))
LONG = tuple(
    map(Decimal, ("0.0000000001", "1234567890123456789012345678.0123456789", "-7.5", "0E-10", "1E+27"))
)
DATES = (date(2023, 12, 31), date(2024, 1, 1), date(2024, 2, 29))
TEXTS = ("", "a", "b", "ab", "Ba", "#1", "it's\n“é”")

POOLS: dict[str, tuple[Any, ...]] = {
    "int": (-2, -1, 0, 1, 2, 3),
    "str": TEXTS,
    "float": TAME,
    "wild": WILD,
    "nan": (*TAME, nan, inf, -inf),
    "dec": DECIMALS,
    "long": LONG,
    "date": DATES,
    "bool": (True, False),
}
DDL = {
    "int": "BIGINT",
    "str": "STRING",
    "float": "DOUBLE",
    "wild": "DOUBLE",
    "nan": "DOUBLE",
    "dec": "DECIMAL(12, 2)",
    "long": "DECIMAL(38, 10)",
    "date": "DATE",
    "bool": "BOOLEAN",
}


@dataclass(frozen=True)
class Column:
    """A scalar column; or a bag, of records or of scalars, if it has ``parts``."""

    name: str
    kind: str
    null: bool = False
    special: bool = False
    parts: tuple["Column", ...] = ()

    @property
    def ddl(self) -> str:
        if self.kind == "bag":
            inside = ", ".join(f"{part.name}: {part.ddl}" for part in self.parts)
            return f"ARRAY<STRUCT<{inside}>>" if self.parts[0].name else f"ARRAY<{self.parts[0].ddl}>"
        return DDL[self.kind] + (" NULL" if self.null else "")

    @property
    def scalars(self) -> bool:
        """Whether this is a bag of scalars."""
        return self.kind == "bag" and not self.parts[0].name


@dataclass(frozen=True)
class Table:
    """A table: its columns, its key, and which of its columns hold the key of which other table."""

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ()
    references: tuple[tuple[str, str], ...] = ()

    @property
    def ddl(self) -> str:
        return ", ".join(f"{column.name} {column.ddl}" for column in self.columns)

    @property
    def places(self) -> tuple[int, ...]:
        """Where the columns of the key stand."""
        names = [column.name for column in self.columns]
        return tuple(names.index(name) for name in self.key)

    def column(self, name: str) -> Column:
        return next(column for column in self.columns if column.name == name)

    def key_of(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(row[place] for place in self.places)

    def bags(self) -> list[Column]:
        return [column for column in self.columns if column.kind == "bag"]


ITEMS = Column("items", "bag", parts=(Column("p", "int"), Column("q", "int", null=True)))
TAGS = Column("tags", "bag", parts=(Column("", "str"),))
NUMS = Column("nums", "bag", parts=(Column("", "int"),))
DEEP = Column("deep", "bag", parts=(Column("g", "int"), Column("xs", "bag", parts=(Column("", "int"),))))
LINES = Column(
    "lines",
    "bag",
    parts=(
        Column("n", "int"),
        Column("cost", "dec"),
        Column("parts", "bag", parts=(Column("p", "int"), Column("w", "str", null=True))),
    ),
)


def tables(rng: Random) -> tuple[Table, ...]:
    """One to three tables; a later one may refer to an earlier one that has a key of one column."""
    made: list[Table] = []
    for number in range(rng.choice([1, 2, 2, 3])):
        made.append(table(rng, f"t{number}", [one for one in made if len(one.key) == 1]))
    return tuple(made)


def table(rng: Random, name: str, parents: list[Table]) -> Table:
    """A table with a few columns of its own, and at most one that refers to one of ``parents``."""
    key = rng.choice([(), ("k",), ("k",), ("k",), ("k", "j")])
    columns = [Column("k", rng.choice(["int", "int", "str"]) if len(key) == 1 else "int")] if key else []
    columns += [Column("j", "str")] if len(key) == 2 else []
    columns += [Column(letter, *scalar(rng)) for letter in "abcd"[: rng.randint(2, 4)]]
    if not any(column.kind == "int" for column in columns):
        columns.append(Column("e", "int", rng.random() < 0.5))
    references: tuple[tuple[str, str], ...] = ()
    if parents and rng.random() < 0.5:
        parent = rng.choice(parents)
        columns.append(Column("r", parent.column(parent.key[0]).kind))
        references = (("r", parent.name),)
    columns += rng.sample([ITEMS, TAGS, NUMS, DEEP, LINES], rng.choice([0, 0, 1, 1, 2]))
    return Table(name, tuple(columns), key, references)


def scalar(rng: Random) -> tuple[str, bool, bool]:
    """The kind of a scalar column, whether it may be null, and whether its floats may be special."""
    kind = rng.choice(
        ["int"] * 7 + ["str"] * 3 + ["float"] * 2 + ["wild", "nan", "dec", "dec", "long", "date", "bool"]
    )
    return kind, rng.random() < 0.4, kind == "float" and rng.random() < 0.4


def value(rng: Random, column: Column) -> Any:
    """A value of a column."""
    if column.kind == "bag":
        return [element(rng, column) for _ in range(rng.choice([0, 1, 1, 2, 3]))]
    if column.null and rng.random() < 0.25:
        return None
    if column.special and rng.random() < 0.2:
        return rng.choice(SPECIAL)
    return rng.choice(POOLS[column.kind])


def element(rng: Random, bag: Column) -> Any:
    """An element of a bag."""
    if bag.scalars:
        return value(rng, bag.parts[0])
    return tuple(value(rng, part) for part in bag.parts)


def row(rng: Random, made: Table, wide: bool = True) -> tuple[Any, ...]:
    """A row; ``wide`` keys seldom meet those of other rows."""
    found = []
    for column in made.columns:
        if column.name in made.key and column.kind == "int":
            found.append(rng.randint(0, 11) if wide else rng.randint(0, 3))
        else:
            found.append(value(rng, column))
    return tuple(found)
