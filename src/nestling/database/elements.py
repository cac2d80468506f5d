"""Changes of inner bags in bulk: each row says which element to insert into or delete from which bag.

Under the name of an inner bag, ``"orders.items"``, a row has the key of the row around it and the element: as the
column ``element``, or by the element's own columns. For a bag inside a bag it also has, under the name of each bag on
the way, columns that tell the element of that bag from all others::

    db.apply({"orders.items": [{"id": 7, "pid": 1, "qty": 2, "_change_type": "insert"}]})
    db.apply(
        {
            "docs.sections.words": [
                {"id": 1, "sections": {"title": "a"}, "element": "x", "_change_type": "delete"}
            ]
        }
    )
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from nestling.calculus.types import Path, Record, dictionary_name
from nestling.database.deep import Address, address_columns, check_elements
from nestling.database.definitions import TableDef
from nestling.errors import ChangeError, shown
from nestling.frontend.schema import element_value, multiplicity
from nestling.frontend.schema.write import Links

#: The key of a row, the address of a bag in it, an element, and how often it comes.
Element = tuple[Any, Address, Any, int]


def inner_bag(tables: Mapping[str, TableDef], name: str) -> tuple[TableDef, Path] | None:
    """The table and the level that ``name`` stands for, if it is an inner bag's."""
    if name in tables:
        return None
    for table in tables.values():
        path = tuple(name.removeprefix(f"{table.name}.").split("."))
        if name.startswith(f"{table.name}."):
            check_elements(table, path)
        if name.startswith(f"{table.name}.") and path in table.levels:
            return table, path
    return None


def elements(table: TableDef, level: Path, changes: Any, links: Links = None) -> list[Element]:
    """What comes and goes, each once: deletions first."""
    total: dict[Any, Element] = {}
    for row, times in changes.items():
        key, address, place, value = _element(table, level, row, links)
        before = total.get((key, place, value), (key, address, value, 0))[3]
        total[key, place, value] = (key, address, value, before + multiplicity(times))
    return sorted((found for found in total.values() if found[3]), key=lambda found: found[3] > 0)


def outer_bags(table: TableDef, level: Path) -> list[str]:
    """The names of the bags on the way to a level."""
    return [level[i - 1] for i in range(1, len(level)) if level[:i] in table.levels]


def _element(table: TableDef, level: Path, row: Any, links: Links) -> tuple[Any, Address, Any, Any]:
    """The key, the address as it is given and as it can be compared, and the element."""
    named = dict(row) if isinstance(row, Mapping) else _by_name(table, level, row)
    parts = tuple(_taken(named, name) for name in table.key)
    address: list[str | Mapping[str, Any]] = []
    place: list[tuple[int, Any]] = []
    outer = outer_bags(table, level)
    for i, name in enumerate(level, start=1):
        address.append(name)
        if level[:i] in table.levels and i < len(level):
            told = _taken(named, name)
            if not isinstance(told, Mapping):
                raise ChangeError(
                    f"{name} is {shown(told)}", hint="it has columns that tell an element from all others"
                )
            address.append(told)
            place += address_columns(
                dictionary_name(table.name, level[:i]), table.levels[level[:i]].element, told
            )
    type_ = table.levels[level].element
    if "element" in named:
        value = named.pop("element")
        if named:
            raise _unknown(next(iter(named)), [*table.key, *outer, "element"])
    elif isinstance(type_, Record):
        value = named
    else:
        raise ChangeError("column 'element' is missing", hint="it holds the element to insert or delete")
    key = parts[0] if len(parts) == 1 else parts
    return key, tuple(address), tuple(place), element_value(type_, value, links)


def _by_name(table: TableDef, level: Path, row: Any) -> dict[str, Any]:
    names = [*table.key, *outer_bags(table, level), "element"]
    if not isinstance(row, tuple) or len(row) != len(names):
        raise ChangeError(f"a change of an inner bag has {', '.join(names)}, not {shown(row)}")
    return dict(zip(names, row, strict=True))


def _taken(named: dict[str, Any], name: str) -> Any:
    if name not in named:
        raise ChangeError(f"column {name!r} is missing", hint="it says which bag it is")
    return named.pop(name)


def _unknown(name: str, names: Iterable[str]) -> ChangeError:
    return ChangeError(f"there is no column {name!r}", hint=f"the columns are {', '.join(names)}")
