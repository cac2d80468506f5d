"""Nested relations whose rows come and go, as an engine sees them: flat tables, labels, and events in any order.

What should be stored is kept here in plain counters, so that an engine is never asked about itself.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from typing import Any

from hypothesis import strategies as st

from nestling.calculus.terms import Expr, Var
from nestling.calculus.types import FLOAT, INT, LABEL, UNIT, Bag, Record, Scalar, Type, flat_type, record
from nestling.database.definitions import Reference, TableDef, flat_columns
from nestling.database.rows import Row, RowEvent, Shredder
from nestling.engine.local import storage
from nestling.engine.local.engine import LocalEngine
from nestling.engine.protocol import Engine
from nestling.engine.runs import runs
from nestling.program.statements import TableDecl
from nestling.storage.ordered import OrderedMap
from nestling.transform.lower.view import FlatView
from nestling.transform.pipeline import EMBEDDED, SPARK, flat_form
from nestling.values.bag import ZBag
from nestling.values.label import Label
from tests.laws.shredding import nested_database
from tests.strategies import FLAG, MAYBE, SCHEMA, Draw, Schema, scalars, values


@dataclass(frozen=True, eq=False, repr=False)
class World:
    """Relations, and by name what is declared of them: their key, whose keys they hold, and whether rows stay.

    ``fixed``: columns that no update changes, by their places.
    """

    name: str
    schema: Schema
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    references: Mapping[str, tuple[tuple[tuple[str, ...], str], ...]] = field(default_factory=dict)
    append_only: frozenset[str] = frozenset()
    fixed: Mapping[str, frozenset[int]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return self.name  # Hypothesis writes down what each draw was made of that came to nothing

    @cached_property
    def definitions(self) -> dict[str, TableDef]:
        # A relation of scalars or of bags has no columns to name; only its declarations need them.
        found: dict[str, Any] = {name: type_.element for name, type_ in self.schema.catalog.items()}
        return {
            name: TableDef(
                name,
                element,
                self.keys.get(name, ()),
                tuple(
                    Reference(tuple((column,) for column in names), parent)
                    for names, parent in self.references.get(name, ())
                ),
                name in self.append_only,
            )
            for name, element in found.items()
        }

    @cached_property
    def levels(self) -> dict[str, Bag]:
        """The inner bags by the name of their dictionary."""
        return {
            ".".join((name, *path)): level
            for name, table in self.definitions.items()
            for path, level in table.levels.items()
        }

    @cached_property
    def tables(self) -> dict[str, TableDecl]:
        """What an engine stores."""
        rows = {
            name: TableDecl(
                name,
                flat_columns(flat_type(table.record), name),
                table.key_positions,
                tuple((_places(table, names), parent) for names, parent in self.references.get(name, ())),
                table.append_only,
                tuple(sorted(self.fixed.get(name, frozenset()))),
            )
            for name, table in self.definitions.items()
        }
        inner = {
            name: TableDecl(
                name, (Var(f"{name}.label", LABEL), *flat_columns(flat_type(level.element), name))
            )
            for name, level in self.levels.items()
        }
        return rows | inner

    @cached_property
    def unreferred(self) -> dict[str, TableDecl]:
        """The same tables, of which nothing is said."""
        return {name: replace(table, references=(), fixed=()) for name, table in self.tables.items()}

    def with_parents(self, names: frozenset[str]) -> frozenset[str]:
        """The relations that ``names`` refer to as well, and they: without their rows there would be none."""
        parents = {parent for name in names for _, parent in self.references.get(name, ())}
        return names if parents <= names else self.with_parents(names | parents)


def _places(table: TableDef, names: tuple[str, ...]) -> tuple[int, ...]:
    """Where ``names`` stand in a flat row; columns are scalars and bags only, so each takes one place."""
    return tuple(table.record.names.index(name) for name in names)


def keyed() -> World:
    """Tables with keys of one and of two columns, nested once and twice; and two without, one of them nested."""
    row = record(a=INT, items=Bag(INT))
    pair, deep = record(a=INT, b=INT), record(a=INT, rows=Bag(row))
    catalog = {
        "K": Bag(pair), "P": Bag(record(a=INT, b=INT, m=MAYBE)), "R": Bag(row), "D": Bag(deep), "T": Bag(pair),
        "E": Bag(row),
    }  # fmt: skip
    types = (INT, pair, UNIT, MAYBE, FLAG, row, deep, Bag(INT), Bag(row))
    return World("keyed", Schema(catalog, types), {"K": ("a",), "P": ("a", "b"), "R": ("a",), "D": ("a",)})


def referring() -> World:
    """Children of an append-only table, one with a key and inner bags of its own; a table that refers to itself."""
    pair, child = record(a=INT, b=INT), record(a=INT, b=INT, items=Bag(INT))
    catalog = {"K": Bag(pair), "T": Bag(pair), "C": Bag(child), "B": Bag(pair)}
    types = (INT, pair, UNIT, MAYBE, FLAG, child, Bag(INT))
    return World(
        "referring",
        Schema(catalog, types),
        {"K": ("a",), "C": ("a",), "B": ("a",)},
        {"T": ((("a",), "K"),), "C": ((("b",), "K"),), "B": ((("b",), "B"),)},
        frozenset({"K", "B"}),
    )


def changing() -> World:
    """Children and grandchildren of a table whose rows change while they are referred to, but for a fixed column.

    One has a column of floats.
    """
    parent, child, weighed = record(a=INT, b=INT, d=INT), record(a=INT, b=INT), record(a=INT, b=INT, f=FLOAT)
    catalog = {"K": Bag(parent), "C": Bag(child), "W": Bag(weighed)}
    types = (INT, child, UNIT, MAYBE, FLAG)
    return World(
        "changing",
        Schema(catalog, types),
        {"K": ("a",), "C": ("a",)},
        {"C": ((("b",), "K"),), "W": ((("a",), "K"), (("b",), "C"))},
        fixed={"K": frozenset({2})},
    )


KEYLESS, KEYED, REFERRING, CHANGING = World("keyless", SCHEMA), keyed(), referring(), changing()
WORLDS = {world.name: world for world in (KEYLESS, KEYED, REFERRING, CHANGING)}


@dataclass(repr=False)
class Stored:
    """The flat tables as they should be; what happens, happens to the relations ``among``."""

    world: World
    among: frozenset[str] = frozenset()
    tables: dict[str, Counter[Row]] = field(init=False)
    numbers: count = field(default_factory=count)
    #: The fixed columns that a key had when it was first given.
    fixed: dict[tuple[str, Row], Row] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tables = {name: Counter() for name in self.world.tables}
        self.among = self.among or frozenset(self.world.definitions)

    def some(self) -> list[str]:
        """The relations some of whose rows may go."""
        stay = self.world.append_only
        return sorted(n for n in self.among if n not in stay and self.free(n))

    def free(self, name: str) -> list[Row]:
        """The rows of a relation that no other refers to."""
        taken = {
            tuple(row[i] for i in places)
            for other in self.world.tables.values()
            for places, parent in other.references
            if parent == name
            for row in self.tables[other.name]
        }
        key = self.world.tables[name].key
        return sorted((r for r in self.tables[name] if tuple(r[i] for i in key) not in taken), key=repr)

    def apply(self, events: list[RowEvent]) -> None:
        for table, row, times in events:
            self.tables[table][row] += times
            assert self.tables[table][row] >= 0, "the test deletes what is not there"
            if not self.tables[table][row]:
                del self.tables[table][row]

    def under(self, dictionary: str, label: Label) -> dict[Row, int]:
        return {row[1:]: n for row, n in self.tables[dictionary].items() if row[0] == label}

    def nested(self) -> dict[str, ZBag]:
        """The relations that the tables stand for."""
        return nested_database(self.shredded(), self.world.schema.catalog)

    def shredded(self) -> dict[str, Any]:
        """The tables as bags and dictionaries, which ``evaluate`` reads."""
        shredded: dict[str, Any] = {}
        for name, type_ in self.world.schema.catalog.items():
            element = flat_type(type_.element)
            shredded[name] = ZBag((tree(iter(row), element), n) for row, n in self.tables[name].items())
        for name, level in self.world.levels.items():
            found: dict[Label, list[tuple[Any, int]]] = {label: [] for label in self.labels(name)}
            for (label, *row), n in self.tables[name].items():
                found.setdefault(label, []).append((tree(iter(row), flat_type(level.element)), n))
            shredded[name] = {label: ZBag(rows) for label, rows in found.items()}
        return shredded

    def by_key(self, name: str, key: Row) -> Row | None:
        """The row with this key."""
        places = self.world.definitions[name].key_positions
        return next((row for row in self.tables[name] if tuple(row[i] for i in places) == key), None)

    def labels(self, dictionary: str) -> set[Label]:
        """The labels of ``dictionary`` that a row has."""
        return {label for label in self.used_labels() if label.site == dictionary}

    def used_labels(self) -> Iterator[Label]:
        for name, rows in self.tables.items():
            first = 1 if name in self.world.levels else 0
            for row in rows:
                yield from (value for value in row[first:] if isinstance(value, Label))

    def shredder(self, name: str) -> Shredder:
        return Shredder(self.world.definitions[name], self.numbers)


def tree(columns: Iterator[Any], type_: Type) -> Any:
    """Columns back to the record they were flattened from."""
    if isinstance(type_, Record):
        return tuple(tree(columns, inner) for _, inner in type_.fields)
    return next(columns)


@st.composite
def steps(draw: Draw, stored: Stored) -> list[RowEvent]:
    """Something that happens to one row, as events in an order that need not be that of a database.

    A row comes, goes, is replaced (under its key), shares the inner bags of another, or changes deep inside.
    """
    moves: list[Callable[[Draw, Stored], list[list[RowEvent]]]] = [_insertion, _insertion]
    if stored.some():
        moves += [_deletion, _copy]
    if any(True for _ in stored.used_labels()):
        moves += [_deep_insertion, _deep_deletion]
    return [event for phase in draw(st.sampled_from(moves))(draw, stored) for event in shuffled(draw, phase)]


def shuffled(draw: Draw, events: list[RowEvent]) -> list[RowEvent]:
    return list(draw(st.permutations(events))) if len(events) > 1 else events


def _insertion(draw: Draw, stored: Stored) -> list[list[RowEvent]]:
    name = draw(st.sampled_from(sorted(stored.among)))
    table = stored.world.definitions[name]
    value = draw(values(table.record, 2))
    if any(
        stored.by_key(each.table, _key(table, tuple(path[0] for path in each.paths), value)) is None
        for each in table.references
    ):
        return []
    if not table.key:
        return [stored.shredder(name).insertion(value, draw(st.sampled_from([1, 1, 2])))]
    old = stored.by_key(name, tuple(value[i] for i in table.key_positions))
    if old is not None and table.append_only:
        return []
    gone = [] if old is None else [stored.shredder(name).deletion(old, 1, stored)]
    key = name, tuple(value[i] for i in table.key_positions)
    first = stored.fixed.setdefault(key, value)
    fixed = stored.world.fixed.get(name, frozenset())
    value = tuple(first[i] if i in fixed else column for i, column in enumerate(value))
    return [*gone, stored.shredder(name).insertion(value, 1)]


def _key(table: TableDef, names: tuple[str, ...], value: Row) -> Row:
    return tuple(value[table.record.names.index(name)] for name in names)


def _deletion(draw: Draw, stored: Stored) -> list[list[RowEvent]]:
    name = draw(st.sampled_from(stored.some()))
    row = draw(st.sampled_from(stored.free(name)))
    times = draw(st.integers(1, stored.tables[name][row]))
    labels = {value for value in row if isinstance(value, Label)}
    others = {value for other in stored.tables[name] if other != row for value in other}
    if times < stored.tables[name][row] or labels & others:
        return [[RowEvent(name, row, -times)]]
    return [stored.shredder(name).deletion(row, times, stored)]


def _copy(draw: Draw, stored: Stored) -> list[list[RowEvent]]:
    """Another row with the inner bags of one that is there; under a key there is no other row."""
    declared = {*stored.world.keys, *stored.world.references}
    names = [name for name in stored.some() if name not in declared]
    if not names:
        return _insertion(draw, stored)
    name = draw(st.sampled_from(sorted(names)))
    row = draw(st.sampled_from(sorted(stored.tables[name], key=repr)))
    types = [column.type for column in stored.world.tables[name].columns]
    columns = [
        draw(scalars(t)) if isinstance(t, Scalar) else value for value, t in zip(row, types, strict=True)
    ]
    return [[RowEvent(name, tuple(columns), 1)]]


def _deep_insertion(draw: Draw, stored: Stored) -> list[list[RowEvent]]:
    label = draw(st.sampled_from(sorted(set(stored.used_labels()), key=repr)))
    name, *path = str(label.site).split(".")
    element = stored.world.levels[str(label.site)].element
    bag = ZBag([(draw(values(element, 2)), draw(st.sampled_from([1, 1, 2])))])
    return [stored.shredder(name).elements(tuple(path), label, bag)]


def _deep_deletion(draw: Draw, stored: Stored) -> list[list[RowEvent]]:
    rows = sorted((r for n in stored.world.levels for r in stored.tables[n]), key=repr)
    if not rows:
        return _deep_insertion(draw, stored)
    label, *columns = draw(st.sampled_from(rows))
    site = str(label.site)
    times = draw(st.integers(1, stored.tables[site][(label, *columns)]))
    gone = RowEvent(site, (label, *columns), -times)
    if times < stored.tables[site][(label, *columns)]:
        return [[gone]]
    below = stored.shredder(site.split(".", maxsplit=1)[0]).deletion(tuple(columns), 1, stored)[1:]
    return [[gone, *below]]


# programs


def flat_view(query: Expr, exact: bool = True) -> FlatView:
    """``query`` as a database would lower it; one on Spark is not ``exact``: its sums of floats are floats."""
    return flat_form(query, EMBEDDED if exact else SPARK)


def run_all(engine: LocalEngine, events: list[RowEvent]) -> None:
    """Have ``engine`` run ``events`` as a database does."""
    for run in runs(events, engine.program.tables):
        run.apply(engine)


def embedded(engine: Engine) -> LocalEngine:
    """The engine of a database in this process, with all that is its own."""
    assert isinstance(engine, LocalEngine)
    return engine


def contents(engine: Engine) -> dict[str, Any]:
    """Every dictionary of an engine, indexes included, as plain values; of another one its tables and maps."""
    if not isinstance(engine, LocalEngine):
        tables = {name: engine.table(name) for name in engine.program.tables}
        return {**tables, **{name: engine.cells(name) for name in engine.program.maps}}
    found = {}
    for store in engine.stores.values():
        for name in store.dictionaries:
            found[name] = plain(engine.names[name])
    return found


def plain(value: Any) -> Any:
    match value:
        case dict():
            return {key: plain(inner) for key, inner in value.items()}
        case OrderedMap():
            return list(value.items())
        case list():
            return list(value)
    return value


def agrees_with_its_indexes(engine: Engine) -> None:
    """Every index, put together again, is the dictionary it indexes."""
    engine = embedded(engine)
    for store in engine.stores.values():
        for known in store.made(engine.names):
            index = engine.names[store.index(known)]
            if known in store.sorted:
                assert engine.names[store.order(known)] == {
                    part: sorted(free) for part, free in index.items()
                }
            if store.slices:
                assert all(index.values())  # a part without entries is gone
                continue
            source = engine.names[store.python]
            assert index == indexed(store, known, source)
            if store.width > 1:
                # The list of a cell is one object, wherever it stands.
                cells = {id(cell) for parts in index.values() for cell in parts.values()}
                assert cells == {id(cell) for cell in source.values()}


def indexed(
    store: storage.Store, known: tuple[int, ...], source: dict[Any, Any]
) -> dict[Any, dict[Any, Any]]:
    """What an index should hold."""
    index: dict[Any, dict[Any, Any]] = {}
    for key, value in source.items():
        row = (
            next(iter(store.rows({key: value})))
            if store.key
            else key
            if store.arity > 1 or store.is_table
            else (key,)
        )
        inner = key if store.is_table or store.key else unwrapped([row[i] for i in store.free(known)])
        index.setdefault(unwrapped([row[i] for i in known]), {})[inner] = value
    return index


def unwrapped(columns: list[Any]) -> Any:
    return columns[0] if len(columns) == 1 else tuple(columns)
