"""Updates: XQuery Update texts with their snapshot, reduced to the primitives of an edit.

All targets and sources are evaluated on the state before; then insertions into, values and names are changed, then
other insertions are made, then nodes are replaced, then contents, and deletions come last. Nothing is changed unless
all is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nestling.database.xml.edits import Edit, attributes_with
from nestling.database.xml.found import ATTRIBUTE, BuiltNode, FoundAttribute, FoundNode, Items
from nestling.database.xml.interpret import Interpreter, Pending
from nestling.errors import ChangeError, QueryError
from nestling.frontend.xquery.parse import parsed
from nestling.xml.entries import ELEMENT, TEXT, Entry, check_name, check_text, expanded
from nestling.xml.orderkeys import between, child_of, parent_of
from nestling.xml.store import NodeStore

PLACES = ("first", "last", "into", "before", "after")
#: The order in which kinds of updates are applied.
_PHASES = {"into": 1, "value": 1, "rename": 1, "insert": 2, "replace": 3, "content": 4, "delete": 5}
_TWICE = {"rename": "XUDY0015", "replace": "XUDY0016", "value": "XUDY0017", "content": "XUDY0017"}


def run_updates(
    text: object, stores: Callable[[str], NodeStore], documents: Sequence[str], edit: Callable[[str], Edit]
) -> None:
    """Apply the updates of a text; ``edit`` gives the edit of a document."""
    module = parsed(text)
    context = FoundNode(documents[0], "") if len(documents) == 1 else None
    run = Interpreter(module, stores, context, documents)
    if run.run():
        raise run.refuse(
            module.body.at, "this text changes nothing", "XUST0001", "insert, delete, replace, rename"
        )
    seen: set[tuple[str, Any]] = set()
    kinds = [_kind(run, update, seen) for update in run.pending]
    phases = sorted(zip(kinds, run.pending, strict=True), key=lambda each: _PHASES[each[0]])
    for _, update in phases:
        _apply(run, update, edit)


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
        inside = syntax.place in ("into", "first", "last")
        if inside and (entry is None or entry[1] != ELEMENT):
            raise run.refuse(syntax.at, "the target of this insertion is no element", "XUTY0005")
        if not inside and (entry is None or not parent_of(entry[0])):
            raise run.refuse(syntax.at, "the target of this insertion has no parent", "XUTY0006")
        return "into" if syntax.place == "into" else "insert"
    if isinstance(target, FoundNode) and entry is None:
        raise run.refuse(syntax.at, f"a document is no target of {syntax.kind}", "XUTY0008")
    if syntax.kind == "replace value":
        return "content" if entry is not None and entry[1] == ELEMENT else "value"
    if syntax.kind == "rename" and entry is not None and entry[1] == TEXT:
        raise run.refuse(syntax.at, "a text has no name", "XUTY0012")
    return syntax.kind


def _all_nodes(run: Interpreter, update: Pending) -> list[FoundNode | FoundAttribute]:
    if not all(isinstance(each, FoundNode | FoundAttribute) for each in update[1]):
        raise run.refuse(update[0].at, f"{update[0].kind} takes nodes of a document", "XUTY0007")
    return update[1]


def _apply(run: Interpreter, update: Pending, edit: Callable[[str], Edit]) -> None:
    syntax, targets, source = update
    for target in targets:
        change = edit(target.document)
        try:
            _apply_one(run, update, change, target, source)
        except ChangeError as error:
            raise error.located(run.refuse(syntax.at, "").at) from error


def _apply_one(run: Interpreter, update: Pending, change: Edit, target: Any, source: Items) -> None:
    syntax, key = update[0], target.key
    if change.store.get(key) is None:
        return  # it went with a node above it
    name = target.name if isinstance(target, FoundAttribute) else None
    match syntax.kind:
        case "insert":
            made = _content(run, source, syntax.at)
            for each, value in made.attributes.items():
                _new_attribute(
                    change, key if syntax.place in ("into", "first", "last") else parent_of(key), each, value
                )
            insert_at(change, key, syntax.place, built_entries(made.content))
        case "delete":
            change.delete(key) if name is None else set_attribute(change, key, name, None)
        case "rename":
            rename(change, key, run.joined(source), name)
        case "replace value":
            replace_value(change, key, run.joined(source), name)
        case "replace":
            made = _content(run, source, syntax.at)
            if name is None:
                replace(change, key, built_entries(made.content))
            else:
                set_attribute(change, key, name, None)
                for each, value in made.attributes.items():
                    _new_attribute(change, key, each, value)


def _content(run: Interpreter, source: Items, at: int) -> BuiltNode:
    made = BuiltNode(ELEMENT)
    run.add(made, source, at)
    return made


def _new_attribute(change: Edit, key: str, name: str, value: str) -> None:
    entry = change.store.get(key)
    if entry is not None and any(expanded(each) == name for each, _ in entry[3]):
        raise ChangeError(f"there is an attribute {name} already (XUDY0021)", hint="replace its value")
    set_attribute(change, key, name, value)


# -- what addresses and texts both come to


def insert_at(change: Edit, key: str, place: str, entries: Sequence[Entry]) -> list[str]:
    """Insert trees into an element or beside a node; their keys."""
    store = change.store
    if not entries:
        return []
    if place in ("into", "last"):
        last = store.last_child(key)
        return change.insert(key, last[0] if last else None, None, entries)
    if place == "first":
        first = store.first_child(key)
        return change.insert(key, None, first[0] if first else None, entries)
    beside = store.previous_sibling(key) if place == "before" else store.next_sibling(key)
    other = beside[0] if beside else None
    low, high = (other, key) if place == "before" else (key, other)
    return change.insert(parent_of(key), low, high, entries)


def replace(change: Edit, key: str, entries: Sequence[Entry]) -> list[str]:
    """Have trees in the place of a node."""
    keys = insert_at(change, key, "before", entries)
    change.delete(key)
    return keys


def replace_value(change: Edit, key: str, text: str, attribute: str | None = None) -> None:
    """Give a node other content: an element has one text then, or none."""
    check_text(text, "the value")
    if attribute is not None:
        set_attribute(change, key, attribute, text)
        return
    entry = change.store.get(key)
    if entry is None:
        raise ChangeError("the node is no longer there", hint="look it up again: document.at(…)")
    if entry[1] != ELEMENT:
        change.set_value(key, text)
        return
    for child in tuple(change.store.children(key)):
        change.delete(child[0])
    if text:
        change.insert(key, None, None, [("a0", TEXT, "", text)])


def set_attribute(change: Edit, key: str, name: str, value: str | None) -> None:
    """Give an attribute a value; None takes it away."""
    entry = change.store.get(key)
    if entry is None or entry[1] != ELEMENT:
        raise ChangeError("only an element has attributes", hint="address the element")
    stored = next((each for each, _ in entry[3] if expanded(each) == name), None)
    if stored is None and value is None:
        return
    if stored is None:
        check_name(name, "an attribute")
    if value is not None:
        check_text(value, "the value of an attribute")
    change.set_attributes(key, attributes_with(entry, stored or name, value))


def rename(change: Edit, key: str, name: str, attribute: str | None = None) -> None:
    """Give an element, a processing instruction or an attribute another name."""
    check_name(name, "an attribute" if attribute is not None else "an element")
    entry = change.store.get(key)
    if entry is None or (attribute is None and entry[1] == TEXT):
        raise ChangeError("a text has no name", hint="rename the element that it is in")
    if attribute is None:
        change.rename(key, name)
        return
    if name != attribute and any(expanded(each) == name for each, _ in entry[3]):
        raise ChangeError(f"there is an attribute {name} already (XUDY0021)", hint="delete it first")
    pairs = tuple((name if expanded(each) == attribute else each, value) for each, value in entry[3])
    change.set_attributes(key, pairs)


def built_entries(nodes: Sequence[BuiltNode]) -> list[Entry]:
    """Constructed nodes as entries whose keys begin with that of the document."""
    found: list[Entry] = []

    def visit(nodes: Sequence[BuiltNode], parent: str) -> None:
        part: str | None = None
        for node in nodes:
            if node.kind == ATTRIBUTE:
                raise QueryError("an attribute stands alone", hint="insert it into an element")
            part = between(part, None)
            key = child_of(parent, part)
            value = tuple(node.attributes.items()) if node.kind == ELEMENT else node.text
            found.append((key, node.kind, node.name, value))
            visit(node.content, key)

    visit(nodes, "")
    return found
