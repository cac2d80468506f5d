"""A table as a document, in the plain meaning: its rows by their keys, each with the cells that are not null."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nestling.calculus.standard import written
from nestling.frontend.xquery.branches import TableDocument
from nestling.frontend.xquery.tables import ROW
from nestling.xml.load import fragment_entries
from nestling.xml.serialise import in_text
from nestling.xml.store import Layer, NodeStore, Stored, packed


def table_store(table: TableDocument, rows: Iterable[tuple[Any, ...]]) -> NodeStore:
    """The nodes of a table."""
    place = table.record.names.index(table.key[0])
    parts = [_row(table, row) for row in sorted(rows, key=lambda row: row[place])]
    pages = dict(packed(fragment_entries(f"<{table.name}>{''.join(parts)}</{table.name}>")))
    return NodeStore(Layer(Stored(set(pages), pages.__getitem__)))


def _row(table: TableDocument, row: tuple[Any, ...]) -> str:
    cells = [
        f"<{name}>{in_text(_cell(value))}</{name}>" if _cell(value) else f"<{name}/>"
        for name, value in zip(table.record.names, row, strict=True)
        if value is not None
    ]
    return f"<{ROW}>{''.join(cells)}</{ROW}>" if cells else f"<{ROW}/>"


def _cell(value: Any) -> str:
    text = written(value)
    return text.replace(" ", "T") if hasattr(value, "hour") else text
