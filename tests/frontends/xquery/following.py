"""A view is followed through updates: what it, its patches, Saxon and the plain meaning say is one text."""

from __future__ import annotations

from collections.abc import Sequence

import nestling as nl
from tests.documents.oracle import PySaxonApiError, saxon
from tests.documents.patches import applied


def follow_view(query: str, text: str, updates: Sequence[str], *, strict: bool | None = True) -> list[str]:
    """The texts of a view over a document before and after updates; an update may be refused, and is an error then."""
    db = nl.Database()
    document = db.document("d", text)
    view = db.view("v", query, language="xquery", strict=strict)
    patched = [view.xml()]
    view.subscribe(lambda change: patched.append(applied(patched[-1], change.to_xml_patch())))
    found: list[str] = []
    for update in ("", *updates):
        if update:
            before = document.xml()
            try:
                db.xquery(update)
            except nl.NestlingError:
                assert document.xml() == before
                assert is_error(query, text, [*updates[: updates.index(update)], update]), update
                continue
        found.append(view.xml())
        assert found[-1] == saxon(query, document.xml()), update
        assert patched[-1] == found[-1], update
        view.verify(maps=True)
    return found


def is_error(query: str, text: str, updates: Sequence[str]) -> bool:
    """Whether the query is an error of XQuery after some updates, those left out that make it one."""
    db = nl.Database()
    document = db.document("d", text)
    for number, update in enumerate(updates):
        before = document.xml()
        db.xquery(update)
        try:
            saxon(query, document.xml())
        except PySaxonApiError:
            if number == len(updates) - 1:
                return True
            db = nl.Database()
            document = db.document("d", before)
    return False
