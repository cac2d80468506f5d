"""What a checkpoint of Spark's says of the stream that it belongs to, before that starts.

Spark knows the sources of a stream by their place among them only: with one more, or in another order, it would read
rows twice or never. So their tables are written beside it when a stream first starts.

Law: a stream starts iff its checkpoint is new and none of its batches is stored, or is the one that it was fed from,
with the same tables; their order is then that of the first start.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from nestling.errors import ChangeError, QueryError
from nestling.storage.lake.store import BlobStore, NameTaken

#: The tables of a stream, in the order of Spark's sources.
TABLES = "nestling-tables"
_FRESH = "give the stream a name and a checkpoint of its own"


def tables_in_order(
    store: BlobStore, stream: str, stored: tuple[str, int] | None, tables: Sequence[str]
) -> list[str]:
    """``tables`` in the order that the checkpoint in ``store`` has; ``stored``: the query and the last batch of it that
    is stored."""
    query = _query(store)
    if stored is not None and query != stored[0]:
        raise ChangeError(
            f"stream {stream!r} was fed from another checkpoint, up to batch {stored[1]}",
            hint="go on with that checkpoint, or give the stream another name",
        )
    if stored is None and any(entry.name.rpartition("/")[2].isdigit() for entry in store.list("commits")):
        raise QueryError(
            f"the checkpoint {store.place} is another stream's: it has batches that are not stored here",
            hint=f"{_FRESH}; what that one has read would be left out",
        )
    known = _tables(store)
    if known is None:
        sources = _sources(store)
        if sources not in (0, len(tables)):
            raise _other(stream, f"{sources} tables", tables)
        known = list(tables)
        with suppress(NameTaken):
            store.put_new(TABLES, json.dumps(known).encode())
    if sorted(known) != sorted(tables):
        raise _other(stream, ", ".join(known), tables)
    return known


def _other(stream: str, known: str, tables: Sequence[str]) -> QueryError:
    return QueryError(
        f"stream {stream!r} began with {known}, and is to go on with {', '.join(tables)}",
        hint=f"feed the others by a second stream: db.stream({{…}}, name={stream + '2'!r}); or {_FRESH}",
    )


def _get(store: BlobStore, name: str) -> str | None:
    try:
        return store.get(name).decode()
    except FileNotFoundError:
        return None


def _query(store: BlobStore) -> str | None:
    text = _get(store, "metadata")
    return None if text is None else str(json.loads(text)["id"])


def _tables(store: BlobStore) -> list[str] | None:
    text = _get(store, TABLES)
    found: Any = None if text is None else json.loads(text)
    return None if found is None else [str(name) for name in found]


def _sources(store: BlobStore) -> int:
    """How many sources the last batch that Spark planned had; 0 if there is none."""
    numbers = [int(last) for e in store.list("offsets") if (last := e.name.rpartition("/")[2]).isdigit()]
    text = _get(store, f"offsets/{max(numbers)}") if numbers else None
    return 0 if text is None else max(0, len(text.splitlines()) - 2)
