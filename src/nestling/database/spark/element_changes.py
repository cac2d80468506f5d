"""Large changes of inner bags: Spark looks up the bag that each row addresses, level by level.

Each row of the change has the key of the outer row, for each enclosing bag the columns that identify its element, and
the element itself; see ``elements``. The bag is looked up in the new state of the tables, so no label is computed.
"""

from __future__ import annotations

from typing import Any

from nestling.calculus.types import LABEL, Path, Record, Type, bag_levels, dictionary_name
from nestling.database.deep import inner_labels, not_one
from nestling.database.definitions import TableDef, leaf_positions
from nestling.database.elements import elements
from nestling.database.feed import FEED_COLUMNS, Pairs
from nestling.database.refused import check_removable, keyless, no_key, not_in
from nestling.database.spark.frame_changes import as_frame
from nestling.database.spark.frame_values import value_of
from nestling.database.spark.large import Large
from nestling.database.spark.shredding import leaves
from nestling.engine.spark.relations import joins_text
from nestling.errors import ChangeError
from nestling.frontend.schema import element_value
from nestling.quoting import sql_name, sql_text


def change_elements(large: Large, table: TableDef, level: Path, rows: Any, sign: int) -> None:
    """Insert and delete elements of inner bags, deletions first."""
    check_removable(table)
    if not table.key:
        raise keyless(table)
    change = _Elements(large, table, level, rows)
    placed = change.placed(sign)
    change.delete(placed)
    change.insert(placed)


def elements_frame(session: Any, table: TableDef, level: Path, changes: Any) -> Any:
    """The given element changes as a DataFrame (None if empty); all address outer elements by the same columns."""
    found = elements(table, level, changes)
    if not found:
        return None
    told = [[step for step in address if not isinstance(step, str)] for _, address, _, _ in found]
    if any([*map(set, steps)] != [*map(set, told[0])] for steps in told):
        raise ChangeError(
            f"rows for {dictionary_name(table.name, level)} identify elements by different columns",
            hint="give a DataFrame of each",
        )
    outer = [level[:i] for i in range(1, len(level)) if level[:i] in table.levels]
    ways = [
        (path[-1], Record(tuple((name, _type_of(table.levels[path].element, name)) for name in step)))
        for path, step in zip(outer, told[0], strict=True)
    ]
    keys = zip(table.key, table.key_types, strict=True)
    record = Record((*keys, *ways, ("element", table.levels[level].element)))
    rows = (
        ((*(key if len(table.key) > 1 else (key,)), *steps, value), times)
        for (key, _, value, times), steps in zip(found, told, strict=True)
    )
    return as_frame(session, record, rows)


class _Elements:
    def __init__(self, large: Large, table: TableDef, level: Path, rows: Any) -> None:
        self.large, self.table, self.level = large, table, level
        self.name, self.element = dictionary_name(table.name, level), table.levels[level].element
        #: The bags on the way.
        self.outer = [level[:i] for i in range(1, len(level)) if level[:i] in table.levels]
        self.rows = self._with_element(rows)
        given = {field.name: field.dataType for field in self.rows.schema.fields}
        self.addresses = [_told(table.levels[path].element, given.get(path[-1])) for path in self.outer]
        ways = zip((path[-1] for path in self.outer), self.addresses, strict=True)
        keys = zip(table.key, table.key_types, strict=True)
        self.record = Record((*keys, *ways, ("element", self.element)))
        self.at = f"v.c{len(self.record.names) - 1}"

    def _with_element(self, rows: Any) -> Any:
        """Rows whose element is one column."""
        others = (*self.table.key, *(path[-1] for path in self.outer), *FEED_COLUMNS)
        own = [name for name in rows.columns if name not in others]
        if "element" in rows.columns or not isinstance(self.element, Record) or not own:
            return rows
        kept = [sql_name(name) for name in rows.columns if name not in own]
        return rows.selectExpr(*kept, f"struct({', '.join(map(sql_name, own))}) AS element")

    def check(self, row: Any) -> None:
        """Raise the error that a single-element insert would raise."""
        for key, *_ in elements(self.table, self.level, Pairs([(row, 1)])):
            parts = key if len(self.table.key) > 1 else (key,)
            try:
                for type_, part in zip(self.table.key_types, parts, strict=True):
                    element_value(type_, part)
            except ChangeError:
                raise no_key(self.table, parts) from None

    # -- which bag is meant

    def placed(self, sign: int) -> str:
        """What comes and goes, each once, ``v``, ``n`` and ``id``, with the label of its bag, ``l``."""
        self.large.check(self.record, self.rows, self.check)
        counted = self.large.counted(self.record, self.rows, sign)
        current = self._in_row(self.large.total(counted))
        for i, path in enumerate(self.outer):
            current = self._in_element(current, i, path)
        return current

    def _in_row(self, counted: str) -> str:
        """With the label of the first bag on the way."""
        table, large = self.table, self.large
        places = table.declarations[table.name].key
        own = [leaf for i, type_ in enumerate(table.key_types) for leaf in leaves(type_, f"v.c{i}")]
        given = f"SELECT {', '.join(f'{at} AS g{i}' for i, (at, _) in enumerate(own))} FROM {counted}"
        on = [joins_text(f"c.{at}", f"p.k{j}", type_) for (at, type_), j in zip(own, places, strict=True)]
        label = table.labels[(*self.outer, self.level)[0]]
        current = large.written(
            f"SELECT c.*, p.k{label} AS l FROM {counted} c"
            f" LEFT JOIN ({large.after(table.name, places, given)}) p ON {' AND '.join(on)}"
        )
        for row in large.rows(f"SELECT v FROM {current} WHERE l IS NULL LIMIT 1"):
            raise no_key(table, self._key(row["v"]))
        return current

    def _in_element(self, current: str, i: int, path: Path) -> str:
        """With the label of the next bag: that of the one element that is told by columns."""
        table, large, address = self.table, self.large, self.addresses[i]
        name, element = dictionary_name(table.name, path), table.levels[path].element
        assert isinstance(element, Record)
        positions = leaf_positions(element)
        places = [1 + place for told in address.names for place in positions[told]]
        own = list(leaves(address, f"v.c{len(table.key) + i}"))
        on = [joins_text(f"c.{at}", f"d.k{j}", type_) for (at, type_), j in zip(own, places, strict=True)]
        label = 1 + inner_labels(table, path)[(*self.outer[i + 1 :], self.level)[0]]
        found = large.written(
            "SELECT id, any_value(v) AS v, any_value(n) AS n, coalesce(SUM(m0), 0) AS there, min(inner) AS l"
            f" FROM (SELECT c.id, c.v, c.n, d.m0, d.k{label} AS inner FROM {current} c LEFT JOIN"
            f" ({large.after(name, (0,), f'SELECT l AS g0 FROM {current}')}) d"
            f" ON {' AND '.join(['c.l = d.k0', *on])}) GROUP BY id"
        )
        for row in large.rows(f"SELECT v, there FROM {found} WHERE there <> 1 LIMIT 1"):
            told = value_of(self.record, row["v"])[len(table.key) + i]
            raise not_one(name, dict(zip(address.names, told, strict=True)), row["there"])
        return found

    def _key(self, found: Any) -> tuple[Any, ...]:
        key: tuple[Any, ...] = value_of(self.record, found)[: len(self.table.key)]
        return key

    # -- what changes

    def delete(self, placed: str) -> None:
        pair = Record((("label", LABEL), ("element", self.element)))
        value = f"named_struct('c0', l, 'c1', {self.at})"
        went = self.large.query(
            f"SELECT {value} AS v, SUM(n) AS n FROM {placed} WHERE n < 0 GROUP BY {value}"
        )

        def missing(found: Any, times: int) -> ChangeError:
            label, wanted = found
            around = self.large.rows(f"SELECT v FROM {placed} WHERE l = {sql_text(label)} LIMIT 1")
            return not_in(self.name, self.element, wanted, self._key(around[0]["v"]))

        if self.large.rows(f"SELECT 1 AS one FROM {went} LIMIT 1"):
            self.large.delete(self.table, self.name, pair, went, missing)

    def insert(self, placed: str) -> None:
        came = self.large.query(f"SELECT l, {self.at} AS e, n AS m, id AS p FROM {placed} WHERE n > 0")
        self.large.insert_elements(self.table, self.level, self.element, came)


def _type_of(element: Type, name: str) -> Type:
    assert isinstance(element, Record)
    return dict(element.fields)[name]


def _told(element: Type, given: Any) -> Record:
    """The columns of an element that a struct names; other names are rejected, with the first row that has one."""
    names = {field.name for field in getattr(given, "fields", ())}
    fields = element.fields if isinstance(element, Record) else ()
    return Record(tuple((n, type_) for n, type_ in fields if n in names and not any(bag_levels(type_))))
