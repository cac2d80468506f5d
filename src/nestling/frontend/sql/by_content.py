"""Rows told apart by the arrays in them: grouped by the codes of these (``codes``), which are scalars.

All rows of a group have the same array. So the array of the group is the distinct bag of the entries of all of them.
"""

from __future__ import annotations

from typing import Any

from nestling.calculus.build import call, const, countwise, for_
from nestling.calculus.optional import ITEMS, THERE, is_optional
from nestling.calculus.terms import BagVar, Expr, Field, Group, Term, Tuple, Var
from nestling.calculus.types import Bag, Record, Type, is_base
from nestling.calculus.typing import element_type, term_type
from nestling.frontend.sql.codes import code, has_code
from nestling.frontend.sql.context import SqlEnv
from nestling.frontend.values import Many, One, Row, Value, bag_of, of_term, singleton


def is_array(type_: Type) -> bool:
    """Whether values of ``type_`` are arrays, or may be, that have codes."""
    inside = type_.fields[-1][1] if is_optional(type_) and isinstance(type_, Record) else type_
    return isinstance(inside, Bag) and has_code(type_)


def array_of_group(rows: Expr, name: str, coded: Term) -> Value:
    """The array that all ``rows`` have in the column ``name``, whose code is ``coded``."""
    row = Var(f"{name}_of_row", element_type(rows))
    value = of_term(Field(row, name))
    bag = bag_of(value)
    assert bag is not None
    whole = Many(countwise("distinct", for_(row, rows, bag.expr)))
    if isinstance(value, Many):
        return whole
    return Row(((THERE, One(call("!=", coded, const("0")))), (ITEMS, whole)))


def distinct_rows(rows: Expr, node: Any, env: SqlEnv) -> Expr:
    """Each of ``rows`` once, also where they have arrays in order."""
    type_ = element_type(rows)
    assert isinstance(type_, Record)
    arrays = [name for name, field in type_.fields if is_array(field)]
    if not arrays or not all(is_base(field) for name, field in type_.fields if name not in arrays):
        return countwise("distinct", rows)
    run, row = env.run, env.run.var("r", rows)

    def coded() -> Expr:
        own: list[tuple[str, Value]] = [(name, of_term(Field(row, name))) for name in type_.names]
        codes = [(f"·{name}", One(code(value, node, env))) for name, value in own if name in arrays]
        return singleton(Row((*own, *codes)), run.site)

    source = run.let("rows", for_(row, rows, run.enclosed(coded)))
    each = run.var("r", source)
    key = Tuple(tuple((n, Field(each, f"·{n}" if n in arrays else n)) for n in type_.names))
    key_var = Var(run.names.fresh("g"), term_type(key))
    same = BagVar(run.names.fresh("rows"), Bag(each.type))
    fields = [
        (n, array_of_group(same, n, Field(key_var, n)) if n in arrays else of_term(Field(key_var, n)))
        for n in type_.names
    ]
    return Group(each, source, key, key_var, same, singleton(Row(tuple(fields)), run.site))
