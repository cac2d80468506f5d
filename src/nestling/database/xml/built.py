"""Constructed nodes as text: how the plain meaning writes its answer."""

from __future__ import annotations

from nestling.database.xml.atoms import atom_text
from nestling.database.xml.found import ATTRIBUTE, BuiltNode, FoundNode, Items, is_node
from nestling.database.xml.interpret import Interpreter
from nestling.errors import QueryError
from nestling.xml.entries import COMMENT, ELEMENT, TEXT, written
from nestling.xml.namespaces import NONE, Scope, declarations, within
from nestling.xml.serialise import attribute, in_text


def built_sequence(run: Interpreter, items: Items) -> str:
    """The items of an answer; adjacent atoms are parted by a space."""
    found: list[str] = []
    before = False
    for item in items:
        if is_node(item):
            for node in run.copies(item) if isinstance(item, FoundNode | BuiltNode) else _refused():
                found.append(built_xml(node))
        else:
            found.append((" " if before else "") + in_text(atom_text(item)))
        before = not is_node(item)
    return "".join(found)


def _refused() -> list[BuiltNode]:
    raise QueryError("an attribute stands alone", hint="write data(…)")


def built_xml(node: BuiltNode, outside: Scope = NONE, default: str = "") -> str:
    """A constructed node as text, in an element that sees ``outside``; a copy's default is that of its new place."""
    if node.kind == TEXT:
        return in_text(node.text)
    if node.kind == COMMENT:
        return f"<!--{node.text}-->"
    if node.kind == ATTRIBUTE:
        return attribute(node.name, node.text)
    if node.kind != ELEMENT:
        return f"<?{node.name} {node.text}?>" if node.text else f"<?{node.name}?>"
    name, own = written(node.name), node.namespaces
    if node.is_copy and node.name[0] == "{" and own.get("") == "":
        own = own | {"": default}
    scope = within(node.name, own, outside)
    pairs = [*declarations(scope, outside), *node.attributes.items()]
    start = f"<{name}" + "".join([attribute(each, value) for each, value in pairs])
    default = scope.get("", "") if not node.is_copy else default if node.name[0] == "{" else ""
    inner = "".join([built_xml(each, scope, default) for each in node.content])
    return f"{start}>{inner}</{name}>" if inner else f"{start}/>"
