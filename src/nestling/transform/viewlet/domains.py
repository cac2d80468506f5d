"""Inner bags stored whole: the definition of a label, for the labels in use.

::

    Dom(x̄)    = exists(Sum over the rows that hold a label ⟨ι, x̄⟩)
    D(x̄, c̄)   = Dom(x̄) · definition(x̄, c̄)

No other code deals with new and unused labels: the change of ``Dom`` times the definition fills a new bag and empties
an unused one, ``Dom`` times the change of the definition updates the existing bags. The price is that a row costs as
many steps as it affects labels, whereas parts that a reading assembles cost the row alone.

``Dom`` counts rows, not multiplicities: with ⊖ in a query those of two rows can cancel while both hold the label.

Law (12): a restricted definition has rows under labels in use only, and for those all that the definition has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from graphlib import TopologicalSorter

from nestling.calculus.build import const, leaves
from nestling.calculus.terms import InL, Term, Var
from nestling.program.flat import Monomial, Pointwise, Query, Shape
from nestling.program.signs import is_nonnegative
from nestling.transform.lower import FlatView
from nestling.transform.lower.view import shape_of


def restricted(view: FlatView) -> dict[Shape, Query]:
    """The definitions of ``view``, each times the labels of its shape that are in use."""
    found: dict[Shape, Query] = {}
    for shape in _outer_first(view):
        definition = view.definitions[shape]
        outer = [view.rows, *(query for query in found.values() if shape in _made(query))]
        held = [m for query in outer for m in _holders(query, shape, definition.params)]
        in_use = Pointwise("exists", Query(definition.params, tuple(held)), definition.params)
        query = definition.query
        monomials = tuple(Monomial(m.keys, m.weights, (in_use, *m.factors)) for m in query.monomials)
        found[shape] = Query(query.keys, monomials, query.width)
    return found


def _outer_first(view: FlatView) -> Iterable[Shape]:
    sorter: TopologicalSorter[Shape] = TopologicalSorter(dict.fromkeys(view.definitions, ()))
    for shape, definition in view.definitions.items():
        for inner in _made(definition.query):
            sorter.add(inner, shape)
    return sorter.static_order()


def _made(query: Query) -> set[Shape]:
    """The shapes of the labels that ``query`` makes."""
    return {shape_of(key) for monomial in query.monomials for key in monomial.keys if isinstance(key, InL)}


def _holders(query: Query, shape: Shape, params: tuple[Var, ...]) -> Iterator[Monomial]:
    """Per column of ``query``, the environments of the labels of ``shape`` that its rows hold there."""
    for position in range(len(query.keys)):
        keyed = [
            Monomial(_spelled(m.keys, position), m.weights, m.factors)
            for m in query.monomials
            if isinstance(key := m.keys[position], InL) and shape_of(key) == shape
        ]
        columns = (*params, *query.keys[:position], *query.keys[position + 1 :])
        columns = tuple(Var(f"h{i}", column.type) for i, column in enumerate(columns))
        rows = Query(columns, tuple(keyed))
        if is_nonnegative(rows):
            yield from (Monomial(m.keys[: len(params)], m.weights, m.factors) for m in keyed)
        elif keyed:
            yield Monomial(columns[: len(params)], (const(1),), (Pointwise("exists", rows, columns),))


def _spelled(keys: tuple[Term, ...], position: int) -> tuple[Term, ...]:
    """``keys``, in the place of the label at ``position`` the columns of its environment, these first."""
    return (*environment(keys[position]), *keys[:position], *keys[position + 1 :])


def environment(term: Term) -> Iterator[Term]:
    """The columns of a label's environment; a label of the query in it stands for its own environment's."""
    for leaf in leaves(term):
        if isinstance(leaf, InL):
            for arg in leaf.args:
                yield from environment(arg)
        else:
            yield leaf
