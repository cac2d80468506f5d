"""Large changes of tables whose labels are written from their keys: flat rows are compared, none is nested.

The key of a row says which labels its bags have, so a row that goes is shredded like one that comes. It is there iff
under its key, and under each of its labels, lies exactly what it was shredded to. So the change reads what it names:
the stored rows with its keys, and the elements under the labels of the rows that go.

Law (5, in bulk): the flat rows are those that ``Large.delete`` and ``Large.insert`` find.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from nestling.calculus.types import LABEL, bag_levels, dictionary_name
from nestling.database.definitions import TableDef
from nestling.database.spark.shredding import Column, by_key, flat, named
from nestling.engine.spark.relations import difference, touched_by


def is_flat_by_key(table: TableDef) -> bool:
    """Whether every label of a row is written from its key: bags inside elements are numbered."""
    elements = [level.element for level in table.levels.values()]
    return by_key(table, "v") is not None and not any(any(bag_levels(element)) for element in elements)


class Comparing(Protocol):
    """What a large change compares its rows with: the state before it, and what names its queries."""

    @property
    def engine(self) -> Any: ...

    @property
    def then(self) -> Any: ...

    @property
    def hint(self) -> str: ...

    def query(self, text: str) -> str:
        """The name of a query."""


class FlatRows:
    """Counted rows ``v``, ``n`` of such a table, and what they are as rows of its flat tables."""

    def __init__(self, large: Comparing, table: TableDef, counted: str) -> None:
        self.large, self.table = large, table
        self.places = table.declarations[table.name].key
        #: The rows to add, by flat table; of the table itself first.
        self.rows = {name: large.query(text) for name, text in _shredded(table, counted)}
        #: Where a row has the label of each flat table below.
        self.labels = {dictionary_name(table.name, path): place for path, place in table.labels.items()}

    def keys(self, where: str = "") -> str:
        columns = ", ".join(f"k{p} AS g{i}" for i, p in enumerate(self.places))
        return f"SELECT {columns} FROM {self.rows[self.table.name]}{where}"

    def differing(self) -> list[str]:
        """The queries that find something where a row that goes is not stored as it is."""
        found = [self._differing(self.table.name, self.places, self.keys(" WHERE m0 < 0"))]
        for name, place in self.labels.items():
            gone = f"SELECT k{place} AS g0 FROM {self.rows[self.table.name]} WHERE m0 < 0"
            found.append(self._differing(name, (0,), gone))
        return found

    def _differing(self, name: str, places: Sequence[int], keys: str) -> str:
        layout = self.large.engine.layouts[name]
        before = touched_by(self.large.then.raw(name), layout, places, keys, self.large.hint)
        gone = f"SELECT {', '.join(layout.names)} FROM {self.rows[name]} WHERE m0 < 0"
        return f"SELECT 1 AS one FROM ({difference(f'{before} UNION ALL {gone}', layout)})"

    def unlike(self) -> str:
        """The keys, ``g0, g1, …``, of rows that differ from what is stored under them, in themselves or in their bags.

        A bag that differs is that of one of these rows, or its row is not among them, and differs itself.
        """
        main = self.large.engine.layouts[self.table.name]
        columns = ", ".join(f"k{p} AS g{i}" for i, p in enumerate(self.places))
        found = [f"SELECT {columns} FROM ({self._unlike(self.table.name)})"]
        for name, place in self.labels.items():
            labels = f"SELECT DISTINCT k0 AS g0 FROM ({self._unlike(name)})"
            owners = touched_by(f"SELECT * FROM {self.rows[self.table.name]}", main, (place,), labels)
            found.append(f"SELECT {columns} FROM ({owners})")
        return f"SELECT DISTINCT * FROM ({' UNION ALL '.join(found)})"

    def _unlike(self, name: str) -> str:
        layout = self.large.engine.layouts[name]
        stored = f"SELECT {', '.join(layout.key_names)}, -m0 AS m0 FROM ({self.large.then.raw(name)})"
        return difference(
            f"SELECT {', '.join(layout.names)} FROM {self.rows[name]} UNION ALL {stored}", layout
        )

    def taken(self) -> str:
        """The keys that two rows would have."""
        name, columns = self.table.name, ", ".join(f"k{p}" for p in self.places)
        layout, rows = self.large.engine.layouts[name], self.rows[name]
        new = f"SELECT {', '.join(layout.names)} FROM {rows}"
        if self.large.then.stored[name].rows:
            given = self.keys(" WHERE m0 > 0")
            new += f" UNION ALL {touched_by(self.large.then.raw(name), layout, self.places, given, self.large.hint)}"
        return f"SELECT {columns} FROM ({new}) GROUP BY {columns} HAVING SUM(m0) > 1"


def _shredded(table: TableDef, counted: str) -> Iterator[tuple[str, str]]:
    """The flat rows of counted ones; equal elements of a bag come apart."""
    columns = list(flat(table, table.record, (), "v", by_key(table, "v") or ""))
    yield table.name, f"SELECT {named(columns)}, n AS m0 FROM {counted}"
    for bag in (column.bag for column in columns if column.bag is not None):
        inner = [Column("l", LABEL), *flat(table, bag.element, bag.path, "e", "")]
        elements = f"SELECT {bag.label} AS l, n, e FROM {counted} LATERAL VIEW explode({bag.at}) AS e"
        yield dictionary_name(table.name, bag.path), f"SELECT {named(inner)}, n AS m0 FROM ({elements})"
