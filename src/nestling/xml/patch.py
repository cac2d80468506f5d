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

    def opened(self) -> PatchTree:
        """An element as a tree."""
        return self.tree if self.tree is not None else parsed_tree(self.text)


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
    """``add``, ``remove`` or ``replace``; ``place`` is ``before``, or ``@name`` for an attribute that is added."""

    kind: str
    selector: str
    content: str = ""
    place: str = ""

    def __str__(self) -> str:
        more = ""
        if self.place:
            more = f' type="{self.place}"' if self.place.startswith("@") else f' pos="{self.place}"'
        start = f'<{self.kind} sel="{in_value(self.selector)}"{more}'
        return f"{start}>{self.content}</{self.kind}>" if self.content else f"{start}/>"


def patch(old: PatchTree, new: PatchTree) -> list[PatchOperation]:
    """The operations that lead from one root element to another; where names differ, the root is replaced."""
    if old.name != new.name:
        return [PatchOperation("replace", "/*", new.as_child().text)]
    return _changed(old, new, "/*")


def parsed_tree(text: str) -> PatchTree:
    """The tree of an element's text, one level deep: its children are opened where a patch goes into them."""
    entries = fragment_entries(text)
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


def _changed(old: PatchTree, new: PatchTree, path: str) -> list[PatchOperation]:
    return _attributes(old, new, path) + _children(old.children, new.children, path)


def _attributes(old: PatchTree, new: PatchTree, path: str) -> list[PatchOperation]:
    kept = [name for name in old.attributes if name in new.attributes]
    if [name for name in new.attributes if name in old.attributes] != kept or list(new.attributes)[
        : len(kept)
    ] != kept:
        # An attribute that is added comes last: those after it are written anew.
        kept = _prefix(list(old.attributes), list(new.attributes))
    found = [PatchOperation("remove", f"{path}/@{name}") for name in old.attributes if name not in kept]
    for name, value in new.attributes.items():
        if name not in kept:
            found.append(PatchOperation("add", path, in_text(value), f"@{name}"))
        elif old.attributes[name] != value:
            found.append(PatchOperation("replace", f"{path}/@{name}", in_text(value)))
    return found


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


def _children(old: Sequence[PatchChild], new: Sequence[PatchChild], path: str) -> list[PatchOperation]:
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
    window = slice(start, len(old) - end), slice(start, len(new) - end)
    if _shape(old[window[0]]) == _shape(new[window[1]]):
        return _in_place(old, new, path, start, len(old) - end)
    if all(child.kind == "*" for child in (*old, *new)):
        return _elements(old[window[0]], new[window[1]], path, start, end)
    return _anew(old, new, path, start, end)


def _shape(children: Sequence[PatchChild]) -> list[str]:
    return [_tag(child) if child.kind == "*" else child.kind for child in children]


def _tag(child: PatchChild) -> str:
    if child.tree is not None:
        return child.tree.name
    end = next((place for place, sign in enumerate(child.text) if sign in " />"), len(child.text))
    return child.text[1:end]


def _selector(children: Sequence[PatchChild], place: int, path: str) -> str:
    kind = children[place].kind
    return f"{path}/{kind}[{sum(child.kind == kind for child in children[: place + 1])}]"


def _in_place(
    old: Sequence[PatchChild], new: Sequence[PatchChild], path: str, start: int, end: int
) -> list[PatchOperation]:
    """Children of the same kinds and names, in the same order."""
    found: list[PatchOperation] = []
    for place in range(start, end):
        if old[place] == new[place]:
            continue
        selector = _selector(old, place, path)
        if old[place].kind == "*":
            found += _changed(old[place].opened(), new[place].opened(), selector)
        else:
            found.append(PatchOperation("replace", selector, shown(new[place])))
    return found


def _anew(
    old: Sequence[PatchChild], new: Sequence[PatchChild], path: str, start: int, end: int
) -> list[PatchOperation]:
    """Texts and elements that change together: from one element that stays to the next, all is written anew."""
    while start and old[start - 1].kind == "text()":
        start -= 1
    while end and old[len(old) - end].kind == "text()":
        end -= 1
    last = len(old) - end
    found = [
        PatchOperation("remove", _selector(old, place, path)) for place in range(last - 1, start - 1, -1)
    ]
    content = "".join([shown(child) for child in new[start : len(new) - end]])
    if not content:
        return found
    if not end:
        return [*found, PatchOperation("add", path, content)]
    rest = [*old[:start], *old[last:]]
    return [*found, PatchOperation("add", _selector(rest, start, path), content, "before")]


def _elements(
    old: Sequence[PatchChild], new: Sequence[PatchChild], path: str, start: int, end: int
) -> list[PatchOperation]:
    """Elements alone: those that are equal stay, alike ones are changed inside, others go and come."""
    pairs, gone, come = list[tuple[int, int]](), list[int](), list[int]()
    for olds, news in _gaps(old, new):
        rest = list(news)
        for x in olds:
            y = next((y for y in rest if _is_pair(old[x], new[y], len(olds) == len(news))), None)
            if y is None:
                gone.append(x)
            else:
                pairs.append((x, y))
                rest = [z for z in rest if z > y]
        paired = {y for _, y in pairs}
        come += [y for y in news if y not in paired]
    found = [PatchOperation("remove", f"{path}/*[{start + x + 1}]") for x in reversed(gone)]
    size = start + len(old) - len(gone) + end
    for y in come:
        if start + y >= size:
            found.append(PatchOperation("add", path, new[y].text))
        else:
            found.append(PatchOperation("add", f"{path}/*[{start + y + 1}]", new[y].text, "before"))
        size += 1
    for x, y in pairs:
        found += _changed(old[x].opened(), new[y].opened(), f"{path}/*[{start + y + 1}]")
    return found


def _is_pair(old: PatchChild, new: PatchChild, same_number: bool) -> bool:
    if _tag(old) != _tag(new):
        return False
    if same_number:
        return True
    one, other = old.opened(), new.opened()
    return one.attributes == other.attributes or _first_text(one) == _first_text(other)


def _first_text(tree: PatchTree) -> str:
    return tree.children[0].text if tree.children and tree.children[0].kind == "text()" else ""


def _gaps(old: Sequence[PatchChild], new: Sequence[PatchChild]) -> list[tuple[list[int], list[int]]]:
    """What lies between the children that are in both, in one order."""
    found: list[tuple[list[int], list[int]]] = []
    x = y = 0
    for block in _blocks(old, new):
        found.append((list(range(x, block[0])), list(range(y, block[1]))))
        x, y = block[0] + 1, block[1] + 1
    found.append((list(range(x, len(old))), list(range(y, len(new)))))
    return [gap for gap in found if gap[0] or gap[1]]


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
