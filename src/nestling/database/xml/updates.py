"""Updates: XQuery Update texts with their snapshot, reduced to the primitives of an edit.

All targets and sources are evaluated on the state before; then values, names and insertions into are made, then
other insertions, then nodes are replaced, then contents, and deletions come last. Nothing is changed unless all is.
A target is a node, whatever its name has become by then; what is no longer there is left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from nestling.database.xml.edits import Edit
from nestling.database.xml.found import ATTRIBUTE, BuiltNode, FoundAttribute, FoundNode, Items
from nestling.database.xml.interpret import Interpreter, Pending
from nestling.database.xml.primitives import (
    built_entries,
    insert_at,
    rename,
    replace,
    replace_value,
    set_attribute,
)
from nestling.errors import ChangeError
from nestling.frontend.xquery.parse import parsed
from nestling.frontend.xquery.syntax import UpdateExpr
from nestling.xml.entries import ELEMENT, INSTRUCTION, expanded, written
from nestling.xml.orderkeys import parent_of
from nestling.xml.store import NodeStore

#: The order in which kinds of updates are applied.
_PHASES = {"value": 0, "rename": 1, "into": 2, "insert": 3, "replace": 4, "content": 5, "delete": 6}
_TWICE = {"rename": "XUDY0015", "replace": "XUDY0016", "value": "XUDY0017", "content": "XUDY0017"}
_INSIDE = ("into", "first", "last")
Stores = Callable[[str], NodeStore]
Edits = Callable[[str], Edit]


def run_updates(text: object, stores: Stores, documents: Sequence[str], edit: Edits) -> None:
    """Apply the updates of a text; ``edit`` gives the edit of a document."""
    module = parsed(text)
    context = FoundNode(documents[0], "") if len(documents) == 1 else None
    run = Interpreter(module, stores, context, documents)
    if run.run():
        raise run.refuse(
            module.body.at, "this text changes nothing", "XUST0001", "insert, delete, replace, rename"
        )
    apply_pending(run, run.pending, edit)


def apply_pending(run: Interpreter, pending: Sequence[Pending], edit: Edits) -> None:
    """Apply updates whose targets and sources are known, in the order of their phases."""
    seen: set[tuple[str, Any]] = set()
    kinds = [_kind(run, update, seen) for update in pending]
    leaving = [
        target
        for kind, (_, targets, _) in zip(kinds, pending, strict=True)
        if kind in ("delete", "replace")
        for target in targets
        if isinstance(target, FoundAttribute)
    ]
    applying = _Applying(run, edit, leaving)
    for _, update in sorted(zip(kinds, pending, strict=True), key=lambda each: _PHASES[each[0]]):
        applying.apply(update)


def _kind(run: Interpreter, update: Pending, seen: set[tuple[str, Any]]) -> str:
    """Which phase an update belongs to; its target is such as the update takes."""
    syntax, targets, _ = update
    if syntax.kind == "delete":
        _all_nodes(run, update)
        return "delete"
    if len(targets) != 1:
        code = "XUDY0027" if not targets else "XUTY0008"
        raise run.refuse(
            syntax.at, f"{syntax.kind} has {len(targets)} targets", code, "one node: add a condition"
        )
    [target] = _all_nodes(run, update)
    kind = _phase(run, update, target)
    if kind in _TWICE and (kind, target) in seen:
        raise run.refuse(syntax.at, f"{syntax.kind} twice of one node", _TWICE[kind])
    seen.add((kind, target))
    return kind


def _phase(run: Interpreter, update: Pending, target: FoundNode | FoundAttribute) -> str:
    syntax = update[0]
    entry = None
    if isinstance(target, FoundNode):
        entry = run.stores(target.document).get(target.key)
    if syntax.kind == "insert":
        if syntax.place in _INSIDE and (entry is None or entry[1] != ELEMENT):
            raise run.refuse(syntax.at, "the target of this insertion is no element", "XUTY0005")
        if syntax.place not in _INSIDE and entry is None:
            raise run.refuse(syntax.at, "the target of this insertion has no place among nodes", "XUTY0006")
        return "into" if syntax.place == "into" else "insert"
    if isinstance(target, FoundNode) and entry is None:
        raise run.refuse(syntax.at, f"a document is no target of {syntax.kind}", "XUTY0008")
    if syntax.kind == "replace value":
        return "content" if entry is not None and entry[1] == ELEMENT else "value"
    if syntax.kind == "rename" and entry is not None and entry[1] not in (ELEMENT, INSTRUCTION):
        raise run.refuse(syntax.at, "a text has no name", "XUTY0012")
    return syntax.kind


def _all_nodes(run: Interpreter, update: Pending) -> list[FoundNode | FoundAttribute]:
    if not all(isinstance(each, FoundNode | FoundAttribute) for each in update[1]):
        raise run.refuse(update[0].at, f"{update[0].kind} takes nodes of a document", "XUTY0007")
    return update[1]


class _Applying:
    """Updates of one text while they are applied."""

    def __init__(self, run: Interpreter, edit: Edits, leaving: Iterable[FoundAttribute]) -> None:
        self.run, self.edit = run, edit
        #: Attributes that go before the text is done: others may come under their names.
        self.leaving = set(leaving)
        #: The names that attributes have by now; none where they are gone.
        self.names: dict[FoundAttribute, str | None] = {}
        #: Elements whose content is new: what was in it is gone, even if its key is there again.
        self.emptied: set[tuple[str, str]] = set()

    def apply(self, update: Pending) -> None:
        syntax, targets, source = update
        for target in targets:
            change = self.edit(target.document)
            try:
                if isinstance(target, FoundAttribute):
                    self._attribute(update, change, target, source)
                elif not self._is_gone(change, target):
                    self._node(update, change, target, source)
            except ChangeError as error:
                raise error.located(self.run.refuse(syntax.at, "").at) from error

    def _is_gone(self, change: Edit, target: FoundNode | FoundAttribute) -> bool:
        if change.store.get(target.key) is None:
            return True
        key = parent_of(target.key)
        while key and (target.document, key) not in self.emptied:
            key = parent_of(key)
        return bool(key)

    def _node(self, update: Pending, change: Edit, target: FoundNode, source: Items) -> None:
        syntax, key = update[0], target.key
        match syntax.kind:
            case "insert":
                made = self._content(source, syntax.at)
                owner = key if syntax.place in _INSIDE else parent_of(key)
                for name, value in made.attributes.items():
                    if not owner:
                        raise self.run.refuse(syntax.at, "a document has no attributes", "XUTY0022")
                    self._new_attribute(change, target.document, owner, name, value)
                insert_at(change, key, syntax.place, built_entries(made.content))
            case "delete":
                change.delete(key)
            case "rename":
                rename(change, key, self._new_name(syntax, source, False))
            case "replace value":
                self.emptied.add((target.document, key))
                replace_value(change, key, self.run.joined(source))
            case "replace":
                made = self._content(source, syntax.at)
                if made.attributes:
                    raise self.run.refuse(
                        syntax.at,
                        "attributes in the place of a node",
                        "XUTY0010",
                        "insert them into its parent",
                    )
                replace(change, key, built_entries(made.content))

    def _attribute(self, update: Pending, change: Edit, target: FoundAttribute, source: Items) -> None:
        syntax, key = update[0], target.key
        name = self.names.get(target, target.name)
        if name is None or self._is_gone(change, target):
            return
        match syntax.kind:
            case "delete":
                self._take(change, target)
            case "rename":
                new = self._new_name(syntax, source, True)
                self._make_room(change, FoundAttribute(target.document, key, expanded(new)), target)
                rename(change, key, new, name)
                self.names[target] = expanded(new)
            case "replace value":
                set_attribute(change, key, name, self.run.joined(source))
            case "replace":
                made = self._content(source, syntax.at)
                if made.content:
                    raise self.run.refuse(
                        syntax.at, "nodes in the place of an attribute", "XUTY0011", "attribute name { … }"
                    )
                self._take(change, target)
                for each, value in made.attributes.items():
                    self._new_attribute(change, target.document, key, each, value)

    def _new_name(self, syntax: UpdateExpr, source: Items, is_attribute: bool) -> str:
        """The name that a text is, in the namespace that its prefix stands for in the update."""
        name, spaces = self.run.joined(source), dict(syntax.namespaces)
        prefix, colon, _ = name.partition(":")
        if colon and not spaces.get(prefix):
            raise self.run.refuse(syntax.at, f"the prefix {prefix} is not declared", "XQDY0074")
        uri = spaces[prefix] if colon else "" if is_attribute else spaces.get("", "")
        return f"{{{uri}}}{name}" if uri else name

    def _take(self, change: Edit, target: FoundAttribute) -> None:
        name = self.names.get(target, target.name)
        if name is not None:
            set_attribute(change, target.key, name, None)
            self.names[target] = None

    def _make_room(self, change: Edit, new: FoundAttribute, but: FoundAttribute | None) -> None:
        """Take an attribute that goes in any case where another comes under its name."""
        for each in self.leaving:
            if (
                each != but
                and (each.document, each.key) == (new.document, new.key)
                and self.names.get(each, each.name) == new.name
            ):
                self._take(change, each)

    def _new_attribute(self, change: Edit, document: str, key: str, name: str, value: str) -> None:
        new = FoundAttribute(document, key, expanded(name))
        self._make_room(change, new, None)
        entry = change.store.get(key)
        if entry is not None and any(expanded(each) == new.name for each, _ in entry[3]):
            raise ChangeError(
                f"there is an attribute {written(name)} already (XUDY0021)", hint="replace its value"
            )
        set_attribute(change, key, name, value)

    def _content(self, source: Items, at: int) -> BuiltNode:
        """What a source comes to: attributes first, then nodes."""
        nodes = [
            isinstance(each, FoundAttribute) or (isinstance(each, BuiltNode) and each.kind == ATTRIBUTE)
            for each in source
        ]
        if sorted(nodes, reverse=True) != nodes:
            raise self.run.refuse(
                at, "an attribute comes after content", "XUTY0004", "write attributes first"
            )
        made = BuiltNode(ELEMENT)
        self.run.add(made, source, at)
        return made
