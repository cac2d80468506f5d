"""The changes that a database takes: each is a transaction of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from nestling.database import arguments
from nestling.database.arguments import NOT_GIVEN
from nestling.database.definitions import TableDef
from nestling.database.door import KEY as BY_KEY
from nestling.database.door import all_alike
from nestling.database.evolving import Evolving
from nestling.database.fed import ONCE, once_argument
from nestling.database.merging import Merging
from nestling.database.refresh import Refresh
from nestling.database.seen import MANY, SeenRows, is_followed, note_all
from nestling.database.transaction import Transaction
from nestling.frontend.schema import readable
from nestling.progress import MANY as LONG
from nestling.progress import loading


class Writing(Evolving):
    """A database whose rows change."""

    def insert(self, table: str, rows: Iterable[object]) -> Refresh:
        """Add rows: dicts, tuples, dataclasses."""
        if type(table) is str and (door := self._doors.get(table) or self._doors.at(table)) is not None:
            rows = rows if type(rows) is list else readable(rows)
            if type(rows) is list and len(rows) < LONG:
                done = door(rows, 1)
            else:
                with loading(_told("loading", table), rows):
                    done = self._doors.take(door, table, rows, 1)
            if done is not None:
                return done
        if type(rows) is list and len(rows) >= MANY and not self._state.engine.is_remote:
            definition = self._state.table(table)
            if is_followed(definition):
                with loading(_told("loading", table), rows):
                    return self._seeing(table, rows, self._insert_seen)
        with loading(_told("loading", table), rows):
            return self._changed(lambda change: change.insert(table, rows))

    def delete(
        self, table: str, rows: Any = NOT_GIVEN, *, where: Any = None, key: Any = NOT_GIVEN
    ) -> Refresh:
        """Remove rows: those given, those for which ``where`` holds, or the one with this ``key``."""
        if type(table) is str and (door := self._doors.get(table) or self._doors.at(table)) is not None:
            done = None
            if where is None and key is NOT_GIVEN:
                done = self._doors.take(door, table, rows := readable(rows), -1)
            elif where is None and rows is NOT_GIVEN:
                done = door(key, BY_KEY)
            if done is not None:
                return done
        return self._changed(lambda change: change.delete(table, rows, where=where, key=key))

    def update(
        self, table: str, *, key: Any = NOT_GIVEN, where: Any = None, set: Mapping[str, Any]
    ) -> Refresh:
        """Give columns of the row with this ``key``, or of those for which ``where`` holds, new values.

        A new value may be a function of the row as it is: ``set={"price": lambda row: row.price * 2}``.
        """
        return self._changed(lambda change: change.update(table, key=key, where=where, set=set))

    def upsert(self, table: str, rows: Iterable[object]) -> Refresh:
        """Add rows, each in the place of the one that has its key, if there is one: it becomes this row."""
        with loading(_told("loading", table), rows):
            return self._changed(lambda change: change.upsert(table, rows))

    def merge(
        self,
        table: str,
        rows: Any,
        *,
        delete_when: Any = None,
        sequence_by: str | Sequence[str] | None = None,
    ) -> Refresh:
        """Leave of each key what its row says, with no image of what was there: a row that has a key comes, or takes
        the place of the one that has it.

        ``delete_when``, a function of the row, says that the row with its key goes; it needs no other column, and
        need not be there. ``sequence_by`` names the columns by which the later of two rows is known: then rows may
        come in any order and again, also in other calls, for of every key its last place is kept, deleted or not.
        Both may read columns that the table does not have.
        """
        is_nested = self._access.is_writing
        with self._access.exclusive():
            definition = self._state.table(table)
            links = self._state.objects.links.get(definition.name)
            merging = Merging(definition, rows, delete_when, sequence_by, links)
            if merging.memory is not None:
                self._remember(merging.memory)
            with loading(_told("merging", table), rows):
                done = self._changed(lambda change: change._merged(merging))
        if not is_nested:
            self._tell(done)
        return done

    def _remember(self, table: TableDef) -> None:
        """Have a hidden table of ``fed``; inside a transaction there is none, and whoever needs it says so."""
        if table.name not in self._state.tables and self._access.open is None:
            with self._access.defining():
                self._define("table", table, lambda: self._state.add_table(table))

    def apply(self, changes: Mapping[str, Any], *, once: tuple[str, int] | None = None) -> Refresh:
        """Apply a Z-bag per table, or rows with ``_change_type``, all at once.

        ``once`` names a job and the number of its batch: a batch whose number is not above the last one that was
        applied of the job is there already, and changes nothing. Which that is, is stored with its rows.
        """
        if once is not None:
            return self._apply_batch(changes, once_argument(once))
        if type(changes) is dict and len(changes) == 1:
            ((table, rows),) = changes.items()
            if type(table) is str and (door := self._doors.get(table) or self._doors.at(table)) is not None:
                done = all_alike(door, rows)
                if done is not None:
                    return done
        given = arguments.changes_argument(changes, self._state.tables)
        with loading("applying changes", *given.values()):
            return self._changed(lambda change: change.apply(given))

    def _apply_batch(self, changes: Mapping[str, Any], once: tuple[str, int]) -> Refresh:
        given = arguments.changes_argument(changes, self._state.tables)
        self._remember(ONCE)
        return self._changed(lambda change: change._apply_once(given, once))

    def sync(self, table: str, snapshot: Iterable[object]) -> Refresh:
        """Make ``table`` hold exactly ``snapshot``: the difference is found and applied."""
        definition = self._state.table(table)
        with loading(_told("syncing", table), snapshot):
            if not is_followed(definition) or self._state.engine.is_remote:
                return self._changed(lambda change: change.sync(table, snapshot))
            return self._seeing(table, snapshot, self._sync_seen)

    def _seeing(
        self,
        table: str,
        rows: Any,
        act: Callable[[Transaction, TableDef, Any, SeenRows], bool],
    ) -> Refresh:
        """A change that may end with a table holding ``rows`` and nothing else; then these are noted."""
        noted: list[tuple[TableDef, SeenRows]] = []

        def run(change: Transaction) -> None:
            now = self._state.table(table)  # nobody changes it from here on
            seen = self._seen.begin(now)
            if act(change, now, rows, seen):
                noted.append((now, seen))

        done = self._changed(run)
        for now, seen in noted:
            self._seen.keep(now, seen, done)
        return done

    def _sync_seen(self, change: Transaction, table: TableDef, rows: Any, seen: SeenRows) -> bool:
        known = self._seen.of(table)
        if known is not None:
            change._sync_seen(table, rows, known, seen)
            return True
        given = list(arguments.rows_argument(rows, table.record))
        change.sync(table.name, given)
        note_all(seen, table, given, self._state.objects.links.get(table.name))
        return True

    def _insert_seen(self, change: Transaction, table: TableDef, rows: Any, seen: SeenRows) -> bool:
        is_first = not self._state.engine.entries(table.name)
        change.insert(table.name, rows)
        if is_first:
            note_all(seen, table, rows, self._state.objects.links.get(table.name))
        return is_first


def _told(verb: str, table: object) -> str:
    """What is said of a change while it runs; what is no name is refused further on, whatever its text would be."""
    return f"{verb} {table}" if isinstance(table, str) else verb
