"""Patches: the difference of two trees as operations of RFC 5261.

Law: the operations, applied one after the other, turn the old text into the new one, byte for byte. Selectors have
the steps ``*[n]``, ``text()[n]``, ``comment()[n]``, ``processing-instruction()[n]`` and ``@a`` only; neighbouring
texts are one. What is no single element is patched as if it stood inside one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import NamedTuple

from nestling.xml.entries import ELEMENT, TEXT, written
from nestling.xml.load import fragment_entries
from nestling.xml.namespaces import NONE, Scope, declared_by
from nestling.xml.orderkeys import depth_of
from nestling.xml.serialise import attribute, in_text, in_value

#: Lists of children whose lengths have a greater product are compared by a faster way.
_LARGE = 4_096


class PatchChild(NamedTuple):
    """A child: ``text()``, ``comment()`` or ``processing-instruction()`` with its content, or ``*`` with its text."""

    kind: str
    text: str
    tree: PatchTree | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PatchChild) and self.kind == other.kind and self.text == other.text

    def __hash__(self) -> int:
        return hash((self.kind, self.text))

    def opened(self, scope: Scope) -> PatchTree:
        """An element as a tree; ``scope`` is seen where it stands."""
        return self.tree if self.tree is not None else parsed_tree(self.text, scope)


@dataclass(slots=True)
class PatchTree:
    """An element: its name, its attributes and its children."""

    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[PatchChild] = field(default_factory=list)

    def as_child(self) -> PatchChild:
        start = f"<{self.name}" + "".join([attribute(name, value) for name, value in self.attributes.items()])
        inner = "".join([shown(child) for child in self.children])
        return PatchChild("*", f"{start}>{inner}</{self.name}>" if inner else f"{start}/>", self)


class PatchOperation(NamedTuple):
    """``add``, ``remove`` or ``replace``; ``place`` is ``before``, or ``@name`` for an attribute that is added.

    A selector holds on the tree that the operations before it have made.
    """

    kind: str
    selector: str
    content: str = ""
    place: str = ""
    #: What it acts on, by a selector on the tree before all operations, and whether it adds beside that.
    target: str = ""
    beside: bool = False
    #: The prefix of the attribute that it acts on, and the namespace of that.
    space: tuple[str, str] | None = None

    def __str__(self) -> str:
        more = ""
        if self.place:
            more = f' type="{self.place}"' if self.place.startswith("@") else f' pos="{self.place}"'
        if self.space is not None:
            more += attribute(f"xmlns:{self.space[0]}", self.space[1])
        start = f'<{self.kind} sel="{in_value(self.selector)}"{more}'
        return f"{start}>{self.content}</{self.kind}>" if self.content else f"{start}/>"


class PatchGap(NamedTuple):
    """Children that go and children that come between two that stay, and their first places before and after."""

    old: int
    gone: Sequence[PatchChild]
    new: int
    come: Sequence[PatchChild]


class PatchPath(NamedTuple):
    """An element: its selector when an operation is applied, and before all of them, and the namespaces seen there."""

    now: str = "/*"
    before: str = "/*"
    scope: Scope = NONE

    def at(self, now: str, before: str) -> PatchPath:
        return PatchPath(f"{self.now}/{now}", f"{self.before}/{before}", self.scope)

    def inside(self, tree: PatchTree) -> PatchPath:
        """The same with the namespaces that the element declares."""
        declared = declared_by(tree.attributes.items())
        return self._replace(scope={**self.scope, **declared}) if declared else self


def patch(old: PatchTree, new: PatchTree) -> list[PatchOperation]:
    """The operations that lead from one root element to another; where names differ, the root is replaced."""
    if _start(old) != _start(new):
        return [PatchOperation("replace", "/*", new.as_child().text, target="/*")]
    return _changed(old, new, PatchPath().inside(old))


def patch_elements(
    gaps: Sequence[PatchGap], size: int, path: PatchPath, moved: int = 0, grown: int = 0
) -> list[PatchOperation]:
    """The operations on an element with ``size`` children, all of them elements, from the places that change.

    Operations before these have moved the places by ``moved``, and added ``grown`` children.
    """
    return _elements([part for gap in gaps for part in _gaps(gap)], size, path, moved, grown)


def parsed_tree(text: str, scope: Scope = NONE) -> PatchTree:
    """The tree of an element's text, one level deep: its children are opened where a patch goes into them."""
    entries = fragment_entries(text, scope)
    root = PatchTree(written(entries[0][2]), {written(name): value for name, value in entries[0][3]})
    open_: list[PatchTree] = [root]
    for key, kind, name, value in entries[1:]:
        depth = depth_of(key)
        while len(open_) >= depth:
            _close(open_)
        if kind == ELEMENT:
            open_.append(PatchTree(written(name), {written(each): text for each, text in value}))
        elif kind == TEXT:
            open_[-1].children.append(PatchChild("text()", value))
        else:
            test = "comment()" if kind == "c" else "processing-instruction()"
            open_[-1].children.append(PatchChild(test, value if kind == "c" else f"{name} {value}".strip()))
    while len(open_) > 1:
        _close(open_)
    return root


def _close(opened: list[PatchTree]) -> None:
    done = opened.pop()
    opened[-1].children.append(done.as_child())


def shown(child: PatchChild) -> str:
    """A child as text."""
    match child.kind:
        case "text()":
            return in_text(child.text)
        case "comment()":
            return f"<!--{child.text}-->"
        case "processing-instruction()":
            return f"<?{child.text}?>"
    return child.text


def _alone(child: PatchChild, scope: Scope) -> str:
    """A child as text that can stand anywhere: an element declares what it uses of ``scope``."""
    if child.kind != "*" or not scope:
        return shown(child)
    end = next(place for place, sign in enumerate(child.text) if sign in " />")
    first = child.text[end : child.text.index(">")]
    more = [
        attribute(f"xmlns:{prefix}" if prefix else "xmlns", uri)
        for prefix, uri in sorted(scope.items())
        if uri
        and (f"{prefix}:" in child.text if prefix else True)
        and f" xmlns{':' * bool(prefix)}{prefix}=" not in first
    ]
    return f"{child.text[:end]}{''.join(more)}{child.text[end:]}"


def _start(tree: PatchTree) -> tuple[str, list[tuple[str, str]]]:
    """What a patch cannot change of an element: its name, and the namespaces that it declares."""
    return tree.name, sorted(declared_by(tree.attributes.items()).items())


def _changed(old: PatchTree, new: PatchTree, path: PatchPath) -> list[PatchOperation]:
    return _attributes(old, new, path) + _children(old.children, new.children, path)


def _attributes(old: PatchTree, new: PatchTree, path: PatchPath) -> list[PatchOperation]:
    kept = [name for name in old.attributes if name in new.attributes]
    if [name for name in new.attributes if name in old.attributes] != kept or list(new.attributes)[
        : len(kept)
    ] != kept:
        # An attribute that is added comes last: those after it are written anew.
        kept = _prefix(list(old.attributes), list(new.attributes))
    found = [
        _operation("remove", path.at(f"@{name}", f"@{name}")) for name in old.attributes if name not in kept
    ]
    for name, value in new.attributes.items():
        if name not in kept:
            found.append(_operation("add", path, in_text(value), f"@{name}"))
        elif old.attributes[name] != value:
            found.append(_operation("replace", path.at(f"@{name}", f"@{name}"), in_text(value)))
    return found


def _operation(kind: str, path: PatchPath, content: str = "", place: str = "") -> PatchOperation:
    name = (place or path.now.rpartition("/")[2]).removeprefix("@")
    prefix = name.partition(":")[0] if ":" in name and not name.startswith("xml:") else ""
    space = (prefix, path.scope[prefix]) if prefix else None
    return PatchOperation(kind, path.now, content, place, path.before, place == "before", space)


def _prefix(old: list[str], new: list[str]) -> list[str]:
    """The names that can stay: in both in the same order, with none that is new before them."""
    kept: list[str] = []
    places = {name: place for place, name in enumerate(old)}
    last = -1
    for name in new:
        if name not in places or places[name] < last:
            break
        kept.append(name)
        last = places[name]
    return kept


def _children(old: Sequence[PatchChild], new: Sequence[PatchChild], path: PatchPath) -> list[PatchOperation]:
    start = 0
    while start < min(len(old), len(new)) and (old[start] is new[start] or old[start] == new[start]):
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and (
        old[-1 - end] is new[-1 - end] or old[-1 - end] == new[-1 - end]
    ):
        end += 1
    if start == len(old) == len(new):
        return []
    gap = PatchGap(start, old[start : len(old) - end], start, new[start : len(new) - end])
    if _shape(gap.gone, path.scope) == _shape(gap.come, path.scope):
        return _in_place(old, new, path, start, len(old) - end)
    if all(child.kind == "*" for child in (*old, *new)):
        return _elements(_gaps(gap), len(old), path)
    return _anew(old, new, path, start, end)


def _shape(children: Sequence[PatchChild], scope: Scope) -> list[object]:
    return [_tag(child, scope) if child.kind == "*" else child.kind for child in children]


def _tag(child: PatchChild, scope: Scope) -> object:
    """What children must have in common if one is to be changed into the other."""
    if child.tree is None and " xmlns" not in child.text:
        end = next((place for place, sign in enumerate(child.text) if sign in " />"), len(child.text))
        return child.text[1:end], []
    return _start(child.opened(scope))


def _step(children: Sequence[PatchChild], place: int) -> str:
    kind = children[place].kind
    return f"{kind}[{sum(child.kind == kind for child in children[: place + 1])}]"


def _in_place(
    old: Sequence[PatchChild], new: Sequence[PatchChild], path: PatchPath, start: int, end: int
) -> list[PatchOperation]:
    """Children of the same kinds and names, in the same order."""
    found: list[PatchOperation] = []
    for place in range(start, end):
        if old[place] == new[place]:
            continue
        inner = path.at(*[_step(old, place)] * 2)
        if old[place].kind == "*":
            tree = old[place].opened(path.scope)
            found += _changed(tree, new[place].opened(path.scope), inner.inside(tree))
        else:
            found.append(_operation("replace", inner, shown(new[place])))
    return found


def _anew(
    old: Sequence[PatchChild], new: Sequence[PatchChild], path: PatchPath, start: int, end: int
) -> list[PatchOperation]:
    """Texts and elements that change together: from one element that stays to the next, all is written anew."""
    while start and old[start - 1].kind == "text()":
        start -= 1
    while end and old[len(old) - end].kind == "text()":
        end -= 1
    last = len(old) - end
    found = [
        _operation("remove", path.at(*[_step(old, place)] * 2)) for place in range(last - 1, start - 1, -1)
    ]
    content = "".join([_alone(child, path.scope) for child in new[start : len(new) - end]])
    if not content:
        return found
    if not end:
        return [*found, _operation("add", path, content)]
    rest = [*old[:start], *old[last:]]
    return [*found, _operation("add", path.at(_step(rest, start), _step(old, last)), content, "before")]


def _elements(
    gaps: Sequence[PatchGap], size: int, path: PatchPath, moved: int = 0, grown: int = 0
) -> list[PatchOperation]:
    """Elements alone: those that are equal stay, alike ones are changed inside, others go and come."""
    pairs, gone = list[tuple[int, int, PatchChild, PatchChild]](), list[int]()
    #: A child that comes, its place, and the place of the one before the change that it comes before.
    come: list[tuple[int, int, PatchChild]] = []
    for gap in gaps:
        rest = list(range(len(gap.come)))
        before: dict[int, int] = {}
        for x, old in enumerate(gap.gone):
            same = len(gap.gone) == len(gap.come)
            y = next((y for y in rest if _is_pair(old, gap.come[y], same, path.scope)), None)
            if y is None:
                gone.append(gap.old + x)
            else:
                pairs.append((gap.old + x, gap.new + y, old, gap.come[y]))
                before[y] = gap.old + x
                rest = [z for z in rest if z > y]
        following = gap.old + len(gap.gone)
        new: list[tuple[int, int, PatchChild]] = []
        for y in range(len(gap.come) - 1, -1, -1):
            following = before.get(y, following)
            if y not in before:
                new.insert(0, (gap.new + y, following, gap.come[y]))
        come += new
    found = [_operation("remove", path.at(f"*[{x + moved + 1}]", f"*[{x + 1}]")) for x in reversed(gone)]
    left = size + grown - len(gone)
    for y, following, child in come:
        now = path.now if y >= left else f"{path.now}/*[{y + 1}]"
        beside = following < size
        target = f"{path.before}/*[{following + 1}]" if beside else path.before
        content = _alone(child, path.scope)
        found.append(PatchOperation("add", now, content, "before" if y < left else "", target, beside))
        left += 1
    for x, y, old, made in pairs:
        tree, inner = old.opened(path.scope), path.at(f"*[{y + 1}]", f"*[{x + 1}]")
        found += _changed(tree, made.opened(path.scope), inner.inside(tree))
    return found


def _is_pair(old: PatchChild, new: PatchChild, same_number: bool, scope: Scope) -> bool:
    if _tag(old, scope) != _tag(new, scope):
        return False
    if same_number:
        return True
    one, other = old.opened(scope), new.opened(scope)
    return one.attributes == other.attributes or _first_text(one) == _first_text(other)


def _first_text(tree: PatchTree) -> str:
    return tree.children[0].text if tree.children and tree.children[0].kind == "text()" else ""


def _gaps(gap: PatchGap) -> list[PatchGap]:
    """What lies between the children that are in both, in one order."""
    old, new = gap.gone, gap.come
    found: list[PatchGap] = []
    x = y = 0
    for a, b in (*_blocks(old, new), (len(old), len(new))):
        if x < a or y < b:
            found.append(PatchGap(gap.old + x, old[x:a], gap.new + y, new[y:b]))
        x, y = a + 1, b + 1
    return found


def _blocks(old: Sequence[PatchChild], new: Sequence[PatchChild]) -> list[tuple[int, int]]:
    if len(old) * len(new) > _LARGE:
        matcher = SequenceMatcher(None, old, new, autojunk=False)
        return [(a + n, b + n) for a, b, size in matcher.get_matching_blocks() for n in range(size)]
    longest = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i in range(len(old) - 1, -1, -1):
        for j in range(len(new) - 1, -1, -1):
            same = old[i] == new[j]
            longest[i][j] = longest[i + 1][j + 1] + 1 if same else max(longest[i + 1][j], longest[i][j + 1])
    found, i, j = list[tuple[int, int]](), 0, 0
    while i < len(old) and j < len(new):
        if old[i] == new[j]:
            found.append((i, j))
            i, j = i + 1, j + 1
        elif longest[i + 1][j] >= longest[i][j + 1]:
            i += 1
        else:
            j += 1
    return found
