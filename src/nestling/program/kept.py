"""What a table keeps: columns that no update changes, and references that the order of events keeps good.

A row that changes keeps its key, its fixed columns, and the labels of its inner bags, which are made of the key.

Rows come parents first and go children first, so at every event each row has the rows that it refers to. Tables that
refer to each other in a cycle, or a table that refers to itself, have no such order. The inner bags of a row belong to
it: what they refer to comes before the row, and goes after it.

Law: ``parents_first`` lists what a table refers to before it, unless the two are in a cycle.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from graphlib import TopologicalSorter

from nestling.calculus.types import LABEL
from nestling.program.statements import TableDecl

Tables = Mapping[str, TableDecl]
#: From a table to one that it refers to; both may be inner bags' owners.
Edges = frozenset[tuple[str, str]]


def kept_columns(table: TableDecl) -> frozenset[int]:
    """The columns of a row that are the same after an update of it."""
    labels = (i for i, column in enumerate(table.columns) if column.type == LABEL)
    return frozenset((*table.key, *labels, *table.fixed))


def parents_first(tables: Tables) -> list[str]:
    """The tables, what they refer to before them, and the inner bags of a row before the row."""
    owners: dict[str, list[str]] = {}
    for name in tables:
        owners.setdefault(_owner(name, owners), []).append(name)
    sorter: TopologicalSorter[str] = TopologicalSorter({owner: set[str]() for owner in owners})
    for child, parent in _in_order(_edges(tables)):
        sorter.add(child, parent)
    return [name for owner in sorter.static_order() for name in reversed(owners.get(owner, []))]


def is_in_order(child: str, parent: str, tables: Tables) -> bool:
    """Whether rows of ``child`` come after those of ``parent`` that they refer to, and go before them."""
    names = list(tables)
    return (_owner(child, names), _owner(parent, names)) in _in_order(_edges(tables))


def _owner(name: str, others: Iterable[str]) -> str:
    """The table whose row has this inner bag; of a table, itself."""
    return next((other for other in others if name.startswith(f"{other}.")), name)


def _edges(tables: Tables) -> Edges:
    names = list(tables)
    return frozenset(
        (_owner(name, names), _owner(parent, names))
        for name, decl in tables.items()
        for _, parent in decl.references
        if parent in tables
    )


@lru_cache(maxsize=64)
def _in_order(edges: Edges) -> Edges:
    """The edges that are on no cycle."""
    return frozenset((child, parent) for child, parent in edges if child not in _reached(parent, edges))


def _reached(start: str, edges: Edges) -> set[str]:
    """All that ``start`` leads to, itself among it."""
    found, pending = {start}, [start]
    while pending:
        at = pending.pop()
        new = {parent for child, parent in edges if child == at} - found
        found |= new
        pending += new
    return found
