"""Back from flat to nested, as a query: ``u_A[Γ](a) : Bag(A)``.

Law (5): ``nest ∘ shred = id`` on values. Law (6): ``evaluate(nest(shred(e))) = evaluate(e)``.
"""

from __future__ import annotations

from typing import assert_never

from nestling.calculus.build import elements, for_, lookup, product
from nestling.calculus.terms import Expr, Field, Sing, SingBag, Term, Var
from nestling.calculus.traverse import Names
from nestling.calculus.types import Bag, Dict, LabelType, Record, Scalar, Type
from nestling.calculus.typing import element_type
from nestling.transform.shred.context import BagContext, Context, RecordContext


def nest(flat: Expr, context: Context, element: Type, names: Names) -> Expr:
    """The bag of ``element``s that ``flat`` and ``context`` stand for: ``for x in flat union u(x)``."""
    if not has_labels(context):
        return flat
    var = Var(names.fresh("x"), element_type(flat))
    return for_(var, flat, nested(var, context, element, names))


def nested(term: Term, context: Context, type_: Type, names: Names) -> Expr:
    """``u_A[Γ](term)``: the one element of type ``A`` that ``term`` stands for."""
    if not has_labels(context):
        return Sing(term)
    match type_, context:
        case Record(fields), RecordContext():
            parts = [(name, nested(Field(term, name), context[name], t, names)) for name, t in fields]
            return product(parts)
        case Bag(element), BagContext(dictionary, inner):
            rows = elements(term) if dictionary is None else lookup(dictionary, term)
            return SingBag(0, nest(rows, inner, element, names), opaque=True)
        case ((Scalar() | LabelType() | Dict() | Record() | Bag()), _):
            return Sing(term)
        case _:
            assert_never(type_)


def has_labels(context: Context) -> bool:
    """Whether anything in ``context`` stands in a dictionary."""
    match context:
        case RecordContext(fields):
            return any(has_labels(inner) for _, inner in fields)
        case BagContext(dictionary, element):
            return dictionary is not None or has_labels(element)
    return False
