"""The nodes of the calculus: a closed union, no behaviour.

::

    t ::= x | t.f | ⟨f: t, …⟩ | const | fn(t, …) | inL_ι(t, …)                  terms: elements of bags
    e ::= R | ΔR | X | let X := e in e | ∅ | sng(t) | sng_ι(e) | [t]
        | for x in e union e | ⟨f: e × …⟩ | e ⊎ … | ⊖e | flatten(e)             NRC⁺
        | f(e, …)                                                               count-wise operators
        | fold x := agg(e) in e | group x in e by k := t as X union e           aggregates
        | d(t)                                                                  dictionaries
    d ::= [⟨ι, x, …⟩ ↦ e] | R.path | d ∪ … | []

All expressions denote bags. Variables carry their type, so ``type_of`` needs no environment. Raw
constructors (capital letters) build what they are told; ``build`` has the ones that normalise.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from nestling.calculus.types import Bag, Path, Scalar, Type
from nestling.errors import Span

Term: TypeAlias = "Var | Field | Tuple | Const | Call | InL"
Expr: TypeAlias = (
    "Relation | InputChange | BagVar | Let | Empty | Sing | SingBag | Guard | For | Product | Union"
    " | Negate | Flatten | CountWise | First | Fold | Group | Lookup"
)
Dictionary: TypeAlias = "DictLit | DictInput | DictUnion | DictEmpty"
Node: TypeAlias = "Term | Expr | Dictionary"


@dataclass(frozen=True, slots=True)
class Var:
    """``x`` — the element a ``for``, a ``fold`` or a ``group`` binds.

    ``at`` is where in the text it was read what the binder stands for; no part of the term.
    """

    name: str
    # Names alone tell variables apart well enough, and a statement has a hundred of them.
    type: Type = field(hash=False)
    at: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Field:
    """``t.f`` — one component of a record."""

    record: Term
    name: str


@dataclass(frozen=True, slots=True)
class Tuple:
    """``⟨f: t, …⟩`` — a record of terms."""

    fields: tuple[tuple[str, Term], ...]


@dataclass(frozen=True, slots=True)
class Const:
    """A scalar that does not depend on anything."""

    value: Any
    type: Scalar

    def __eq__(self, other: object) -> bool:
        # Python holds 1 == True == 1.0; the calculus does not.
        return (
            isinstance(other, Const)
            and self.type == other.type
            and type(self.value) is type(other.value)
            and self.value == other.value
        )

    def __hash__(self) -> int:
        return hash((self.type, self.value))


class _Noted:
    """Room for what ``once`` has found out about a node. It is no part of the term."""

    __slots__ = ("facts",)
    facts: dict[Any, Any]


@dataclass(frozen=True, slots=True)
class Call(_Noted):
    """``fn(t, …)`` — a scalar function of ``functions.FUNCTIONS``."""

    function: str
    args: tuple[Term, ...]

    def __hash__(self) -> int:
        # Calls are the nodes that grow deep: each is hashed once.
        facts = facts_of(self)
        if hash not in facts:
            facts[hash] = hash((self.function, self.args))
        found: int = facts[hash]
        return found


def facts_of(call: Call) -> dict[Any, Any]:
    """What was found out about ``call``, by the function that did."""
    try:
        return call.facts
    except AttributeError:
        facts: dict[Any, Any] = {}
        object.__setattr__(call, "facts", facts)
        return facts


@dataclass(frozen=True, slots=True)
class InL:
    """``inL_ι(t, …)`` — the label of site ι for the environment ``t, …``."""

    site: int
    args: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Relation:
    """``R`` — an input bag."""

    name: str
    type: Bag


@dataclass(frozen=True, slots=True)
class InputChange:
    """``ΔR`` — what is added to ``R``; ``order`` tells the changes of repeated deltas apart."""

    name: str
    type: Bag
    order: int = 1


@dataclass(frozen=True, slots=True)
class BagVar:
    """``X`` — the bag a ``let`` or a ``group`` binds."""

    name: str
    type: Bag


@dataclass(frozen=True, slots=True)
class Let:
    """``let X := bound in body``."""

    var: BagVar
    bound: Expr
    body: Expr


@dataclass(frozen=True, slots=True)
class Empty:
    """``∅`` — the bag of no elements."""

    type: Bag


@dataclass(frozen=True, slots=True)
class Sing:
    """``sng(t)`` — one element, a term. It never depends on the input."""

    element: Term


@dataclass(frozen=True, slots=True)
class SingBag:
    """``sng_ι(e)`` — one element, the bag ``e``. ``site`` is ι; ``opaque`` is the new level's flag."""

    site: int
    body: Expr
    opaque: bool = False


@dataclass(frozen=True, slots=True)
class Guard:
    """``[t]`` — the bag ``{⟨⟩}`` where ``t`` is true, else ``∅`` (also where it is null)."""

    test: Term


@dataclass(frozen=True, slots=True)
class For:
    """``for x in source union body`` — the sum of ``body`` over ``source``.

    An element of multiplicity *m* contributes *m* copies of ``body``; *m* may be negative.
    """

    var: Var
    source: Expr
    body: Expr


@dataclass(frozen=True, slots=True)
class Product:
    """``⟨f: e × …⟩`` — records with one component from each factor; multiplicities multiply."""

    factors: tuple[tuple[str, Expr], ...]


@dataclass(frozen=True, slots=True)
class Union:
    """``e ⊎ …`` — multiplicities add."""

    terms: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Negate:
    """``⊖e`` — multiplicities change sign."""

    body: Expr


@dataclass(frozen=True, slots=True)
class Flatten:
    """``flatten(e)`` — the sum of the bags in ``e``."""

    body: Expr


@dataclass(frozen=True, slots=True)
class CountWise:
    """``f(e, …)`` — ``x ↦ f(multiplicity of x in each argument)``; see ``countwise.OPERATORS``.

    Elements are compared by content, inner bags and all.
    """

    operator: str
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class First:
    """``first(k, e)`` — the ``limit`` least elements of ``e``, copies counted one by one; ``last(k, e)``, the greatest.

    What comes first is said by ``values.order``. Elements are compared by content, inner bags and all.
    """

    limit: int
    source: Expr
    greatest: bool = False


@dataclass(frozen=True, slots=True)
class Fold:
    """``fold x := aggregate(source) in body`` — ``body`` with ``x`` bound to one scalar.

    This is how an aggregate becomes a value: a column of a row or a side of a comparison.
    """

    var: Var
    aggregate: str
    source: Expr
    body: Expr


@dataclass(frozen=True, slots=True)
class Group:
    """``group x in source by k := key as X union body`` — ``body`` once per key that has a count.

    ``k`` is bound to the key and ``X`` to the elements of ``source`` with that key. It abbreviates
    ``for k in exists(for x in source union sng(key)) union
    let X := for x in source where key == k union sng(x) in body``.
    """

    var: Var
    source: Expr
    key: Term
    key_var: Var
    rows: BagVar
    body: Expr


@dataclass(frozen=True, slots=True)
class Lookup:
    """``d(t)`` — the bag that ``d`` holds under label ``t``; ``∅`` where ``d`` does not define it."""

    dictionary: Dictionary
    label: Term


@dataclass(frozen=True, slots=True)
class DictLit:
    """``[⟨ι, x, …⟩ ↦ body]`` — every label of site ι, defined by its environment."""

    site: int
    params: tuple[Var, ...]
    body: Expr


@dataclass(frozen=True, slots=True)
class DictInput:
    """``R.path`` — the inner bags of an input at ``path``; ``order`` > 0 is their change (deep updates)."""

    relation: str
    path: Path
    element: Type
    order: int = 0


@dataclass(frozen=True, slots=True)
class DictUnion:
    """``d ∪ …`` — label union: definitions of one label must agree. It defines; only ``⊎`` changes."""

    parts: tuple[Dictionary, ...]


@dataclass(frozen=True, slots=True)
class DictEmpty:
    """``[]`` — no label is defined."""

    element: Type
