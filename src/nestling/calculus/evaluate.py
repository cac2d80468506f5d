"""The reference meaning: slow, obvious, complete. It is the oracle of everything that follows.

A database is a mapping from names to values: ``"R"`` to a bag, ``"R.items"`` to a dictionary (label to
bag), and the changes of both under their Δ-names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, assert_never

from nestling.calculus.aggregates import aggregate_of
from nestling.calculus.countwise import apply_countwise
from nestling.calculus.functions import FUNCTIONS, apply_function
from nestling.calculus.terms import (
    BagVar,
    Call,
    Const,
    CountWise,
    DictEmpty,
    DictInput,
    Dictionary,
    DictLit,
    DictUnion,
    Empty,
    Expr,
    Field,
    First,
    Flatten,
    Fold,
    For,
    Group,
    Guard,
    InL,
    InputChange,
    Let,
    Lookup,
    Negate,
    Product,
    Relation,
    Sing,
    SingBag,
    Term,
    Tuple,
    Union,
    Var,
)
from nestling.calculus.types import Record, dictionary_name
from nestling.calculus.typing import element_type, term_type
from nestling.errors import NestlingError
from nestling.values.bag import EMPTY, ZBag, add_all
from nestling.values.label import Label
from nestling.values.order import first
from nestling.values.update import Database, change_name

Env = Mapping[str, Any]


def evaluate(expr: Expr, database: Database, env: Env | None = None) -> ZBag:
    """``[[expr]]`` in ``database``, its free variables bound by ``env``.

    >>> from nestling.calculus.types import INT, Bag
    >>> R = Relation("R", Bag(INT))
    >>> evaluate(Union((R, Negate(Sing(Const(2, INT))))), {"R": ZBag.of(1, 2, 2)})
    {1: 1, 2: 1}
    """
    return _bag(expr, database, env or {})


def _bag(expr: Expr, db: Database, env: Env) -> ZBag:  # noqa: C901 - one arm per node
    match expr:
        case Relation(name):
            return _stored(db, name)
        case InputChange(name, _, order):
            return _stored(db, change_name(name, order))
        case BagVar(name):
            bag: ZBag = _variable(env, name)
            return bag
        case Empty():
            return EMPTY
        case Let(var, bound, body):
            return _bag(body, db, {**env, var.name: _bag(bound, db, env)})
        case Sing(element):
            return ZBag.of(evaluate_term(element, env))
        case SingBag(_, body):
            return ZBag.of(_bag(body, db, env))
        case Guard(test):
            return ZBag.of(()) if evaluate_term(test, env) is True else EMPTY
        case For(var, source, body):
            rows = _bag(source, db, env).items()
            return add_all(_bag(body, db, {**env, var.name: value}) * times for value, times in rows)
        case Product(factors):
            return ZBag(_combinations([_bag(factor, db, env) for _, factor in factors]))
        case Union(terms):
            return add_all(_bag(term, db, env) for term in terms)
        case Negate(body):
            return -_bag(body, db, env)
        case Flatten(body):
            return add_all(inner * times for inner, times in _bag(body, db, env).items())
        case CountWise(operator, args):
            return apply_countwise(operator, [_bag(arg, db, env) for arg in args])
        case First(limit, source, greatest):
            return first(_bag(source, db, env), limit, greatest)
        case Fold(var, aggregate, source, body):
            value = aggregate_of(aggregate, element_type(source)).of(_bag(source, db, env))
            return _bag(body, db, {**env, var.name: value})
        case Group():
            return _group(expr, db, env)
        case Lookup(dictionary, label):
            found = look_up(dictionary, evaluate_term(label, env), db)
            return EMPTY if found is None else found
        case _:
            assert_never(expr)


def _combinations(bags: list[ZBag]) -> Iterator[tuple[tuple[Any, ...], int]]:
    if not bags:
        yield (), 1
        return
    rest = list(_combinations(bags[1:]))
    for value, times in bags[0].items():
        for values, more in rest:
            yield (value, *values), times * more


def _group(group: Group, db: Database, env: Env) -> ZBag:
    rows: dict[Any, list[tuple[Any, int]]] = {}
    for value, times in _bag(group.source, db, env).items():
        key = evaluate_term(group.key, {**env, group.var.name: value})
        rows.setdefault(key, []).append((value, times))
    return add_all(
        _bag(group.body, db, {**env, group.key_var.name: key, group.rows.name: ZBag(members)})
        for key, members in rows.items()
        if sum(times for _, times in members)
    )


def look_up(dictionary: Dictionary, label: Label, db: Database) -> ZBag | None:
    """The definition of ``label``, or ``None`` where the dictionary does not support it."""
    match dictionary:
        case DictLit(site, params, body):
            if label.site != site:
                return None
            # A definition sees its label's environment and nothing else.
            values = zip(params, label.environment, strict=True)
            return _bag(body, db, {param.name: value for param, value in values})
        case DictInput(relation, path, _, order):
            name = dictionary_name(relation, path)
            rows: Mapping[Label, ZBag] = db.get(change_name(name, order) if order else name, {})
            return rows.get(label)
        case DictUnion(parts):
            return _agreed(label, [look_up(part, label, db) for part in parts])
        case DictEmpty():
            return None
        case _:
            assert_never(dictionary)


def _agreed(label: Label, found: list[ZBag | None]) -> ZBag | None:
    definitions = [bag for bag in found if bag is not None]
    if any(bag != definitions[0] for bag in definitions[1:]):
        raise NestlingError(f"label {label!r} has two definitions that differ: {definitions}")
    return definitions[0] if definitions else None


def evaluate_term(term: Term, env: Env) -> Any:
    """The value of ``term``; records are tuples."""
    match term:
        case Var(name):
            return _variable(env, name)
        case Const(value):
            return value
        case Field(record, name):
            return evaluate_term(record, env)[_position(record, name)]
        case Tuple(items):
            return tuple(evaluate_term(item, env) for _, item in items)
        case Call("if", (test, then, otherwise)):
            return evaluate_term(then if evaluate_term(test, env) is True else otherwise, env)
        case Call("and" | "or" as name, (left, right)):
            # Short-circuit: the right side may be defined only where the left lets it be looked at.
            first = evaluate_term(left, env)
            decided = first is (name == "or")
            return first if decided else FUNCTIONS[name].apply(first, evaluate_term(right, env))
        case Call(function, args):
            return apply_function(FUNCTIONS[function], [evaluate_term(arg, env) for arg in args])
        case InL(site, args):
            return Label(site, tuple(evaluate_term(arg, env) for arg in args))
        case _:
            assert_never(term)


def _position(record: Term, name: str) -> int:
    type_ = term_type(record)
    index = type_.index(name) if isinstance(type_, Record) else None
    if index is None:
        raise NestlingError(f"no field {name!r} in {type_}")
    return index


def _stored(db: Database, name: str) -> ZBag:
    if name not in db:
        raise NestlingError(f"the database has no bag {name!r}", hint=f"it has {', '.join(db) or 'nothing'}")
    bag: ZBag = db[name]
    return bag


def _variable(env: Env, name: str) -> Any:
    if name not in env:
        raise NestlingError(f"variable {name!r} is not bound")
    return env[name]
