"""Changes of mind: columns that come, go, are renamed or widened, names that change, views that are defined otherwise.

Law: afterwards every view that stays has the answer that it would have if everything had been defined so from the
beginning. What cannot follow is refused before anything changes, with the names that stand in the way. In a file the
definitions and all that is under them are stored at once, so that one that is cut off has left the old or the new.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from nestling.calculus.parse import parse
from nestling.calculus.show import show
from nestling.calculus.terms import Expr, Relation
from nestling.calculus.traverse import map_children, relations
from nestling.database import accept, arguments
from nestling.database.backing import Backing
from nestling.database.definitions import HIDDEN, TableDef, ViewDef
from nestling.database.fed import merged_name
from nestling.database.inline import inline_views
from nestling.database.names import check_name, check_table_names
from nestling.database.reads import reads, reads_around, renamed
from nestling.database.recursing import Recursing, check_unread
from nestling.database.renamed import renamed_column, renamed_table, without_column
from nestling.database.reshape import (
    AddColumn,
    DropColumn,
    RenameColumn,
    Reshape,
    WidenColumn,
    as_before,
    converted,
    reshaped,
)
from nestling.database.rows import Row, Shredder
from nestling.database.texts import WIDTH, relation_types
from nestling.database.verdict import judge
from nestling.errors import UNDEFINED, QueryError
from nestling.progress import PATIENCE, shown
from nestling.transform.normalize import normalize
from nestling.transform.pipeline import PASSES, run
from nestling.values.bag import ZBag


@dataclass(frozen=True)
class Moved:
    """Rows that are stored anew: those of a table as it was, and how they change."""

    old: TableDef
    change: Reshape | None = None


@dataclass
class Evolution:
    """What is defined afterwards: all tables, the views that change, in their order, and what is gone.

    ``moved``: by table the rows that are stored anew.
    """

    tables: dict[str, TableDef]
    views: list[ViewDef] = field(default_factory=list)
    moved: dict[str, Moved] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)
    #: What is asked of how a view is maintained, where somebody does.
    strict: dict[str, bool | None] = field(default_factory=dict)


class Evolving(Recursing):
    """A database whose definitions change while there is something under them."""

    # -- columns

    def _reshape(self, name: str, change: Reshape) -> None:
        """Change the columns of a table, its rows, and what reads it."""
        with self._defining("columns"):
            state = self._state
            old = state.table(name)
            check_unread(state, name, "changed")
            new = self._new_table(old, change)
            tables = {**state.tables, name: new}
            accept.check_table(new, tables)
            check_table_names(new)
            readers = [view for view in state.definitions.values() if name in relations(view.query)]
            views = self._following(old, tables, change, readers)
            self._evolve(Evolution(tables, views, {name: Moved(old, change)}))

    def _new_table(self, old: TableDef, change: Reshape) -> TableDef:
        record = reshaped(old.record, change)
        self._check_alone(old)
        match change:
            case AddColumn():
                return replace(old, record=record)
            case DropColumn(path):
                return without_column(replace(old, record=record), path, self._state.tables)
            case RenameColumn(path, name):
                return renamed_column(replace(old, record=record), path, name, self._state.tables)
            case WidenColumn(path):
                self._check_unreferenced(old, path)
                if path[0] in old.key and merged_name(old.name) in self._state.tables:
                    raise QueryError(
                        f"{'.'.join(path)} is in the key by which {old.name} is merged in a sequence",
                        hint="a key stays as it is",
                    )
                return replace(old, record=record)

    def _check_alone(self, table: TableDef) -> None:
        """Refuse to change a table that others are made of."""
        queries = [
            name
            for name, query in self._state.xqueries.items()
            if table.name in [each.name for each in query.tables]
        ]
        if queries:
            raise QueryError(
                f"{table.name} is read by {', '.join(queries)}, in XQuery",
                hint="drop these first, and define them again",
            )
        family = [other.name for other in self._state.tables.values() if other.extends == table.name]
        if table.extends or family:
            names = ", ".join(family) or table.extends
            raise QueryError(
                f"{table.name} shares its columns with {names}", hint="declare the tables of a family anew"
            )

    def _check_unreferenced(self, table: TableDef, path: tuple[str, ...]) -> None:
        """A reference has the type of the key that it leads to."""
        own = [each.text for each in table.references if path in each.paths]
        others = [
            o.name for o in self._state.tables.values() for each in o.references if each.table == table.name
        ]
        if own or (others and path[0] in table.key):
            names = ", ".join(own) or ", ".join(dict.fromkeys(others))
            raise QueryError(
                f"{'.'.join(path)} of {table.name} has the type of a key, by {names}",
                hint="a key stays as it is",
            )

    def _following(
        self, old: TableDef, tables: dict[str, TableDef], change: Reshape, readers: list[ViewDef]
    ) -> list[ViewDef]:
        """The views that read a table, over the table as it is afterwards."""
        if isinstance(change, DropColumn):
            blocking = [v.name for v in readers if reads(run(v.query, PASSES), old.name, change.path)]
            if blocking:
                raise QueryError(
                    f"{'.'.join(change.path)} of {old.name} is read by {', '.join(blocking)}",
                    hint="drop these first, or define them otherwise: db.view(name, query, replace=True)",
                )
        if isinstance(change, DropColumn | WidenColumn):
            return _read_again(readers, tables, self._state.definitions)
        types = relation_types(tables, self._state.definitions)
        before = as_before(old.record, Relation(old.name, types[old.name]), change)

        def follow(query: Expr) -> Expr:
            if reads_around(query, old.name, change.path):
                return _replaced(query, lambda name: before if name == old.name else None)
            if isinstance(change, RenameColumn):
                query = renamed(query, old.name, change.path, change.name)
            return parse(show(query, width=WIDTH), types)

        return [_followed(view, follow) for view in readers]

    # -- names

    def rename(self, old: str, new: str) -> None:
        """Give a table, a view or a constraint another name; what reads it follows."""
        check_name(arguments.name_argument(old, "table"), "what is renamed", HIDDEN)
        check_name(arguments.name_argument(new, "table"), "a new name", "·" + HIDDEN)
        with self._defining("names"):
            state = self._state
            check_unread(state, old, "renamed")
            if old in state.definitions:
                self._check_name(new)
                self._rename_view(old, new)
            elif old in state.tables:
                self._check_name(new)
                self._rename_table(old, new)
            else:
                raise QueryError(f"there is no {old!r}", hint=accept.known([*state.tables, *state.views]))

    def _rename_view(self, old: str, new: str) -> None:
        state = self._state
        if state.views[old].levels is not None or state.views[old].is_told:
            raise QueryError(f"somebody hears of the changes of {old}", hint="cancel the subscriptions first")
        found = [replace(state.definitions[old], name=new)]
        types = relation_types(state.tables, {**state.definitions, new: found[0]})
        for name in over_it(old, state.definitions):  # all of them: each is defined after what it reads
            view = state.definitions[name]
            found.append(_over(view, lambda name: Relation(new, types[new]) if name == old else None))
        self._evolve(Evolution(dict(state.tables), found, gone=[old]))

    def _rename_table(self, old: str, new: str) -> None:
        state = self._state
        if old in self._documents.names or old in state.waiting:
            raise QueryError(
                f"{old} is no table yet, or a document", hint="tables and views have other names"
            )
        self._check_alone(state.tables[old])
        tables = renamed_table(state.tables, old, new)
        moved, gone = {new: Moved(state.tables[old])}, [old]
        if (memory := merged_name(old)) in tables:
            tables = renamed_table(tables, memory, merged_name(new))
            moved[merged_name(new)] = Moved(state.tables[memory])
            gone.append(memory)
        types = relation_types(tables)
        views = [
            _over(view, lambda name: Relation(new, types[new]) if name == old else None)
            for view in state.definitions.values()
            if old in relations(view.query)
        ]
        self._evolve(Evolution(tables, views, moved, gone))

    # -- views

    def _replace_view(self, view: ViewDef, strict: bool | None = False) -> None:
        """Define a view otherwise, and those over it over the new one."""
        state = self._state
        check_unread(state, view.name, "defined otherwise")
        if view.name in view.reads_views or view.name in relations(view.query):
            raise QueryError(f"{view.name} reads itself", hint="give the new view another name")
        over = over_it(view.name, state.definitions)
        if circle := [name for name in over if name in view.reads_views]:
            raise QueryError(
                f"{view.name} would read {', '.join(circle)}, which read it",
                hint="give the new view another name",
            )
        definitions = {**state.definitions, view.name: view}
        found = [view]
        for name in over:
            [again] = _read_again([state.definitions[name]], state.tables, definitions, because=view.name)
            definitions[name] = again
            found.append(again)
        self._evolve(Evolution(dict(state.tables), found, strict={view.name: strict}))

    # -- all at once

    def _evolve(self, evolution: Evolution) -> None:
        state = self._state
        names = [view.name for view in evolution.views]
        for name in names:
            self._subscribers.evaluate_held(name)
        kinds = {name: "constraint" if state.views[name].is_constraint else "view" for name in state.views}
        renamed = {new: old for new, old in zip(names[:1], evolution.gone, strict=False) if old in kinds}
        is_constraint = {name: kinds.get(renamed.get(name, name)) == "constraint" for name in names}

        before = dict(state.tables)

        def store(file: Backing) -> None:
            new: list[tuple[str, TableDef | ViewDef]] = [
                # Sizes are no part of a type: what is another object may differ in these alone.
                ("table", table)
                for name, table in evolution.tables.items()
                if before.get(name) is not table
            ]
            new += [("constraint" if is_constraint[view.name] else "view", view) for view in evolution.views]
            file.redefine(new, self._gone(evolution, kinds), state)

        self._state.version = self.version
        with shown("changing definitions", PATIENCE):
            self._redefine(lambda: self._install(evolution, is_constraint), store)
        state.looked_at, state.patience = 0, 0
        for name in evolution.gone:
            self._subscribers.forget(name)

    def _gone(self, evolution: Evolution, kinds: Mapping[str, str]) -> list[tuple[str, str]]:
        """What a file forgets before it stores the rest: views are stored anew, after all that they may read now."""
        names = [*evolution.gone, *(view.name for view in evolution.views if view.name in kinds)]
        return [(kinds.get(name, "table"), name) for name in dict.fromkeys(names)]

    def _install(self, evolution: Evolution, is_constraint: Mapping[str, bool]) -> None:
        """An engine for what is defined now: rows first, then the maps of the views that change."""
        state = self._state
        watched = {name for name, view in state.views.items() if view.levels is not None}
        rows = self._flat_rows(evolution)
        state.tables, state._objects = evolution.tables, None
        for name in [*evolution.gone, *(view.name for view in evolution.views)]:
            if name in state.views:
                state.views = state.views.without(name)
        state.engine = state.engines.computed(state.compiled.of(state.declarations(), state.views), rows)
        for view in evolution.views:
            state.define(view, constraint=is_constraint[view.name])
            if view.name in evolution.strict:
                judge(state.views[view.name], evolution.strict[view.name])
        self._check_computed(evolution.views)
        for view in evolution.views:
            if is_constraint[view.name] and (bad := state.offending(view.name)):
                raise QueryError(f"{view.name} would forbid {bad!r:.200}", hint="drop it first")
            if view.name in watched:
                self._logging.keep(view.name, self._logging.levels(view.name))
                self._logging.untaken(view.name)

    def _check_computed(self, views: Iterable[ViewDef]) -> None:
        state = self._state
        try:
            state.reinstall()
            state.engine.check()
            absent = [(v.name, state.absent(v.name)) for v in views if v.refresh != "lazy"]
        except UNDEFINED as error:
            absent = [("a view", str(error))]
        for name, why in absent:
            if why:
                raise QueryError(f"{name} cannot be computed then: {why}", hint="drop it first")

    def _flat_rows(self, evolution: Evolution) -> dict[str, dict[Row, int]]:
        """All flat rows: those that stay, and those that are shredded anew."""
        state = self._state
        found: dict[str, dict[Row, int]] = {}
        for table in evolution.tables.values():
            if table.name not in evolution.moved:
                found |= {name: state.engine.table(name) for name in table.declarations}
                continue
            found |= {name: {} for name in table.declarations}
            shredder = Shredder(table, self._numbers)
            for row, times in _rows_after(state.rows, evolution.moved[table.name]).items():
                for event in shredder.insertion(row, times):
                    counts = found[event.table]
                    counts[event.row] = counts.get(event.row, 0) + event.times
        return found


def _rows_after(rows: Callable[[str], ZBag], moved: Moved) -> ZBag:
    """The rows that a table has afterwards, nested."""
    found = rows(moved.old.name)
    if moved.change is None:
        return found
    convert = converted(moved.old.record, moved.change)
    return ZBag([(convert(row), times) for row, times in found.items()])


def _over(view: ViewDef, instead: Callable[[str], Expr | None]) -> ViewDef:
    """A view that reads something else under some names."""
    return _followed(view, lambda query: _replaced(query, instead))


def _followed(view: ViewDef, follow: Callable[[Expr], Expr]) -> ViewDef:
    written = None if view.written is None else follow(view.written)
    return replace(view, query=follow(view.query), written=written)


def _replaced(query: Expr, instead: Callable[[str], Expr | None]) -> Expr:
    """``query`` with other expressions in the place of some relations."""

    def replaced(node: Any) -> Any:
        if isinstance(node, Relation) and (found := instead(node.name)) is not None:
            return found
        return map_children(node, replaced)

    return normalize(replaced(query))


def over_it(name: str, views: Mapping[str, ViewDef]) -> list[str]:
    """The views over a view, and over these, in the order in which they were defined."""
    found = {name}
    for view in views.values():
        if view.reads_views & found:
            found.add(view.name)
    return [other for other in views if other in found and other != name]


def _read_again(
    readers: Iterable[ViewDef],
    tables: dict[str, TableDef],
    definitions: Mapping[str, ViewDef],
    because: str = "",
) -> list[ViewDef]:
    """The same texts over other types; those that make no sense there stand in the way."""
    found: dict[str, ViewDef] = {}
    blocking: list[tuple[str, str]] = []
    for view in readers:
        known = {**definitions, **found}
        types = relation_types(tables, known)
        try:
            if view.written is None:
                again = replace(view, query=parse(show(view.query, width=WIDTH), types))
            else:
                written = parse(show(view.written, width=WIDTH), types)
                again = replace(view, query=inline_views(written, known), written=written)
            again.element  # noqa: B018 (which has a type, or is refused)
            found[view.name] = again
        except QueryError as error:
            blocking.append((view.name, error.what))
    if blocking:
        names = ", ".join(name for name, _ in blocking)
        raise QueryError(
            f"{names} cannot follow{f' {because}' if because else ''}: {blocking[0][1]}",
            hint="drop these first, and define them again afterwards",
        )
    return list(found.values())
