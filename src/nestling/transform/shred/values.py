"""Shredding of values: a nested bag to a flat bag and its dictionaries, under a label policy.

Law (5): nesting what ``shred_value`` made gives the value back, under every policy and all flags.

Labels of an input belong to an occurrence, not to a value: two rows with equal inner bags have two labels,
for a deep update changes one and not the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Protocol

from nestling.calculus.types import ELEMENT, Bag, Path, Record, Type, dictionary_name
from nestling.values.bag import EMPTY, ZBag
from nestling.values.label import Label


class LabelPolicy(Protocol):
    """How the inner bags of an input get their names."""

    def label(self, site: str, enclosing: Label | None, row: Any) -> Label:
        """A label for the bag at ``site`` in ``row``, a record of the level that ``enclosing`` names.

        ``row`` is ``None`` where an opaque level stands between: its rows have no name to be keyed under.
        """
        ...


@dataclass
class Surrogates:
    """A new number for every bag: the policy of keyless relations."""

    numbers: count[int] = field(default_factory=count)

    def label(self, site: str, enclosing: Label | None, row: Any) -> Label:
        return Label(site, (next(self.numbers),))


@dataclass
class Keys:
    """The enclosing keys: deep updates are addressed by them.

    ``keys`` gives the positions of the key in a level's record, by site (the relation's name for its rows).
    A level without a key, and one inside an opaque level, takes surrogates. Deleting a row must delete
    the rows under its labels, else re-inserting the key would find them again.
    """

    keys: Mapping[str, tuple[int, ...]]
    fallback: Surrogates = field(default_factory=Surrogates)

    def label(self, site: str, enclosing: Label | None, row: Any) -> Label:
        level = str(enclosing.site) if enclosing else site.split(".", 1)[0]
        positions = self.keys.get(level)
        if positions is None or row is None:
            return self.fallback.label(site, enclosing, row)
        outer = enclosing.environment if enclosing else ()
        return Label(site, (*outer, *(row[i] for i in positions)))


@dataclass
class ShreddedValue:
    """``R^F`` and the dictionaries of ``R^Γ`` by name."""

    flat: ZBag
    dictionaries: dict[str, dict[Label, ZBag]]

    def as_database(self, relation: str) -> dict[str, Any]:
        """Under the names that ``evaluate`` reads."""
        return {relation: self.flat, **self.dictionaries}


def shred_value(relation: str, bag: ZBag, element: Type, policy: LabelPolicy) -> ShreddedValue:
    """``bag`` of ``element``s in the flat form that the flags of ``element`` ask for."""
    shredder = _Shredder(relation, policy)
    shredder.declare(element, ())
    return ShreddedValue(shredder.bag(bag, element, (), None), shredder.dictionaries)


class _Shredder:
    def __init__(self, relation: str, policy: LabelPolicy) -> None:
        self.relation, self.policy = relation, policy
        self.dictionaries: dict[str, dict[Label, ZBag]] = {}

    def declare(self, type_: Type, path: Path) -> None:
        """An empty dictionary for every shredded level, so that a bag without any still has its names."""
        match type_:
            case Record(fields):
                for name, inner in fields:
                    self.declare(inner, (*path, name))
            case Bag(element, opaque):
                here = path or (ELEMENT,)
                if not opaque:
                    self.dictionaries[dictionary_name(self.relation, here)] = {}
                self.declare(element, _below(here, element))

    def bag(
        self, bag: ZBag, element: Type, path: Path, enclosing: Label | None, *, opaque: bool = False
    ) -> ZBag:
        return ZBag(
            (self.value(value, element, path, enclosing, None if opaque else value), times)
            for value, times in bag.items()
        )

    def value(self, value: Any, type_: Type, path: Path, enclosing: Label | None, row: Any) -> Any:
        match type_:
            case Record(fields):
                inner = zip(value, fields, strict=True)
                return tuple(self.value(v, t, (*path, name), enclosing, row) for v, (name, t) in inner)
            case Bag(element, opaque):
                here = path or (ELEMENT,)
                if opaque:
                    return self.bag(value, element, _below(here, element), enclosing, opaque=True)
                site = dictionary_name(self.relation, here)
                label = self.policy.label(site, enclosing, row)
                rows = self.bag(value, element, _below(here, element), label)
                self.dictionaries[site][label] = self.dictionaries[site].get(label, EMPTY) + rows
                return label
        return value


def _below(path: Path, element: Type) -> Path:
    return (*path, ELEMENT) if isinstance(element, Bag) else path
