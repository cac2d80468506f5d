"""A change as a JSON Patch (RFC 6902).

The document is the view as a JSON array of its rows, and each inner bag an array, all in the order in which ``rows``
are sorted: by value. A bag has no positions, so the patch finds them in the sorted answer, and costs what that holds.

Law: the patch applied to the document before the change gives the document after it.
"""

from __future__ import annotations

from typing import Any

from nestling.calculus.types import Bag, Record, Type
from nestling.database.export import plain
from nestling.frontend.schema import python_value
from nestling.values.bag import ZBag

Operation = dict[str, Any]


def document(element: Type, bag: ZBag) -> list[Any]:
    """A view's answer as JSON has it."""
    rows: list[Any] = plain(Bag(element), python_value(Bag(element), bag))
    return rows


def diff(type_: Type, before: Any, after: Any, path: str = "") -> list[Operation]:
    """The operations that make ``before`` into ``after``, two values of one type in JSON's form.

    Bags are compared from left to right: what is gone is removed, what is new is added, and a record that differs
    only inside is changed inside.
    """
    if before == after:
        return []
    match type_:
        case Record(fields):
            return [
                operation
                for name, field in fields
                for operation in diff(field, before[name], after[name], f"{path}/{_escaped(name)}")
            ]
        case Bag(element):
            return _diff_bags(element, before, after, path)
    return [{"op": "replace", "path": path, "value": after}]


def _diff_bags(element: Type, before: list[Any], after: list[Any], path: str) -> list[Operation]:
    here = {_identity(element, value): i for i, value in enumerate(before)}
    operations: list[Operation] = []
    now = list(before)
    wanted = [_identity(element, value) for value in after]
    kept = set(wanted) if len(set(wanted)) == len(wanted) and len(here) == len(before) else None
    for i in range(len(now) - 1, -1, -1):
        stays = _identity(element, now[i]) in kept if kept is not None else now[i] in after
        if not stays:
            operations.append({"op": "remove", "path": f"{path}/{i}"})
            del now[i]
    for i, value in enumerate(after):
        if i < len(now) and _identity(element, now[i]) == _identity(element, value):
            operations += diff(element, now[i], value, f"{path}/{i}")
            now[i] = value
        elif i < len(now) and now[i] == value:
            continue
        else:
            operations.append({"op": "add", "path": f"{path}/{i}", "value": value})
            now.insert(i, value)
    for i in range(len(now) - 1, len(after) - 1, -1):
        operations.append({"op": "remove", "path": f"{path}/{i}"})
    return operations


def _identity(element: Type, value: Any) -> Any:
    """What tells an element from others while its inner bags change: its scalars."""
    match element:
        case Record(fields):
            return tuple(_identity(t, value[name]) for name, t in fields if not isinstance(t, Bag))
        case Bag():
            return None
    return value


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
