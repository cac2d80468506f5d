"""How what is defined changes: here and in the file, or in neither."""

from __future__ import annotations

from collections.abc import Callable

from nestling.database.backing import Backing
from nestling.database.core import Core
from nestling.database.definitions import TableDef, ViewDef
from nestling.database.memory import keep_within_memory
from nestling.database.row_logs import RowLogging
from nestling.database.row_state import RowState
from nestling.database.xml.definition import public
from nestling.errors import QueryError
from nestling.progress import PATIENCE, shown


class Definer(Core):
    """A database whose definitions change."""

    #: Of a database in this process; one on Spark has others.
    _state: RowState
    _logging: RowLogging

    def _define(self, kind: str, definition: TableDef | ViewDef, action: Callable[[], None]) -> None:
        self._state.version = self.version
        with shown(f"{kind} {public(definition.name)}", PATIENCE):
            self._redefine(action, lambda file: file.define(kind, definition, self._state))
        self._state.looked_at, self._state.patience = 0, 0
        if self._state.memory is not None:
            keep_within_memory(self._logging, self._file)

    def _forget(self, kind: str, name: str, action: Callable[[str], None], beside: str = "") -> None:
        """Forget ``name``, after the table ``beside`` it if there is one."""
        names = [each for each in (beside, name) if each == name or each in self._state.tables]

        def forget() -> None:
            for each in names:
                action(each)

        gone = [(kind, each) for each in names]
        self._redefine(forget, lambda file: file.redefine([], gone, self._state))

    def _redefine(self, action: Callable[[], None], store: Callable[[Backing], None]) -> None:
        """Change what is defined, here and in the file, or in neither, whatever is raised."""
        file = self._file
        self._references.forget()
        self._documents.forget()
        self._seen.forget()
        before = after = self._state.checkpoint()
        edits = file.edits if file is not None else 0
        try:
            if file is None:
                action()
                return
            with file.doubting():
                action()
                after = self._state.checkpoint()
                store(file)
        except BaseException:
            # An interrupt may come after the file has it.
            self._state.go_back_to(after if file is not None and file.edits != edits else before)
            raise

    def _check_name(self, name: str) -> None:
        state = self._state
        taken = (state.tables, state.views, state.waiting, state.xqueries, self._documents.names)
        if any(name in there for there in taken):
            raise QueryError(f"{name!r} is already defined", hint=f"db.drop({name!r}) first")
