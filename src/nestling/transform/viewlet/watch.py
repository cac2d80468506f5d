"""The queries to log so that subscribers receive the change of a view element by element.

For every level of a view one query: the rows, and for an inner bag the rows together with its elements, as a
join. Its delta holds the elements that came and went, each beside the row it belongs to.

Law (10): what the logs of a view say, applied to its answer before, gives its answer after.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count

from nestling.calculus.build import call
from nestling.calculus.lex import label, word
from nestling.calculus.terms import InL, Term, Var
from nestling.calculus.types import ELEMENT, Bag, Path, Type, flat_type, leaf_types
from nestling.program.flat import Atom, Monomial, Query
from nestling.program.statements import TableDecl
from nestling.program.traverse import substitute
from nestling.transform.lower.unify import unify
from nestling.transform.lower.view import Definition, FlatView, shape_of
from nestling.transform.viewlet.domains import environment


@dataclass(frozen=True)
class Watch:
    """One level: its log's name, the path to it, and how many columns come before those of its elements.

    ``outer`` names the log of the level around it, and ``position`` the column there that holds its label.
    """

    name: str
    path: Path
    element: Type
    before: int
    query: Query
    outer: str = ""
    position: int = 0


def watches(name: str, view: FlatView, tables: Mapping[str, TableDecl]) -> list[Watch]:
    """The logs of ``view``, outermost level first."""
    # As the calculus writes names, so that no view is called like an inner bag of another.
    root = Watch(f"·watch {word(name)}", (), view.element, 0, view.rows)
    return list(_with_inner(root, view, tables))


def _with_inner(outer: Watch, view: FlatView, tables: Mapping[str, TableDecl]) -> Iterator[Watch]:
    yield outer
    for position, path, bag in _label_columns(outer.element):
        monomials = [
            joined
            for monomial in outer.query.monomials
            for joined in _elements(monomial, monomial.keys[outer.before + position], view, tables)
        ]
        columns = tuple(Var(f"e{i}", t) for i, t in enumerate(_column_types(flat_type(bag.element))))
        query = Query((*outer.query.keys, *columns), tuple(monomials))
        steps = path or (ELEMENT,)
        name = f"{outer.name} · {'.'.join(map(label, steps))}"
        inner = Watch(
            name, (*outer.path, *steps), bag.element, len(outer.query.keys), query, outer.name, position
        )
        yield from _with_inner(inner, view, tables)


def _label_columns(element: Type) -> list[tuple[int, Path, Bag]]:
    positions = count()
    return [
        (position, path, type_)
        for path, type_ in leaf_types(element)
        for position in [next(positions)]
        if isinstance(type_, Bag) and not type_.opaque
    ]


def _column_types(type_: Type) -> list[Type]:
    return [leaf for _, leaf in leaf_types(type_)]


def _elements(
    outer: Monomial, label: Term, view: FlatView, tables: Mapping[str, TableDecl]
) -> Iterator[Monomial]:
    """``outer`` joined with the elements of the bag that ``label`` names."""
    if isinstance(label, InL):
        yield from _defined(outer, label, view.definitions[shape_of(label)])
        return
    name = _dictionary(outer, label, tables)
    columns = tuple(Var(f"{name}.e{i}", c.type) for i, c in enumerate(tables[name].columns[1:]))
    yield Monomial((*outer.keys, *columns), outer.weights, (*outer.factors, Atom(name, (label, *columns))))


def _defined(outer: Monomial, label: InL, definition: Definition) -> Iterator[Monomial]:
    values = [leaf for arg in label.args for leaf in environment(arg)]
    params = {p.name: value for p, value in zip(definition.params, values, strict=True)}
    for monomial in definition.query.monomials:
        # Lowering names variables apart across a whole view, so the two share none but the parameters.
        inner = substitute(monomial, params)
        keys = (*outer.keys, *inner.keys[len(params) :])
        weights = tuple(call("*", a, b) for a, b in zip(outer.weights, inner.weights, strict=True))
        joined = unify(Monomial(keys, weights, (*outer.factors, *inner.factors)))
        if joined is not None:
            yield joined


def _dictionary(monomial: Monomial, label: Term, tables: Mapping[str, TableDecl]) -> str:
    """Where the bag of a label that was read from a table stands: the column it was read from is called so."""
    for factor in monomial.factors:
        if isinstance(factor, Atom) and label in factor.args:
            return tables[factor.name].columns[factor.args.index(label)].name
    raise LookupError(f"no table has the label {label}")
