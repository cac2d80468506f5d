"""Everything that is derived from a query, once: the passes in order, each checked.

Law: every step is well typed (``check`` passes after each), and the parts obey the laws of their passes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from nestling.calculus.show import show
from nestling.calculus.terms import DictInput, Dictionary, DictLit, Expr, InputChange, Relation
from nestling.calculus.traverse import relations, walk
from nestling.calculus.types import Bag, Path, Type, dictionary_name
from nestling.calculus.typing import check
from nestling.transform.classify import Classification, classify
from nestling.transform.pipeline import PASSES, run
from nestling.transform.shred import Shredded, dictionaries, shred
from nestling.transform.simplify import simplify
from nestling.transform.theory.cost import Cost, cost, show_cost, symbolic_size
from nestling.transform.theory.degree import degree
from nestling.transform.theory.delta import delta
from nestling.transform.theory.flags import DeepPath, infer_flags
from nestling.values.update import change_name

#: A delta with more nodes than this is not simplified: it doubles with every input, and nobody would read it.
MOST = 2_000
TOO_LONG = f"more than {MOST:,} terms, not shown"


@dataclass(frozen=True)
class Part:
    """One flat query of a shredded view: its flat part, or one definition of a dictionary.

    ``change`` and its cost are None where the delta is too long to be shown.
    """

    name: str
    query: Expr
    change: Expr | None
    degree: float
    cost: Cost
    cost_of_change: Cost | None
    definition: DictLit | None = None


@dataclass(frozen=True)
class Derivation:
    """A query with all that is known of it before it runs."""

    query: Expr
    normal: Expr
    shredded: Shredded
    classification: Classification
    cost: Cost
    parts: tuple[Part, ...]


def derive(
    name: str, query: Expr, deep: frozenset[DeepPath] = frozenset(), plain: Expr | None = None
) -> Derivation:
    """The derivation of ``query``, called ``name``; deep updates reach the inputs at ``deep``.

    ``plain``: its normal form, where that is known.
    """
    check(query)
    normal = infer_flags(run(query, PASSES) if plain is None else plain, deep)
    check(normal)
    shredded = shred(normal)
    check(shredded.flat)
    parts = [_part(f"{name}^F", shredded.flat, None)]
    for path, dictionary in dictionaries(shredded.context):
        for definition in _definitions(dictionary):
            label = f"{name}^Γ{_subscript(path)}"
            parts.append(_part(label, definition.body, definition))
    sizes = _symbolic_sizes(normal)
    return Derivation(query, normal, shredded, classify(normal), cost(normal, sizes), tuple(parts))


def _part(name: str, query: Expr, definition: DictLit | None) -> Part:
    changing, sizes = relations(query), _symbolic_sizes(query)
    raw = delta(query, changing)
    if any(islice(walk(raw), MOST, None)):
        return Part(name, query, None, degree(query), cost(query, sizes), None, definition)
    change = simplify(raw)
    sizes |= _symbolic_sizes(change)
    return Part(name, query, change, degree(query), cost(query, sizes), cost(change, sizes), definition)


def show_change(part: Part, width: int = 88) -> str:
    """The delta of a part, and that it is too long where it is."""
    return TOO_LONG if part.change is None else show(part.change, width)


def show_cost_of_change(part: Part) -> str:
    """What the delta of a part costs, where it was derived."""
    return "not computed" if part.cost_of_change is None else show_cost(part.cost_of_change)


def _definitions(dictionary: Dictionary) -> list[DictLit]:
    return [node for node in (dictionary, *getattr(dictionary, "parts", ())) if isinstance(node, DictLit)]


def _subscript(path: Path) -> str:
    return "".join(f".{step}" for step in path)


def _symbolic_sizes(expr: Expr) -> dict[str, Cost]:
    """``|R|`` for every relation, change and dictionary in ``expr``."""
    stored: dict[str, Type] = {}
    for node in walk(expr):
        match node:
            case Relation(name, type_):
                stored[name] = type_
            case InputChange(name, type_, order):
                stored[change_name(name, order)] = type_
            case DictInput(relation, path, element, order):
                name = dictionary_name(relation, path)
                stored[change_name(name, order) if order else name] = Bag(element)
    return {name: symbolic_size(name, type_) for name, type_ in stored.items()}
