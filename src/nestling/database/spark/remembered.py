"""Definitions read from a lake; senseless ones are rejected, whoever wrote them.

Law: a definition of a lake is one that the database would accept from its user, or a ``StoreError``.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from nestling.database.definitions import ViewDef
from nestling.database.state import Defined
from nestling.database.texts import read_table, read_view, table_text, view_text
from nestling.database.view_state import Feed
from nestling.database.watching import WatchedLevels
from nestling.database.xml.definition import check_kept, read_xquery, xquery_text
from nestling.errors import NestlingError, StoreError
from nestling.transform.viewlet.watch import watches

KINDS = ("table", "view", "constraint", "xquery")


class Remembering(Defined, Protocol):
    """What definitions are taken up by."""

    def define(
        self, view: ViewDef, remembered: dict[str, Any] | None = None, *, constraint: bool = False
    ) -> None: ...


def remember(state: Remembering, kind: str, name: str, text: str) -> None:
    """Take up a definition that is stored."""
    with remembering(kind, name):
        if kind == "feed":
            feed = read_feed(name, text, state.views.maintained)
            state.views = state.views.changed(name, feed=feed, levels=levels_of(state, name))
            return
        check_new(kind, [*state.tables, *state.views, *state.xqueries], name)
        if kind == "xquery":
            xquery = read_xquery(name, text)
            check_kept(xquery, state.tables, state.views)
            state.xqueries[name] = xquery
        elif kind == "table":
            state.tables[name] = read_table(name, text, state.tables)
        else:
            state.define(*read_view(name, text, state), constraint=kind == "constraint")


def stored_definitions(state: Defined) -> tuple[tuple[str, str, str], ...]:
    """What ``remember`` takes up again: kind, name and text of every definition."""
    tables = [("table", name, table_text(table)) for name, table in state.tables.items()]
    views = [
        ("constraint" if view.is_constraint else "view", name, view_text(view.definition, state))
        for name, view in state.views.items()
    ]
    feeds = [
        ("feed", name, json.dumps([feed.since, feed.versions])) for name, feed in state.views.feeds.items()
    ]
    xqueries = [("xquery", name, xquery_text(xquery)) for name, xquery in state.xqueries.items()]
    return (*tables, *views, *feeds, *xqueries)


def levels_of(state: Defined, name: str) -> WatchedLevels:
    """The levels of a view that are logged, or would be; none where nothing is stored of it."""
    view = state.views[name]
    if view.levels is not None or view.flat is None:
        return view.levels or WatchedLevels()
    return WatchedLevels(watches(name, view.flat, state.declarations()))


@contextmanager
def remembering(kind: str, name: str) -> Iterator[None]:
    """Whatever is wrong with a definition is wrong with the file that it is in."""
    try:
        yield
    except NestlingError as error:
        raise senseless(kind, name, error.what) from error
    except Exception as error:
        # A text that nobody of us wrote may fail anywhere in what takes ours for granted.
        raise senseless(kind, name, f"{type(error).__name__}: {error}") from error


def senseless(kind: str, name: str, why: str) -> StoreError:
    return StoreError(
        f"the {kind} {name!r:.80} that is stored makes no sense: {why:.500}",
        hint="restore the folder from a copy",
    )


def check_new(kind: str, there: Container[str], name: str) -> None:
    """Refuse a definition of no kind, or of a name that is taken."""
    if kind not in KINDS:
        raise ValueError("there are no definitions of this kind")
    if name in there:
        raise ValueError("it is there twice")


def read_feed(name: str, text: str, views: Container[str]) -> Feed:
    """From which version on the changes of a view are kept, and of how many."""
    since, versions = json.loads(text)
    if name not in views or not _is_number(since) or not (versions is None or _is_number(versions)):
        raise ValueError("it is of no view, or of no versions")
    return Feed(since, versions)


def check_tables(declared: Iterable[str], relations: Iterable[str]) -> None:
    """Refuse rows of tables that are not declared, and tables whose rows are not there: also of inner bags."""
    tables = {f"table {name}" for name in declared}
    rows = [name for name in relations if name.startswith("table ")]
    stored = {name for name in rows if name in tables or " waiting for " not in name}
    for name in sorted(tables ^ stored):
        raise StoreError(
            f"{name!r:.80} is {'declared' if name in tables else 'stored'}, but not"
            f" {'stored' if name in tables else 'declared'}",
            hint="restore the folder from a copy",
        )


def check_note(note: Mapping[str, Any]) -> None:
    """Refuse what was never stored with a change."""
    streams = note.get("streams", {})
    batches = streams.values() if isinstance(streams, dict) else [None]
    if not (
        _is_number(note.get("version", 0))
        and _is_number(note.get("numbers", 0))
        and all(_is_batch(batch) for batch in batches)
    ):
        raise StoreError(
            f"the note of the last change makes no sense: {note!r:.200}",
            hint="restore the folder from a copy",
        )


def _is_batch(found: Any) -> bool:
    return (
        isinstance(found, list | tuple)
        and len(found) == 2
        and isinstance(found[0], str)
        and _is_number(found[1])
    )


def _is_number(found: Any) -> bool:
    return type(found) is int and 0 <= found < 1 << 62
