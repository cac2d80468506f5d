"""The paper's updates on a document: positions become nodes, and the rest is an XQuery Update.

Law: the result is that of figure 3 of the paper, where each update is written in XQuery; beyond it, an insertion
behind the last node of a sequence appends, and so does one into an empty sequence.
"""

from __future__ import annotations

from typing import assert_never

from nestling.database.xml.edits import Edit
from nestling.database.xml.found import FoundNode, Items
from nestling.database.xml.interpret import Interpreter, Pending
from nestling.database.xml.updates import apply_pending
from nestling.frontend.xquery.paper import (
    PaperUpdate,
    UDel,
    UIns,
    UNode,
    UNop,
    URepl,
    USeq,
    parse_paper_update,
)
from nestling.frontend.xquery.syntax import ContextExpr, Syntax, UpdateExpr
from nestling.xml.entries import ELEMENT


def run_paper_update(edit: Edit, text: object) -> None:
    """Apply an update of the paper's language; its expressions see the document as it was."""
    module, update = parse_paper_update(text)
    run = Interpreter(module, lambda name: edit.store, FoundNode(edit.document, ""))
    applying = _Positions(run, edit)
    applying.pend(update, "", applying.elements(""))
    apply_pending(run, applying.pending, lambda name: edit)


class _Positions:
    def __init__(self, run: Interpreter, edit: Edit) -> None:
        self.run, self.edit = run, edit
        self.pending: list[Pending] = []

    def elements(self, key: str) -> list[str]:
        """The child elements of a node."""
        return [entry[0] for entry in self.edit.store.children(key) if entry[1] == ELEMENT]

    def pend(self, update: PaperUpdate, parent: str, items: list[str]) -> None:  # noqa: C901 (one arm per node)
        """Note what an update does to a sequence of children of ``parent``."""
        match update:
            case UNop():
                pass
            case UDel(at):
                for each in items:
                    self._note("delete", each, [], at)
            case UIns(source, at):
                self._insert(parent, items[0] if items else None, self._made(source), at)
            case URepl(source, at):
                if not items:
                    self._insert(parent, None, self._made(source), at)
                for number, each in enumerate(items):
                    self._note(
                        *(("delete", each, []) if number else ("replace", each, self._made(source))), at
                    )
            case UNode(name, inner, at):
                if len(items) != 1:
                    raise self.run.refuse(
                        at, f"UNode of {len(items)} nodes, not of one", hint="USeq[(1, UNode(…))]"
                    )
                if name is not None:
                    self._note("rename", items[0], [name], at)
                self.pend(inner, items[0], self.elements(items[0]))
            case USeq(parts, at):
                for number, inner in parts:
                    self._at(number, inner, parent, items)
            case _:
                assert_never(update)

    def _at(self, number: int, update: PaperUpdate, parent: str, items: list[str]) -> None:
        if number <= len(items):
            self.pend(update, parent, items[number - 1 : number])
        elif number == len(items) + 1 and isinstance(update, UIns):
            source, at = update.source, update.at
            if items:
                self._note("insert", items[-1], self._made(source), at, "after")
            else:
                self._insert(parent, None, self._made(source), at)
        else:
            raise self.run.refuse(
                update.at, f"there is no node {number}: the sequence has {len(items)}", hint="count from 1"
            )

    def _insert(self, parent: str, before: str | None, made: Items, at: int) -> None:
        if before is not None:
            self._note("insert", before, made, at, "before")
        else:
            self._note("insert", parent, made, at, "last")

    def _made(self, source: Syntax) -> Items:
        return self.run.eval(source, {".": [FoundNode(self.edit.document, "")]})

    def _note(self, kind: str, key: str, made: Items, at: int, place: str = "") -> None:
        syntax = UpdateExpr(kind, ContextExpr(at), None, place, at=at)
        self.pending.append((syntax, [FoundNode(self.edit.document, key)], made))
