"""Copies of a database that is in use."""

from __future__ import annotations

from pathlib import Path

from nestling.database import arguments
from nestling.database.durable import DatabaseFile
from nestling.database.writing import Writing
from nestling.errors import ChangeError, StoreError


class Backups(Writing):
    """A database that can be copied."""

    def backup(self, path: str | Path) -> None:
        """Write a copy of the database, as it is now, to a file that is not there yet; it may be in use meanwhile.

        Of a database in memory it is the way into a file: its versions count from 0 there.
        """
        where = arguments.path_argument(path)
        with self._access.exclusive():
            if self._access.open is not None:
                raise ChangeError("a transaction is open", hint="commit it first")
            with self._access.reading():
                self._backup(where)

    def _backup(self, path: Path) -> None:
        if isinstance(self._file, DatabaseFile):
            self._file.store.copy_to(path)
            return
        if path.exists():
            raise StoreError(f"{path} is there already", hint="choose another name, or remove it first")
        new = path.with_name(f"{path.name}-new")
        file = DatabaseFile(new)
        try:
            file.numbers = self._numbers
            file.save(self._state)
            file.store.copy_to(path)
        finally:
            file.close()
            new.unlink(missing_ok=True)
