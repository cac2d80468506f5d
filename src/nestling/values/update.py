"""Updates: one Z-bag per relation, and one per label for deep updates.

An update is what a transaction hands over. ``relations`` holds whole rows added (positive) and removed
(negative); ``deep`` holds elements added to and removed from single inner bags, addressed by the
dictionary (``"orders.items"``) and the label.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from nestling.values.bag import EMPTY, ZBag
from nestling.values.label import Label

Dictionary: TypeAlias = Mapping[Label, ZBag]
Database: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Update:
    """What changes, by name.

    Law: updates form a group under ``+``, and ``apply(apply(db, u), -u) == db``.
    """

    relations: Mapping[str, ZBag] = field(default_factory=dict)
    deep: Mapping[str, Dictionary] = field(default_factory=dict)

    def __neg__(self) -> Update:
        return Update(
            {name: -bag for name, bag in self.relations.items()},
            {name: {label: -bag for label, bag in rows.items()} for name, rows in self.deep.items()},
        )

    def __add__(self, other: Update) -> Update:
        relations = {
            name: self.relations.get(name, EMPTY) + other.relations.get(name, EMPTY)
            for name in (*self.relations, *other.relations)
        }
        deep = {
            name: add_dictionaries(self.deep.get(name, {}), other.deep.get(name, {}))
            for name in (*self.deep, *other.deep)
        }
        return Update(relations, deep)

    def apply(self, database: Database) -> dict[str, Any]:
        """``database`` after the update."""
        after = dict(database)
        for name, bag in self.relations.items():
            after[name] = after.get(name, EMPTY) + bag
        for name, rows in self.deep.items():
            after[name] = add_dictionaries(after.get(name, {}), rows)
        return after

    def as_changes(self, order: int = 1) -> dict[str, Any]:
        """The update under its Δ-names, as ``evaluate`` reads them."""
        named = {**self.relations, **self.deep}
        return {change_name(name, order): value for name, value in named.items()}


def add_dictionaries(left: Dictionary, right: Dictionary) -> dict[Label, ZBag]:
    """``⊎`` of dictionaries: bags of a label add up. A label stays defined when its bag becomes empty."""
    return {label: left.get(label, EMPTY) + right.get(label, EMPTY) for label in (*left, *right)}


def change_name(name: str, order: int) -> str:
    """The name of the ``order``-th change of a relation or dictionary.

    >>> change_name("R", 1), change_name("R.items", 2)
    ('ΔR', 'Δ2R.items')
    """
    return f"Δ{name}" if order == 1 else f"Δ{order}{name}"
