"""The flat rows of a table whose columns or name change, each relation by one query over what is stored.

A relation whose rows stay as they are keeps its files. Labels begin with the name of their dictionary: where that is
another, they begin otherwise. A bag that is added has a label in each row, as an insert would have written it.

Law (5, in bulk): nested, the rows are those of ``converted``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from nestling.calculus.types import (
    ELEMENT,
    Bag,
    Path,
    Record,
    Scalar,
    Type,
    dictionary_name,
    leaf_types,
)
from nestling.database.definitions import TableDef
from nestling.database.evolving import Moved
from nestling.database.reshape import AddColumn, DropColumn, RenameColumn, Reshape, WidenColumn
from nestling.database.spark.shredding import numbered, written_value
from nestling.engine.spark.arriving import Arriving
from nestling.engine.spark.durable import EngineLake
from nestling.engine.spark.engine import SparkEngine
from nestling.engine.spark.labels import label_start
from nestling.engine.spark.relations import difference
from nestling.engine.spark.session import python_errors, settings
from nestling.engine.spark.state import SourceRows, register
from nestling.engine.spark.types import arrow_table, sql_type, values
from nestling.engine.spark.written import by_rows, written
from nestling.errors import ChangeError, QueryError, brief
from nestling.frontend.schema import element_value
from nestling.quoting import sql_text
from nestling.storage.lake import RelationFiles


@dataclass
class MovedRelation:
    """One flat relation: what it is called, was called, and its columns over ``k0, k1, …`` of what it was.

    ``given``: values that are the same in all rows, ``d0, d1, …``. ``widened``: columns whose values are looked at.
    """

    name: str
    old: str
    columns: list[str]
    given: list[tuple[Scalar, Any]] = field(default_factory=list)
    widened: list[tuple[int, Scalar, Scalar]] = field(default_factory=list)
    before: int = 0

    @property
    def is_same(self) -> bool:
        """Whether the rows stay as they are."""
        return not self.given and self.columns == [f"k{i}" for i in range(self.before)]


@dataclass
class _Level:
    """A relation while its columns are found: the places of those it had, and what is in its bags."""

    found: MovedRelation
    places: Iterator[int] = field(default_factory=count)
    below: list[Iterator[MovedRelation]] = field(default_factory=list)


def moved_relations(moved: Moved, new: TableDef, number: str) -> list[MovedRelation]:
    """The flat relations of a table afterwards that there were before; ``number`` distinguishes new labels."""
    return list(_Mover(moved.old, new, number).level(moved.old.record, new.record, moved.change, (), ()))


class _Mover:
    def __init__(self, old: TableDef, new: TableDef, number: str) -> None:
        self.old, self.new, self.number = old, new, number

    def level(
        self, old: Type, new: Type, change: Reshape | None, was: Path, now: Path
    ) -> Iterator[MovedRelation]:
        """The relation of what is in a bag, or of the rows, and those below."""
        name, before = self._name(self.new, now), self._name(self.old, was)
        found = MovedRelation(name, before, [], before=len(self.old.declarations[before].columns))
        level = _Level(found)
        if was:
            found.columns.append(_relabelled(next(level.places), before, name))
        inner = was, now
        if isinstance(old, Bag):  # a bag of bags: the inner ones are elements of no name
            inner = (*was, ELEMENT), (*now, ELEMENT)
        found.columns += self._columns(old, new, change, *inner, level)
        yield found
        for relations in level.below:
            yield from relations

    @staticmethod
    def _name(table: TableDef, path: Path) -> str:
        return dictionary_name(table.name, path) if path else table.name

    def _columns(
        self,
        old: Type,
        new: Type,
        change: Reshape | None,
        was: Path,
        now: Path,
        level: _Level,
    ) -> Iterator[str]:
        match old, new:
            case Record(), Record():
                fields = dict(new.fields)
                for name, type_ in old.fields:
                    after, inner = _named(name, change)
                    if isinstance(inner, DropColumn) and len(inner.path) == 0:
                        for _ in leaf_types(type_):
                            next(level.places)
                        continue
                    paths = (*was, name), (*now, after)
                    yield from self._columns(type_, fields[after], inner, *paths, level)
                if isinstance(change, AddColumn) and len(change.path) == 1:
                    yield from self._added(change.type, change.value, (*now, change.path[0]), level.found)
            case Bag(), Bag():
                names = self._name(self.old, was), self._name(self.new, now)
                yield _relabelled(next(level.places), *names)
                level.below.append(self.level(old.element, new.element, change, was, now))
            case _:
                yield _widened(next(level.places), old, new, level.found)

    # -- what is added

    def _added(self, type_: Type, value: Any, path: Path, found: MovedRelation) -> Iterator[str]:
        match type_:
            case Record(fields):
                for (name, inner), part in zip(fields, value, strict=True):
                    yield from self._added(inner, part, (*path, name), found)
            case Bag():
                if value:
                    raise QueryError(
                        f"on Spark a bag is added empty, and {'.'.join(path)} is {brief(value)}",
                        hint="add it without a default, and insert the elements: db.apply({'table.bag': elements})",
                    )
                start = label_start(self._name(self.new, path))
                yield f"concat({sql_text(start)}, {self._environment(found)}, ')')"
            case _:
                assert isinstance(type_, Scalar)
                found.given.append((type_, value))
                yield f"d{len(found.given) - 1}"

    def _environment(self, found: MovedRelation) -> str:
        """What tells the label of a new bag from others: the key of the row, or a number."""
        table = self.old
        if found.old == table.name and table.key:
            parts = [_of_key(table.record.types[i], iter(table.places[table.record.names[i]])) for i in
                     table.key_positions]  # fmt: skip
            texts = [part for part in parts if part is not None]
            if len(texts) == len(parts):
                return ", ".join(texts)
        each = f"#{self.number}.{len(found.given)}.{len(found.columns)}."
        return numbered(f"concat({sql_text(each)}, monotonically_increasing_id())")


def _named(name: str, change: Reshape | None) -> tuple[str, Reshape | None]:
    """What a field is called afterwards, and what changes in it: a drop of no path drops it."""
    if change is None or change.path[0] != name:
        return name, None
    if len(change.path) > 1:
        return name, replace(change, path=change.path[1:])
    match change:
        case RenameColumn(_, new):
            return new, None
        case DropColumn():
            return name, DropColumn(())
    return name, None


def _of_key(type_: Type, places: Iterator[int]) -> str | None:
    if isinstance(type_, Record):
        parts = [_of_key(inner, places) for inner in type_.types]
        texts = [part for part in parts if part is not None]
        return f"concat('(', {', '.join(texts)}, ')')" if len(texts) == len(parts) else None
    return written_value(type_, f"k{next(places)}")


def _relabelled(place: int, old: str, new: str) -> str:
    if old == new:
        return f"k{place}"
    return f"concat({sql_text(label_start(new))}, substring(k{place}, {len(label_start(old)) + 1}))"


def _widened(place: int, old: Type, new: Type, found: MovedRelation) -> str:
    assert isinstance(old, Scalar)
    assert isinstance(new, Scalar)
    if old.name != new.name or old.size != new.size:
        found.widened.append((place, old, new))
    return f"k{place}" if sql_type(old) == sql_type(new) else f"CAST(k{place} AS {sql_type(new)})"


# -- rows


def arriving_moved(engine: SparkEngine, relations: list[MovedRelation]) -> Arriving:
    """The rows of relations that change, written by Spark, and those of other names whose files stay."""

    def arrive(durable: EngineLake) -> Mapping[str, SourceRows]:
        found = {}
        for each in relations:
            if not (each.is_same and each.name == each.old):
                found[each.name] = _kept(engine, durable, each) or _written(engine, durable, each)
        return found

    return arrive


def _kept(engine: SparkEngine, durable: EngineLake, moved: MovedRelation) -> SourceRows | None:
    """The files of a relation that is called otherwise, where they are all that it has."""
    assert engine.durable is not None
    there = durable.lake.manifest.relations.get(engine.durable.keys[moved.old], RelationFiles())
    if not moved.is_same or there.changes or engine.now.stored[moved.old].recent_rows:
        return None
    return SourceRows(durable.parts(moved.name, durable.counted(there)))


def _written(engine: SparkEngine, durable: EngineLake, moved: MovedRelation) -> SourceRows:
    layout, rows = durable.layouts[moved.name], engine.now.stored[moved.old].rows
    columns = ", ".join(f"{column} AS k{i}" for i, column in enumerate(moved.columns))
    with ExitStack() as done:
        done.enter_context(settings(engine.session, engine.spark, rows))
        done.enter_context(python_errors())
        beside = ""
        if moved.given:
            types = [(f"d{i}", type_) for i, (type_, _) in enumerate(moved.given)]
            part = register(engine.session, arrow_table(types, [[value for _, value in moved.given]]))
            done.callback(engine.session.catalog.dropTempView, part.view)
            beside = f" CROSS JOIN {part.view}"
        text = f"SELECT {columns}, m0 FROM ({engine.now.summed(moved.old)}){beside}"
        frame = by_rows(engine.session.sql(difference(text, layout)), layout.sort_texts, rows)
        files, _ = written(durable.lake, frame, durable.lake.fresh(durable.keys[moved.name]))
    durable.files |= {file.name: file for file in files}
    return SourceRows(durable.parts(moved.name, RelationFiles(files)))


# -- what cannot be widened


def check_widened(engine: SparkEngine, relations: list[MovedRelation], where: str) -> None:
    """Refuse to widen a column that has a value which is none of the new type, as rows in this process are."""
    for each in relations:
        for place, old, new in each.widened:
            text = _suspects(f"k{place}", old, new)
            found = engine.arrow(f"SELECT {text} FROM ({engine.now.summed(each.old)})")
            for row in values([old] * found.num_columns, found):
                for value in row:
                    _check_value(value, new, where)


def _suspects(column: str, old: Scalar, new: Scalar) -> str:
    """Of the values of a column some that do not fit, if there are any: the ends, and one that is rounded."""
    digits = "DECIMAL(38,0)"
    rounded: dict[tuple[str, str], Callable[[], str]] = {
        ("int", "float"): lambda: f"CAST(CAST({column} AS DOUBLE) AS {digits}) <> CAST({column} AS {digits})",
        ("decimal", "decimal"): lambda: (
            f"try_cast({column} AS DECIMAL({new.size[0]},{new.size[1]})) IS DISTINCT FROM {column}"
            if new.size
            else "false"
        ),
    }
    wrong = rounded.get((old.name, new.name), lambda: "false")()
    return f"min({column}), max({column}), min(CASE WHEN {wrong} THEN {column} END)"


def _check_value(value: Any, new: Scalar, where: str) -> None:
    if value is None:
        return
    try:
        found = element_value(new, value)
    except ChangeError as error:
        raise QueryError(f"{where} cannot be widened: {error.what}", hint=error.hint) from error
    if found != value:
        raise QueryError(f"{where} has {brief(value)}, which no {new.name} is", hint="widen it to Decimal")


def widened_name(change: Reshape | None) -> str:
    """A column that is widened, as the refusal names it."""
    return repr(".".join(change.path)) if isinstance(change, WidenColumn) else "a column"
