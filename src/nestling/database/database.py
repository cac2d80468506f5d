"""The database: define tables and views, change rows, read views."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Unpack, overload

from nestling.calculus.terms import Expr
from nestling.calculus.traverse import relations
from nestling.calculus.types import show_type
from nestling.database import accept, arguments
from nestling.database.accept import known
from nestling.database.accept_objects import check_types
from nestling.database.closed import Closed
from nestling.database.declaring import Asked, table_def
from nestling.database.definitions import HIDDEN, TableDef, ViewDef
from nestling.database.durable import DatabaseFile
from nestling.database.engines import for_reading, on_spark
from nestling.database.fed import merged_name
from nestling.database.inline import inline_views
from nestling.database.inspect import stats
from nestling.database.languages import in_spark, is_frame, reader
from nestling.database.memory import bytes_of
from nestling.database.names import check_name, check_table_names, check_view_names
from nestling.database.notebook import listed_html
from nestling.database.recursing import check_unread
from nestling.database.row_state import RowState
from nestling.database.script import run_script
from nestling.database.table import Table
from nestling.database.view import View
from nestling.database.view_options import ViewOptions
from nestling.database.xml.database import DocumentDatabase
from nestling.database.xml.defining import (
    define_xquery,
    drop_document,
    drop_xquery,
)
from nestling.database.xml.stats import xquery_stats
from nestling.database.xml.view import XQueryView, verify_xqueries
from nestling.depth import room
from nestling.errors import QueryError
from nestling.frontend.catalog import Catalog
from nestling.frontend.schema import Unresolved
from nestling.frontend.view_query import ViewQuery
from nestling.transform.normalize import normalize


class Database(DocumentDatabase):
    """Tables and the views over them, in this process.

    >>> db = Database()
    >>> M = db.table("M", {"name": str, "gen": str}, key="name")
    >>> same = db.view(
    ...     "same", "[(m.name, [n.name for n in M if n.gen == m.gen]) for m in M]", language="python"
    ... )
    >>> _ = db.insert("M", [{"name": "Drive", "gen": "Drama"}, ("Jarhead", "Drama")])
    >>> sorted(same)
    [Row(name='Drive', _1=['Drive', 'Jarhead']), Row(name='Jarhead', _1=['Drive', 'Jarhead'])]
    """

    def __new__(cls, *args: Any, spark: Any = None, readonly: bool = False, **options: Any) -> Database:
        """With ``spark``, a database whose work and state are Spark's, in the folder ``path``."""
        found = on_spark(cls) if spark is not None else cls
        if spark is None and arguments.flag_argument(readonly, "readonly"):
            found = for_reading(cls)
        return super().__new__(found)

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        memory: int | str | None = None,
        spark: Any = None,
        readonly: bool = False,
    ) -> None:
        """``path``: the file it is kept in; without one, or as ``":memory:"``, it lives and ends with the process.

        ``memory``: what views may take besides the tables, in bytes or as ``"512MB"``; they then store less.
        ``readonly``: follow a file that another process may be writing, and change nothing: see ``follow``."""
        state = RowState()
        super().__init__(state)
        state.memory = bytes_of(memory)
        if path is not None and path != ":memory:":
            self._load(DatabaseFile(arguments.path_argument(path)), state)

    @room()
    def _load(self, file: DatabaseFile, state: RowState) -> None:
        try:
            file.load(state)
        except BaseException:
            file.close()
            raise
        self._file, self.version = file, file.version
        self._numbers = file.numbers

    # -- what there is

    @property
    def tables(self) -> Mapping[str, Table]:
        """The tables by name."""
        self._access.mend()
        return {name: Table(self, name) for name in tuple(self._state.tables) if not name.startswith(HIDDEN)}

    @property
    def views(self) -> Mapping[str, Any]:
        """The views by name; those in XQuery are read as XML."""
        self._access.mend()
        plain = {
            name: View(self, name)
            for name in tuple(self._state.views)
            if name not in self._constraints and not name.startswith(HIDDEN)
        }
        return plain | {name: XQueryView(self, name) for name in tuple(self._state.xqueries)}

    @property
    def _constraints(self) -> Mapping[str, ViewDef]:
        """The queries that must stay empty."""
        return self._state.views.constraints

    def table(  # noqa: PLR0913 (one keyword per thing that a table declares)
        self,
        name: str,
        schema: object = None,
        key: str | Iterable[str] | None = None,
        *,
        references: Mapping[str | tuple[str, ...], str] | None = None,
        append_only: bool = False,
        inverse: Mapping[str, str] | None = None,
        extends: str | None = None,
        on_delete: str | Mapping[str | tuple[str, ...], str] | None = None,
        fixed: bool | str | Iterable[str] | None = None,
        ordered: str | Iterable[str] | None = None,
    ) -> Table:
        """Declare a table; without a schema, find it.

        ``references`` maps paths to the table whose key they hold, as ``nl.Ref[C]`` does in a class; ``on_delete``
        says what happens to them when that row goes: ``"refuse"``, ``"nil"``, ``"cascade"`` or ``"dangle"``.
        ``inverse`` names what refers to a row, as ``nl.Inverse[…]`` does; ``extends`` the table of the superclass.
        ``append_only`` refuses deletions and updates, ``fixed`` updates of all or some columns, as a frozen dataclass
        does. What is declared is checked, and makes views cheaper to maintain. ``ordered`` names the arrays whose order
        counts, as ``nl.List[T]`` does; others are bags.
        """
        arguments.name_argument(name, "table")
        if schema is None:
            if name not in self.tables:
                if name in self._state.waiting:
                    return Table(self, name)
                raise QueryError(f"there is no table {name!r}", hint=known(self.tables))
            return Table(self, name)
        asked = Asked(
            name,
            schema,
            arguments.key_argument(key),
            arguments.references_argument(references),
            arguments.flag_argument(append_only, "append_only"),
            arguments.inverse_argument(inverse),
            arguments.extends_argument(extends),
            arguments.on_delete_argument(on_delete),
            arguments.fixed_argument(fixed),
            arguments.ordered_argument(ordered),
        )
        return self._asked(asked)

    def _asked(self, asked: Asked) -> Table:
        """Declare a table, or let it wait for the class that it refers to; then those that waited for it."""
        state = self._state
        state.waiting.pop(asked.name, None)
        try:
            table = self._declare(table_def(asked, state.tables, state.waiting))
        except Unresolved as unresolved:
            check_name(asked.name, "a table")
            state.waiting[asked.name] = replace(asked, target=unresolved.target)
            return Table(self, asked.name)
        for waiting in list(state.waiting.values()):
            if waiting.target in (asked.class_name, asked.name):
                self._asked(waiting)
        return table

    def _declare(self, definition: TableDef) -> Table:
        """Declare a table whose types are known already."""
        name = definition.name
        check_table_names(definition)
        check_name(name, "a table", HIDDEN)
        if self._state.tables.get(name) == definition:
            # A program that opens its file again declares what is there, maybe now with a class.
            if definition.class_name:
                self._state.tables[name], self._state._objects = definition, None
            return Table(self, name)
        with self._access.defining():
            accept.check_table(definition, self._state.tables)
            check_types(definition, self._state.tables)
            if name in self._state.tables and self._state.tables[name] != definition:
                raise accept.other_table(self._state.tables[name], definition)
            if name not in self._state.tables:
                self._check_name(name)
                self._define("table", definition, lambda: self._state.add_table(definition))
        return Table(self, name)

    # -- definitions

    @overload
    def view(self, name: Callable[..., Any], query: None = None, **options: Unpack[ViewOptions]) -> View: ...
    @overload
    def view(
        self, name: None = None, query: None = None, **options: Unpack[ViewOptions]
    ) -> Callable[[Callable[..., Any]], View]: ...
    @overload
    def view(
        self,
        name: str,
        query: str,
        *,
        language: Literal["xquery"],
        refresh: str = ...,
        store: str = ...,
        strict: bool | None = ...,
        context: str | None = ...,
        replace: bool = ...,
        dialect: None = ...,
    ) -> XQueryView: ...
    @overload
    def view(
        self,
        name: str,
        query: Callable[..., Any] | str | Expr | Any,
        *,
        language: Literal["sql", "python", "oql"] = "sql",
        refresh: str = "eager",
        store: str = "auto",
        strict: bool | None = None,
        context: str | None = None,
        replace: bool = False,
        dialect: str | None = None,
    ) -> View: ...
    @overload
    def view(self, name: str, query: Any, **options: Unpack[ViewOptions]) -> Any: ...

    @arguments.within_depth()
    def view(  # noqa: PLR0913 (one keyword per thing that a view says)
        self,
        name: str | Callable[..., Any] | None = None,
        query: Callable[..., Any] | str | Expr | None = None,
        *,
        language: str = "sql",
        refresh: str = "eager",
        store: str = "auto",
        strict: bool | None = None,
        context: str | None = None,
        replace: bool = False,
        dialect: str | None = None,
    ) -> Any:
        """Define a view: ``@db.view`` on a function, or a name with a callable or a text in a ``language``.

        The languages are ``"sql"``, ``"python"`` and ``"oql"``; a view that ends with an order is read in it.
        ``refresh`` says when it follows its tables: ``"eager"``, at every change; ``"hybrid"``, the same but for
        conditions on aggregates, which wait for a reading; ``"lazy"``, when it is read. ``strict=True`` refuses a view
        that is not maintained within its stated cost. One that every read would evaluate warns (``EvaluatedOnRead``),
        unless ``strict=False`` or ``store="none"`` says that this is meant. ``replace=True`` puts it in the place
        of the view of this name, and views over that over this. ``context``: the document that ``/`` is in an XQuery.
        ``dialect``: whose SQL the text is, ``"postgres"`` or ``"duckdb"`` and others, where it is not Spark's.
        """
        options = {
            "language": language,
            "refresh": refresh,
            "store": store,
            "strict": strict,
            "context": context,
            "replace": replace,
            "dialect": dialect,
        }
        if name is None:
            return lambda function: self.view(function, **options)  # type: ignore[arg-type]
        if callable(name):
            return self.view(accept.name_of(name), name, **options)  # type: ignore[arg-type]
        check_name(arguments.name_argument(name, "view"), "a view", "·" + HIDDEN)
        accept.check_options(refresh, store)
        arguments.flag_argument(strict is not None and strict, "strict")
        arguments.flag_argument(replace, "replace")
        if dialect is not None:
            query = in_spark(query, language, dialect)
        if language == "xquery":
            return define_xquery(self, name, query, context, refresh, store, strict)
        with self._access.defining(), self._sweeping():
            if name in self._state.tables:
                self._check_name(name)
            definition = self._view_def(name, query, language, refresh, store)
            if name in self._state.definitions and name not in self._constraints:
                if not accept.is_same_view(self._state.definitions[name], definition):
                    if replace:
                        self._check_steady(definition, strict)
                        self._replace_view(definition, strict)
                        return View(self, name)
                    raise accept.other_view(self._state.definitions[name], definition)
                return View(self, name)
            self._check_name(name)
            self._check_steady(definition, strict)
            self._define("view", definition, lambda: self._state.add_view(definition, strict=strict))
        return View(self, name)

    @arguments.within_depth()
    def constraint(self, name: str, query: Callable[..., Any] | str, *, language: str = "sql") -> None:
        """Declare a query that must stay empty; a change that would fill it is refused."""
        arguments.name_argument(name, "constraint")
        with self._access.defining(), self._sweeping():
            definition = self._view_def(name, query, language, "eager", "auto")
            if name in self._constraints and accept.is_same_view(self._constraints[name], definition):
                return
            self._check_name(name)
            self._define("constraint", definition, lambda: self._state.add_view(definition, constraint=True))

    @arguments.within_depth()
    def sql(self, script: str, params: Sequence[Any] | Mapping[str, Any] = ()) -> Any:
        """Run SQL statements, each a change of its own; what the last yields. A SELECT is computed once, in order.

        ``params`` are the values of the marks ``?``, one after the other, or by name those of ``:name``. A value never
        becomes part of the text.
        """
        return run_script(self, arguments.text_argument(script), arguments.params_argument(params))

    def drop(self, name: str) -> None:
        """Forget a view, a constraint, or a table or document that no view reads."""
        arguments.name_argument(name, "table")
        with self._access.defining(), self._sweeping():
            if name in self._state.xqueries:
                drop_xquery(self, name)
                return
            if name in self._documents.names:
                drop_document(self, name)
                return
            check_name(name, "what is dropped", HIDDEN)
            if self._state.waiting.pop(name, None) is not None:
                return
            if name in self._state.views:
                self._subscribers.evaluate_held(name)
                self._forget(
                    "constraint" if name in self._constraints else "view", name, self._state.drop_view
                )
                self._subscribers.forget(name)
                return
            check_unread(self._state, name, "dropped")
            accept.check_droppable(name, self._state.tables, self._state.definitions)
            self._forget("table", name, self._state.drop_table, merged_name(name))

    def _view_def(self, name: str, query: Any, language: str, refresh: str, store: str) -> ViewDef:
        found = self._recurring(self._translated(query, language))
        definitions = self._state.definitions
        over_tables = inline_views(found.expr, definitions)
        check_view_names(name, over_tables)
        written = normalize(found.expr) if relations(found.expr) & definitions.keys() else None
        return ViewDef(name, over_tables, refresh, store, found.orders, written)

    def _translated(self, query: Any, language: str) -> ViewQuery:
        read = self._read_frame if is_frame(query) else None
        return (read or reader(query, language))(query, self._catalog())

    def _catalog(self) -> Catalog:
        """What a query may read."""
        definitions = self._state.definitions.items()
        catalog = Catalog({name: view.element for name, view in definitions if not name.startswith(HIDDEN)})
        for name, table in self._state.tables.items():
            if not name.startswith(HIDDEN):
                catalog.declare(name, self._state.objects.entry(table))
        catalog.waiting = {name: (asked.why, asked.hint) for name, asked in self._state.waiting.items()}
        return catalog

    # -- what is kept

    def stats(self) -> dict[str, dict[str, Any]]:
        """Per view: rows, entries and rough bytes of its maps, statements per row of each table it follows."""
        with self._access.reading():
            plain = {name: stats(self._state, name) for name in self.views if name in self._state.views}
            return plain | {name: xquery_stats(self._state, name) for name in self._state.xqueries}

    def verify(self, maps: bool = False) -> None:
        """Verify every view, and with ``maps`` all that is stored for it."""
        plain = [name for name in self.views if name not in self._state.xqueries]
        self._verify(plain, arguments.flag_argument(maps, "maps"))
        verify_xqueries(self, tuple(self._state.xqueries), maps)

    # -- closing

    def close(self) -> None:
        """End the use of the database; a file is free for others then."""
        with self._access.writing, self._access.lock:
            if self._file is not None:
                self._file.close()
            self._state = Closed()  # type: ignore[assignment]  # whatever it is asked, it says so

    def __enter__(self) -> Database:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        if isinstance(self._state, Closed):
            return "Database(closed)"
        tables = [f"{name}: {show_type(self._state.tables[name].record)}" for name in self.tables]
        return f"Database({'; '.join([*tables, *(f'{name}: document' for name in self._documents.names)])})"

    def _repr_html_(self) -> str:
        """Tables and views with their types, for a notebook."""
        if isinstance(self._state, Closed):
            return listed_html(repr(self), (), ())
        lines = [(name, "table", show_type(table.record)) for name, table in self.tables.items()]
        lines += [(name, "document", "") for name in self._documents.names]
        lines += [
            (name, "view", show_type(view.element) if isinstance(view, View) else "XQuery")
            for name, view in self.views.items()
        ]
        return listed_html(f"Database, version {self.version}", ("name", "what", "type"), lines)
