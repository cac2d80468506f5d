"""A database on Spark beside an embedded one: what is done is done to both, and they say and hold the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nestling as nl
from tests.documents.patches import applied


class Twins:
    """Two databases; the first is on Spark."""

    def __init__(self, spark: Any, embedded: Any) -> None:
        self.both = (spark, embedded)
        self.spark, self.embedded = spark, embedded
        #: The texts of watched views on Spark, as patches have led to them.
        self.followed: dict[str, str] = {}
        self._told: tuple[list[str], list[str]] = ([], [])

    def do(self, action: Callable[[Any], object]) -> bool:
        """Do the same to both; whether it was accepted."""
        refused = [self._refused(db, action) for db in self.both]
        assert refused[0] == refused[1], refused
        assert self._told[0] == self._told[1]
        self.check()
        return refused[0] == ""

    def _refused(self, db: Any, action: Callable[[Any], object]) -> str:
        try:
            action(db)
        except nl.NestlingError as error:
            # Embedded, a guard names the term; here the batch that has no value says why.
            what = "a view has no value" if " be computed" in error.what else error.what
            return f"{type(error).__name__}: {what}"
        return ""

    def watch(self, name: str) -> None:
        """Follow a view by its patches, which are the same on both."""
        self.followed[name] = self.spark.views[name].xml()
        for db, told in zip(self.both, self._told, strict=True):
            db.views[name].subscribe(lambda change, told=told: told.append(change.to_xml_patch()))
        self.spark.views[name].subscribe(self._follow)

    def _follow(self, change: Any) -> None:
        text = self.followed[change.view]
        self.followed[change.view] = applied(text, change.to_xml_patch(), change.is_rooted)

    def check(self) -> None:
        """All documents and XQuery views are the same, to the byte."""
        here, there = (texts(db) for db in self.both)
        assert here == there
        assert self.followed == {name: here[f"view {name}"] for name in self.followed}


def texts(db: Any) -> dict[str, str]:
    """The documents and XQuery views of a database."""
    found = {f"document {name}": document.xml() for name, document in db.documents.items()}
    return found | {f"view {name}": db.views[name].xml() for name in db._state.xqueries}


def emptied(db: Any) -> Any:
    """A database with nothing in it."""
    for name in tuple(db.views):
        db.drop(name)
    for name in (*db.documents, *reversed(db.tables)):
        db.drop(name)
    return db
