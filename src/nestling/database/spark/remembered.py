"""What a lake says is defined: read, and refused where it makes no sense, whoever wrote it.

Law: a definition of a lake is one that the database would accept from its user, or a ``StoreError``.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from nestling.database.accept import check_options, check_table
from nestling.database.definitions import TableDef, ViewDef
from nestling.database.spark.watching import Feed
from nestling.errors import NestlingError, StoreError

KINDS = ("table", "view", "constraint")


@contextmanager
def remembering(kind: str, name: str) -> Iterator[None]:
    """Whatever is wrong with a definition is wrong with the file that it is in."""
    try:
        yield
    except StoreError:
        raise
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


def check_new(kind: str, name: str, there: Container[str]) -> None:
    """Refuse a definition of no kind, or of a name that is taken."""
    if kind not in KINDS:
        raise senseless(kind, name, "there are no definitions of this kind")
    if name in there:
        raise senseless(kind, name, "it is there twice")


def checked_table(table: TableDef, tables: Mapping[str, TableDef]) -> TableDef:
    check_table(table, tables)
    return table


def checked_view(view: ViewDef, remembered: Any) -> tuple[ViewDef, Any]:
    check_options(view.refresh, view.store)
    return view, remembered


def read_feed(name: str, text: str, views: Container[str]) -> Feed:
    """From which version on the changes of a view are kept, and of how many."""
    since, versions = json.loads(text)
    if name not in views or not _is_number(since) or not (versions is None or _is_number(versions)):
        raise senseless("feed", name, "it is of no view, or of no versions")
    return Feed(since, versions)


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
