"""A large change: checked, shredded and compared with what is stored by Spark; nothing of it comes here.

What is wrong is found by a query, one row of it is brought here, and the check that refuses rows one by one says what
is wrong with it. Labels are those that ``Shredder`` gives: of the key, and where there is none, a number.

Law (5, in bulk): the flat rows of a large change are those of its rows one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from nestling.calculus.types import (
    ELEMENT,
    LABEL,
    Bag,
    Path,
    Record,
    Scalar,
    Type,
    bag_levels,
    dictionary_name,
)
from nestling.database.definitions import TableDef
from nestling.database.elements import outer_bags
from nestling.database.feed import FEED_COLUMNS, SIGNS, z_bag
from nestling.database.spark import arriving
from nestling.database.spark.canonical import canonical, column, value_of, wrong
from nestling.database.transaction import check_removable, key_taken, no_key, no_parent, no_row, not_in
from nestling.engine.spark.frames import table_rows
from nestling.engine.spark.relations import difference, joins_text, summed
from nestling.engine.spark.state import register_frame
from nestling.engine.spark.terms import quoted
from nestling.engine.spark.types import values
from nestling.errors import ChangeError
from nestling.frontend.schema import row_value
from nestling.values.bag import ZBag

if TYPE_CHECKING:
    from nestling.database.spark.state import SparkState

#: In a label's text, a value of a key. Spark and Python write floats and decimals differently.
_WRITTEN = {
    "bool": "CASE WHEN {} THEN 'b1' ELSE 'b0' END",
    "int": "concat('i', {}, ';')",
    "timedelta": "concat('t', {}, ';')",
    "str": "concat('s', length({0}), ':', {0})",
    "bytes": "concat('x', lower(hex({})), ';')",
    "date": "concat('D', date_format({}, 'yyyy-MM-dd'), ';')",
    "datetime": "concat('T', unix_micros(CAST({} AS TIMESTAMP)), ';')",
}


class Large:
    """What is to be added to the flat tables. ``number`` tells the labels of this change from all others."""

    def __init__(self, state: SparkState, number: int) -> None:
        self.state, self.engine, self.number = state, state.running, number
        self.session, self.now = state.running.session, state.running.now
        assert state.running.durable is not None
        self.durable = state.running.durable
        self.changes: dict[str, list[str]] = {}
        self._views: list[str] = []

    # -- rows that come here, or stay

    def arrived(self, frame: Any) -> Any:
        """The rows of a DataFrame of any session, as they are now, in ours."""
        folder = self.durable.passing("arrived")
        frame.write.parquet(folder)
        return self.session.read.schema(frame.schema).parquet(folder)

    def counted(self, table: TableDef, rows: Any, sign: int) -> str:
        """The nested rows of a DataFrame, ``v``, and how often each comes, ``n``: ``sign`` unless it says so."""
        feed = "_change_type" in rows.columns
        own = rows.drop(*FEED_COLUMNS) if feed else rows
        kinds = ", ".join(f"'{kind}'" for kind in SIGNS)
        unknown = f"_change_type IS NULL OR _change_type NOT IN ({kinds}) OR " if feed else ""
        for row in rows.where(unknown + wrong(table.record, own.schema)).limit(1).toArrow().to_pylist():
            found = next(iter(z_bag([row]).items()))[0] if feed else row
            row_value(table.record, found)
            raise ChangeError(
                f"a number in {found} does not fit Spark", hint="decimals have 18 digits behind the point"
            )
        signs = " ".join(f"WHEN '{kind}' THEN {times}L" for kind, times in SIGNS.items())
        n = f"CASE _change_type {signs} END" if feed else f"{sign}L"
        return self.view(rows.selectExpr(f"{canonical(table.record, '', own.schema)} AS v", f"{n} AS n"))

    def stored(self, table: TableDef, rows: str | None = None) -> str:
        """Rows of a table as they are stored: ``k0, k1, …``, nested ``v``, and how often, ``n``."""
        layout = self.engine.layouts[table.name]
        found = rows or summed(self.now.raw(table.name), layout)
        text = table_rows(self.engine.program, self.now, table.name, table.record, found)
        keys = [f"o{i} AS k{i}" for i in range(len(layout.keys))]
        return self.query(f"SELECT {', '.join(keys)}, {canonical(table.record, 'v')} AS v, n FROM ({text})")

    def total(self, *parts: str) -> str:
        """Counted rows, each once, with a number of its own."""
        rows = " UNION ALL ".join(f"SELECT v, n FROM {part}" for part in parts)
        once = f"SELECT v, SUM(n) AS n FROM ({rows}) GROUP BY v HAVING SUM(n) <> 0"
        return self.written(f"SELECT *, monotonically_increasing_id() AS id FROM ({once})")

    def view(self, frame: Any) -> str:
        self._views.append(register_frame(frame, 0).view)
        return self._views[-1]

    def query(self, text: str) -> str:
        return self.view(self.session.sql(text))

    def written(self, text: str) -> str:
        """Rows that are computed once."""
        part = self.durable.write("passing", text)
        self._views.append(part.view)
        return part.view

    def forget(self) -> None:
        for view in self._views:
            self.session.catalog.dropTempView(view)

    # -- what changes in a table

    def change(self, table: TableDef, counted: str) -> None:
        """Nested rows that come and go, each once."""
        went, came = (self.query(f"SELECT * FROM {counted} WHERE n {sign} 0") for sign in "<>")
        if self.rows(f"SELECT 1 AS one FROM {went} LIMIT 1"):
            check_removable(table)
            self._delete(table, went)
        self._insert(table, came)
        self._check_keys(table)
        self._check_references(table)

    def change_elements(self, table: TableDef, level: Path, rows: Any, sign: int) -> None:
        """Elements that come to and go from inner bags of rows; see ``elements``."""
        check_removable(table)
        name, element = dictionary_name(table.name, level), table.levels[level].element
        if outer_bags(table, level) or any(bag_levels(element)):
            raise ChangeError(
                f"a large change of {name} looks into other bags",
                hint=f"apply at most {arriving.FEW} rows at once",
            )
        keyed = Record((*zip(table.key, table.key_types, strict=True), ("element", element)))
        around = TableDef(name, keyed)
        counted = self.total(self.counted(around, _with_element(table, element, rows), sign))
        keys = [(f"v.c{i}", type_) for i, type_ in enumerate(table.key_types)]
        site = quoted(f"s{len(name)}:{name}(")
        label = f"concat({site}, {_environment(table, keys)}, ')')"
        columns = [(label, LABEL, ()), *self._flat(table, element, level, f"v.c{len(keys)}", "")]
        self._add(name, f"SELECT {_named(columns)}, n AS m0 FROM {counted}")
        self._check_around(table, around, counted)
        self._check_elements(around, counted, columns)

    def frames(self) -> dict[str, Any]:
        """What is to be added to each flat table."""
        return {
            name: self.session.sql(difference(" UNION ALL ".join(texts), self.engine.layouts[name]))
            for name, texts in self.changes.items()
        }

    def rows(self, text: str) -> list[dict[str, Any]]:
        """A few rows, here."""
        found: list[dict[str, Any]] = self.engine.arrow(text).to_pylist()
        return found

    def _after(self, name: str, places: Sequence[int], keys: str) -> str:
        """The rows that a table will have and that have one of ``keys``, ``g0, g1, …``, at ``places``."""
        layout = self.engine.layouts[name]
        rows = " UNION ALL ".join([self.now.raw(name), *self.changes.get(name, ())])
        on = " AND ".join(joins_text(f"a.k{p}", f"d.g{i}", layout.keys[p]) for i, p in enumerate(places))
        return summed(f"SELECT a.* FROM ({rows}) a LEFT SEMI JOIN ({keys}) d ON {on}", layout)

    def _given(self, name: str, places: Sequence[int]) -> str:
        """What stands at ``places`` in the rows that come, as ``g0, g1, …``."""
        columns = ", ".join(f"k{p} AS g{i}" for i, p in enumerate(places))
        return f"SELECT {columns} FROM ({' UNION ALL '.join(self.changes[name])}) WHERE m0 > 0"

    # -- rows that go

    def _delete(self, table: TableDef, went: str) -> None:
        layout = self.engine.layouts[table.name]
        leaves = list(enumerate(_leaves(table.record, "v")))
        on = [joins_text(f"a.k{i}", f"d.{at}", t) for i, (at, t) in leaves if isinstance(t, Scalar)]
        like = (
            f"SELECT a.* FROM ({summed(self.now.raw(table.name), layout)}) a LEFT SEMI JOIN {went} d"
            f" ON {' AND '.join(on) or 'true'}"
        )
        keys = ", ".join(layout.key_names)
        # Of equal rows with bags of their own, as many go as are asked for, one after the other.
        before = "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
        taken = self.written(
            f"SELECT {keys}, v, n, least(n, greatest(0, wanted - earlier)) AS t FROM (SELECT s.*, -w.n AS wanted,"
            f" coalesce(SUM(s.n) OVER (PARTITION BY s.v ORDER BY {keys} {before}), 0) AS earlier"
            f" FROM {self.stored(table, like)} s JOIN {went} w ON s.v = w.v)"
        )
        for row in self.rows(
            f"SELECT w.v, -w.n - coalesce(t.t, 0) AS missing FROM {went} w"
            f" LEFT JOIN (SELECT v, SUM(t) AS t FROM {taken} GROUP BY v) t ON w.v = t.v"
            " WHERE -w.n > coalesce(t.t, 0) LIMIT 1"
        ):
            raise no_row(table, value_of(table.record, row["v"]), row["missing"])
        self._add(table.name, f"SELECT {keys}, -t AS m0 FROM {taken} WHERE t > 0")
        self._delete_below(table, table.name, f"SELECT {keys} FROM {taken} WHERE t = n")

    def _delete_below(self, table: TableDef, name: str, gone: str) -> None:
        """With the last copy of a row go the bags inside it."""
        for i, inner in enumerate(table.declarations[name].columns):
            if inner.type != LABEL or inner.name == f"{name}.label":
                continue
            layout = self.engine.layouts[inner.name]
            rows = self.query(
                f"SELECT a.* FROM ({summed(self.now.raw(inner.name), layout)}) a"
                f" LEFT SEMI JOIN (SELECT k{i} AS l FROM ({gone})) d ON a.k0 = d.l"
            )
            self._add(inner.name, f"SELECT {', '.join(layout.key_names)}, -m0 AS m0 FROM {rows}")
            self._delete_below(table, inner.name, f"SELECT * FROM {rows}")

    # -- rows that come

    def _insert(self, table: TableDef, came: str) -> None:
        keys = [(f"v.c{i}", table.record.types[i]) for i in table.key_positions]
        environment = _environment(table, keys)
        number = f"concat('#{self.number}.', id)"
        columns = list(self._flat(table, table.record, (), "v", environment or _numbered(number)))
        self._add(table.name, f"SELECT {_named(columns)}, n AS m0 FROM {came}")
        for path, label, at, element in _bags(table, columns):
            self._elements(
                table, path, element, f"SELECT {label} AS l, {number} AS p, {at} AS bag FROM {came}"
            )

    def _elements(self, table: TableDef, path: Path, element: Type, bags: str) -> None:
        """The elements of inner bags: ``l`` is the label of a bag, ``p`` the number of the row around it."""
        below = (*path, ELEMENT) if isinstance(element, Bag) else path
        number = "concat(p, '.', row_number() OVER (PARTITION BY l ORDER BY e))"
        rows = self.query(
            f"SELECT l, e, m, {number} AS p FROM (SELECT l, p, e, count(*) AS m"
            f" FROM ({bags}) LATERAL VIEW explode(bag) AS e GROUP BY l, p, e)"
        )
        columns = list(self._flat(table, element, below, "e", _numbered("p")))
        name = dictionary_name(table.name, path)
        self._add(name, f"SELECT {_named([('l', LABEL, ()), *columns])}, m AS m0 FROM {rows}")
        for inner, label, at, type_ in _bags(table, columns):
            self._elements(table, inner, type_, f"SELECT {label} AS l, p, {at} AS bag FROM {rows}")

    def _flat(
        self, table: TableDef, type_: Type, path: Path, at: str, environment: str
    ) -> Iterator[tuple[str, Type, tuple[Any, ...]]]:
        """The columns of a flat row; for a bag its label, its path, and where it is."""
        match type_:
            case Record(fields):
                for i, (name, field) in enumerate(fields):
                    yield from self._flat(table, field, (*path, name), f"{at}.c{i}", environment)
            case Bag(element):
                here = path or (ELEMENT,)
                site = dictionary_name(table.name, here)
                yield (
                    f"concat({quoted(f's{len(site)}:{site}(')}, {environment}, ')')",
                    LABEL,
                    (here, at, element),
                )
            case _:
                yield at, type_, ()

    def _add(self, name: str, text: str) -> None:
        self.changes.setdefault(name, []).append(text)

    # -- what is refused

    def _check_keys(self, table: TableDef) -> None:
        places = table.declarations[table.name].key
        if places:
            keys = ", ".join(f"k{i}" for i in places)
            after = self._after(table.name, places, self._given(table.name, places))
            text = f"SELECT {keys} FROM ({after}) GROUP BY {keys} HAVING SUM(m0) > 1 LIMIT 1"
            for row in self._found(table, text, places):
                raise key_taken(table, row)

    def _check_references(self, table: TableDef) -> None:
        layout, declared = self.engine.layouts[table.name], table.declarations[table.name].references
        for (names, parent), (places, _) in zip(table.references, declared, strict=True):
            theirs = self.state.tables[parent].declarations[parent].key
            given = self._given(table.name, places)
            on = [joins_text(f"c.g{i}", f"p.k{j}", layout.keys[places[i]]) for i, j in enumerate(theirs)]
            parents = self._after(parent, theirs, given)
            text = f"SELECT * FROM ({given}) c LEFT ANTI JOIN ({parents}) p ON {' AND '.join(on)} LIMIT 1"
            for row in self._found(table, text, places):
                raise no_parent(table, names, parent, row)

    def _check_around(self, table: TableDef, around: TableDef, counted: str) -> None:
        """Refuse elements of bags that are in no row."""
        places = table.declarations[table.name].key
        leaves = [leaf for i in range(len(table.key)) for leaf in _leaves(around.record.types[i], f"v.c{i}")]
        given = f"SELECT {', '.join(f'{at} AS g{i}' for i, (at, _) in enumerate(leaves))} FROM {counted}"
        on = [joins_text(f"c.g{i}", f"p.k{j}", leaves[i][1]) for i, j in enumerate(places)]
        text = (
            f"SELECT * FROM ({given}) c LEFT ANTI JOIN ({self._after(table.name, places, given)}) p"
            f" ON {' AND '.join(on)} LIMIT 1"
        )
        for row in self._found(table, text, places):
            raise no_key(table, row)

    def _check_elements(self, around: TableDef, counted: str, columns: list[Any]) -> None:
        """Refuse to take out what is not there."""
        layout = self.engine.layouts[around.name]
        on = [joins_text(f"a.k{i}", f"d.k{i}", type_) for i, type_ in enumerate(layout.keys)]
        gone = f"SELECT v, n, {_named(columns)} FROM {counted} WHERE n < 0"
        text = (
            f"SELECT v FROM (SELECT d.v, -d.n AS wanted, coalesce(SUM(a.m0), 0) AS there FROM ({gone}) d"
            f" LEFT JOIN ({self.now.raw(around.name)}) a ON {' AND '.join(on)} GROUP BY d.v, d.n)"
            " WHERE there < wanted LIMIT 1"
        )
        for row in self.rows(text):
            *key, wanted = value_of(around.record, row["v"])
            raise not_in(around.name, around.record.types[-1], wanted, tuple(key))

    def _found(self, table: TableDef, text: str, places: tuple[int, ...]) -> list[tuple[Any, ...]]:
        types = [self.engine.layouts[table.name].keys[i] for i in places]
        return values(types, self.engine.arrow(text))

    def differing(self, table: TableDef, wanted: str) -> str:
        """What must come and go so that ``table`` holds what is ``wanted``."""
        negated = self.query(f"SELECT v, -n AS n FROM {self.stored(table)}")
        return self.total(wanted, negated)

    def few(self, table: TableDef, counted: str, most: int) -> ZBag | None:
        """Counted rows, here, if they are no more than ``most``."""
        rows = self.rows(f"SELECT v, n FROM {counted} LIMIT {most + 1}")
        return (
            None if len(rows) > most else ZBag((value_of(table.record, row["v"]), row["n"]) for row in rows)
        )


def _with_element(table: TableDef, element: Type, rows: Any) -> Any:
    """Rows whose element is one column."""
    if "element" in rows.columns or not isinstance(element, Record):
        return rows
    own = [name for name in rows.columns if name not in (*table.key, *FEED_COLUMNS)]
    kept = [column(name) for name in rows.columns if name not in own]
    return rows.selectExpr(*kept, f"struct({', '.join(map(column, own))}) AS element")


def _leaves(type_: Type, at: str) -> Iterator[tuple[str, Type]]:
    if isinstance(type_, Record):
        for i, (_, field) in enumerate(type_.fields):
            yield from _leaves(field, f"{at}.c{i}")
    else:
        yield at, type_


def _named(columns: list[tuple[str, Type, tuple[Any, ...]]]) -> str:
    return ", ".join(f"{text} AS k{i}" for i, (text, _, _) in enumerate(columns))


def _bags(table: TableDef, columns: list[Any]) -> Iterator[tuple[Path, str, str, Type]]:
    for text, _, bag in columns:
        if bag:
            path, at, element = bag
            yield path, text, at, element


def _numbered(number: str) -> str:
    """The environment of a label that no key names."""
    return f"concat('s', length({number}), ':', {number})"


def _environment(table: TableDef, keys: list[tuple[str, Type]]) -> str:
    """The environment of a row's labels; none where the table has no key."""
    return ", ".join(_written(table, at, type_) for at, type_ in keys)


def _written(table: TableDef, at: str, type_: Type) -> str:
    match type_:
        case Record(fields):
            parts = [_written(table, f"{at}.c{i}", field) for i, (_, field) in enumerate(fields)]
            return f"concat('(', {', '.join(parts)}, ')')"
        case Scalar(name, null) if name in _WRITTEN:
            text = _WRITTEN[name].format(at)
            return f"CASE WHEN {at} IS NULL THEN 'n' ELSE {text} END" if null else text
    if not table.levels:
        return "''"
    raise ChangeError(
        f"the inner bags of {table.name} are found by a key of {type_}: no large change can name them",
        hint=f"apply at most {arriving.FEW} rows at once",
    )
