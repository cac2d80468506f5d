"""Comparisons of scalars, structs and arrays, as Spark has them.

A struct comes before another by the first fields that differ, an array whose order is declared by the first elements
that differ, or because it ends there; a null comes before all else. Nulls inside two of them are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nestling.calculus.build import FALSE, TRUE, call, conjunction
from nestling.calculus.maps import is_map
from nestling.calculus.terms import Const, Term
from nestling.calculus.types import Scalar
from nestling.frontend.sql.codes import code, has_code, is_sorted
from nestling.frontend.sql.context import SqlEnv
from nestling.frontend.sql.convert import alike, is_nullable, is_text, operands, scalar_type
from nestling.frontend.sql.values import shown
from nestling.frontend.values import Many, Null, One, Value, bag_of, fields_of, there, type_of

#: What to write where an array has no order.
DECLARE = "declare its order: db.table(…, ordered=['column']), or nl.List[T] in a class"


def compared(operator: str, left: Value, right: Value, node: Any, env: SqlEnv) -> Term:
    """``left operator right``, null where a side is. Nulls inside two structs are equal, as they are in Spark."""
    ours, theirs = fields_of(left), fields_of(right)
    if ours is not None and theirs is not None:
        pairs = _pairs(ours, theirs, node, env)
        if operator in ("=", "<>"):
            found = conjunction([identical(one, two, node, env) for one, two in pairs])
        else:
            first = pairs if operator in ("<", "<=") else [(two, one) for one, two in pairs]
            found = before(first, operator in ("<=", ">="), node, env)
        found = _where_there(found, left, right)
        return call("not", found) if operator == "<>" else found
    if (arrays := _arrays(left, right, operator, node, env)) is not None:
        return _arrays_compared(operator, *arrays, (left, right), node, env)
    for side in (left, right):
        if bag_of(side) is not None or fields_of(side) is not None:
            raise env.error(node, f"{operator} does not take {shown(side)}", "compare scalars")
    if isinstance(left, Null) and isinstance(right, Null):
        return Const(None, Scalar("bool", True))
    one, two = _comparable(left, right, node, env)
    total = not is_nullable(one) and not is_nullable(two)
    if operator == "<>":
        return call("!=", one, two) if total else call("not", call("=", one, two))
    return call("==" if operator == "=" and total else operator, one, two)


def _where_there(found: Term, left: Value, right: Value) -> Term:
    """``found``, null where a side is."""
    for is_there in [flag for flag in (there(left), there(right)) if flag is not None]:
        null = Const(None, Scalar("bool", True))
        found = call("if", is_there, found if is_nullable(found) else call("nullable", found), null)
    return found


def _arrays(left: Value, right: Value, operator: str, node: Any, env: SqlEnv) -> tuple[Value, Value] | None:
    """Both sides as lists of one type, and never null; ``None`` where neither is an array."""
    sides = [bag for side in (left, right) if (bag := bag_of(side)) is not None]
    if len(sides) < 2 or any(is_map(type_of(side)) for side in sides):
        return None
    for side in sides:
        if not has_code(type_of(side)):
            what = f"{operator} compares arrays in order, and this {shown(side)} has none"
            raise env.error(node, what, DECLARE)
    one, two = alike(sides, node, env)
    return one, two


def _arrays_compared(
    operator: str, ours: Value, theirs: Value, sides: tuple[Value, Value], node: Any, env: SqlEnv
) -> Term:
    if operator in ("=", "<>"):
        codes = [
            _or_null(code(array, node, env), there(side))
            for array, side in zip((ours, theirs), sides, strict=True)
        ]
        found: Term = call("=" if any(map(is_nullable, codes)) else "==", *codes)
        return call("not", found) if operator == "<>" else found
    first = (ours, theirs) if operator in ("<", "<=") else (theirs, ours)
    return _where_there(_array_before(*first, operator in ("<=", ">="), node, env), *sides)


def _or_null(term: Term, flag: Term | None) -> Term:
    return (
        term if flag is None else call("if", flag, call("nullable", term), Const(None, Scalar("str", True)))
    )


def _array_before(ours: Value, theirs: Value, or_same: bool, node: Any, env: SqlEnv) -> Term:
    """Whether an array comes before another: at the first position where they differ, or because it ends there."""
    for side in (ours, theirs):
        if not is_sorted(type_of(side)):
            raise env.error(node, f"an {shown(side)} has no order here", "compare its elements one by one")
    return call("<=" if or_same else "<", code(ours, node, env), code(theirs, node, env))


def before(pairs: Sequence[tuple[Value, Value]], or_same: bool, node: Any, env: SqlEnv) -> Term:
    """Whether a struct comes before another: by the first fields that differ, and a null comes before all else."""
    if not pairs:
        return TRUE if or_same else FALSE
    (one, two), rest = pairs[0], before(pairs[1:], or_same, node, env)
    ours, theirs = fields_of(one), fields_of(two)
    if ours is not None and theirs is not None:
        first: Term = before(_pairs(ours, theirs, node, env), False, node, env)
        flags = [flag for flag in (there(one), there(two)) if flag is not None]
    elif (arrays := _arrays(one, two, "<", node, env)) is not None:
        first = _array_before(*arrays, False, node, env)
        flags = [flag for flag in (there(one), there(two)) if flag is not None]
    else:
        terms = operands([one, two], node, env)
        first = (
            call("coalesce", call("<", *terms), FALSE) if any(map(is_nullable, terms)) else call("<", *terms)
        )
        flags = [call("not", call("is_null", term)) for term in terms if is_nullable(term)]
        both = [is_nullable(term) for term in terms]
        if flags:
            # They differ: where the left one is null it comes first, and where the right one is it does not.
            first = call("or", call("not", flags[0]), first) if both[0] else first
        return call("if", identical(one, two, node, env), rest, first)
    if len(flags) == 2:
        first = call("if", flags[0], call("and", flags[1], first), TRUE)
    return call("if", identical(one, two, node, env), rest, first)


def _comparable(left: Value, right: Value, node: Any, env: SqlEnv) -> Sequence[Term]:
    """Both sides with a type in common; a whole number is compared with any number as it is."""
    if isinstance(left, One) and isinstance(right, One) and not is_text(left) and not is_text(right):
        names = {scalar_type(left.term).name, scalar_type(right.term).name}
        if names in ({"int", "float"}, {"int", "decimal"}):
            return left.term, right.term
    return operands([left, right], node, env)


def _pairs(ours: Any, theirs: Any, node: Any, env: SqlEnv) -> list[tuple[Value, Value]]:
    if len(ours) != len(theirs):
        raise env.error(node, f"{len(ours)} values are not compared with {len(theirs)}", "")
    return [(one, two) for (_, one), (_, two) in zip(ours, theirs, strict=True)]


def column_by_column(operator: str, left: Value, right: Value, node: Any, env: SqlEnv) -> Term:
    """``(a, b) IN (SELECT …)`` compares column by column: what is null in one is not known to be equal."""
    ours, theirs = fields_of(left), fields_of(right)
    if ours is None or theirs is None or operator not in ("=", "<>"):
        return compared(operator, left, right, node, env)
    equal = conjunction([compared("=", one, two, node, env) for one, two in _pairs(ours, theirs, node, env)])
    return equal if operator == "=" else call("not", equal)


def identical(left: Value, right: Value, node: Any, env: SqlEnv) -> Term:
    """``left <=> right``: a null equals a null and nothing else, also inside structs."""
    if isinstance(left, Null) and isinstance(right, Null):
        return TRUE
    ours, theirs = fields_of(left), fields_of(right)
    for side, other in ((left, right), (right, left)):
        if isinstance(side, Null) and (
            isinstance(other, Many) or fields_of(other) is not None or there(other)
        ):
            return FALSE if (is_there := there(other)) is None else call("not", is_there)
    if (arrays := _arrays(left, right, "<=>", node, env)) is not None:
        same = call("==", *(code(side, node, env) for side in arrays))
        both = [TRUE if (is_there := there(side)) is None else is_there for side in (left, right)]
        return same if both == [TRUE, TRUE] else conjunction([call("==", *both), same])
    if ours is None or theirs is None:
        return call("==", *operands([left, right], node, env))
    flags = [TRUE if (is_there := there(side)) is None else is_there for side in (left, right)]
    tests = [identical(one, two, node, env) for one, two in _pairs(ours, theirs, node, env)]
    return conjunction(tests if flags == [TRUE, TRUE] else [call("==", *flags), *tests])
