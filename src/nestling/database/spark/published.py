"""Tables and views under their names in the user's session, by SQL text over the names of their sources.

Spark keeps the text of such a view and analyses it when it is read, with the settings of the session that made it: so
it is made in the engine's session and handed to the user's. After a change only the sources that changed get new rows;
the texts stay until the program is another.

Law: a published name answers as of the last change.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from nestling.database.spark.declared import declared_columns
from nestling.engine.spark.frames import table_text, view_text
from nestling.engine.spark.leaves import Leaves
from nestling.engine.spark.remote import is_connect
from nestling.errors import NestlingError, QueryError
from nestling.frontend.dataframe import marker
from nestling.quoting import sql_name

if TYPE_CHECKING:
    from nestling.database.spark.state import SparkState


class Published:
    """The names that the user's session ``spark`` knows; ``frame`` gives a table or view as a DataFrame there."""

    def __init__(self, state: SparkState, spark: Any, place: str, frame: Callable[[str], Any]) -> None:
        self.state, self.spark, self.place, self._frame = state, spark, place, frame
        self.names: dict[str, None] = {}
        #: The program that the text of a name is of, and the sources of that program.
        self._texts: dict[str, object] = {}
        self._leaves: Leaves | None = None
        #: Over Connect: by which name all sessions know a table or a view.
        self._shared: dict[str, str] = {}
        self._heads: dict[str, str | None] = {}

    def publish(self, names: Iterable[str]) -> None:
        """Let the session know tables and views by their names."""
        for name in names:
            if "${" in name:
                raise QueryError(
                    f"{name!r} cannot be published: a session reads ${{…}} as the name of a setting",
                    hint="db.view_df(name).createOrReplaceTempView(…) under another name",
                )
            self._let_know(name)
            self.names[name] = None
        self._follow()

    def refresh(self) -> None:
        """Let the names answer as of now; what was dropped is forgotten."""
        if not self.names:
            return
        there = [name for name in self.names if name in self.state.tables or name in self.state.views]
        for name in self.names.keys() - set(there):
            self._drop(name)
        self.names = dict.fromkeys(there)
        for name in there:
            try:
                self._let_know(name)
            except NestlingError:  # a lazy view that has no value now is not there, and not as it was
                self._drop(name)
        self._follow()

    def _drop(self, name: str) -> None:
        self.spark.catalog.dropTempView(name)
        self._texts.pop(name, None)
        if name in self._shared:
            self.spark.catalog.dropGlobalTempView(self._shared.pop(name))

    def _follow(self) -> None:
        if self._leaves is not None:
            self._leaves.follow(self.state.running.now)

    def _let_know(self, name: str) -> None:
        """Register a name, unless its text is there; a view that waits for its readers has one now."""
        if name in self.state.views and self.state.computed(name) is not None:
            # Its maps are queries of this moment, and no sources.
            self._frame(name).createOrReplaceTempView(sql_name(name))
            return
        program = self._up_to_date(name)
        if self._texts.get(name) is not program:
            self._register(name, program)
            self._texts[name] = program

    def _up_to_date(self, name: str) -> Any:
        """The program that reads a table or a view, nothing waiting."""
        if name not in self.state.views:
            self.state.table(name)
            return self.state.running.program
        with self.state.reading(name) as found:
            return found.program

    def _register(self, name: str, program: Any) -> None:
        running, element = self.state.running, self.state.element(name)
        leaves = self._sources()
        is_table = name in self.state.tables
        text = table_text(program, leaves, name, element) if is_table else view_text(program, leaves, name)
        leaves.follow(running.now)
        mark = sql_name(marker(self.place, name))
        rows = f"SELECT * FROM (SELECT {declared_columns(element)} FROM ({text})) AS {mark}"
        if is_connect(self.spark):
            self._register_by_name(name, rows)
            return
        own = "nestling_published"
        running.session.sql(f"CREATE OR REPLACE TEMPORARY VIEW {own} AS {rows}")
        made = running.session._jsparkSession.sessionState().catalog().getRawTempView(own).get()
        self.spark._jsparkSession.sessionState().catalog().createTempView(name, made, True)

    def _register_by_name(self, name: str, rows: str) -> None:
        """By a name that all sessions of the server know: its text keeps the settings of ours."""
        found = self._shared.setdefault(name, f"nestling_published_{uuid4().hex}")
        self.state.running.session.sql(f"CREATE OR REPLACE GLOBAL TEMPORARY VIEW {found} AS {rows}")
        place = self.spark.conf.get("spark.sql.globalTempDatabase", "global_temp")
        self.spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {sql_name(name)} AS SELECT * FROM {place}.{found}")
        self._heads[name] = analysed_head(self.spark, name, found)

    def is_ours(self, name: str, session: Any) -> bool:
        """Whether a session of Connect takes a name for what was published, and for nothing made of it."""
        own = self._shared.get(name)
        head = None if own is None else analysed_head(session, name, own)
        return head is not None and head == self._heads.get(name)

    def _sources(self) -> Leaves:
        """The sources of the engine as it is: another engine may give a name to another source."""
        running = self.state.running
        if self._leaves is None or self._leaves.layouts is not running.layouts:
            if self._leaves is not None:
                self._leaves.forget()
            self._leaves = Leaves(running.session, running.layouts)
        return self._leaves


def analysed_head(session: Any, name: str, found: str) -> str | None:
    """What a session of Connect makes of a name, from the top down to the view ``found``; None: it is not made of that.

    Plans that are cut short say nothing.
    """
    shown = session.table(sql_name(name))._explain_string(extended=True)
    tree = shown.partition("== Analyzed Logical Plan ==")[2].partition("\n==")[0]
    head, is_there, _ = tree.partition(found)
    return re.sub(r"#\d+L?", "", head) if is_there and "more fields" not in head else None
