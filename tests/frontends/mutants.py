"""Random Python near to what people write: views with some of their expressions exchanged."""

import ast
import builtins
import copy
import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.frontends.shop import TABLES
from tests.frontends.views import VIEWS


def _returned(function: Any) -> ast.expr | None:
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(tree, ast.FunctionDef)
    last = tree.body[-1]
    plain = all(isinstance(part, ast.Return | ast.Expr) for part in tree.body)
    return last.value if plain and isinstance(last, ast.Return) else None


SEEDS = [expr for expr in map(_returned, VIEWS.values()) if expr is not None]
_ODD = """
None, [], {}, (), 0, 1.5, 'a', True, b'x', ..., 1j, -1, [1, 2], {1, 2}, {'a': 1}, (1,), [[]], [None],
[(1, [])], lambda x: x, lambda: 1, orders, numbers, o, n, o.items, n.m, n.a, numbers[0], o.ship, o.tags,
c.note, c.name, x, sum(numbers), len(orders), min([]), max((n.a for n in numbers)), any(numbers), all([]),
sorted(numbers), sorted(numbers)[:2], set(orders), list(numbers), dict(a=1), dict(), set(), int('3'),
float(n.m), str(n.m), abs(n.m), bool([]), (y := 3), f'{n.a:03}', f'{n.m}', f'{o.tags}',
n.a if n.m else None, not n, not o.items, -o.total, ~n.a, n.a ** 2, n.a << 1, n.a | n.b, [*o.tags],
(*o.ship,), {**o}, [*numbers, 1], {n.a: n.b for n in numbers}, {n.a: n.a for n in numbers},
{n.m for n in numbers}, {o.tags for o in orders}, {(n.a, n.m) for n in numbers},
[n for n in numbers if n.m], n.m < 1, n.m == None, None == None, None is None, n is None, o.items is None,
1 in numbers, n in numbers, n.a in numbers, o.tags in orders, 'a' in 'abc', c.note in c.name,
1 < 2 < 3 < n.m, n.a < n.m < 3, n == n, o == o, o.items == o.items, set(o.tags) == set(), o.items + [],
[] + o.items, o.items - o.items, o.tags + o.tags, o.items * 2, c.name * 2, c.name % 2, n.a / n.b,
n.a // 0, n.a % n.b, True + 1, n.a + True, min(n.a, n.m), max(1, 1.5, n.a), min(o.items, key=len),
max(o.tags, default=None), max(o.tags, default=''), print(n), range(3), zip(o.tags, o.tags), o.day + 1,
o.day - o.day, o.day.year, o.day < o.day, o.day == 1, v.at.hour, c.name[0], c.name[:1], o[0], o[99],
o['id'], o['x'], o[n.a], c.name.lower(), c.name.foo(), c.name.startswith(('a', 'b')), c.note.upper(),
o.items(), n.a(), sum((1 for _ in numbers)), sum([n.m for n in numbers]),
sum((n.m or 0 for n in numbers)), sum((n.a for n in numbers), 1), sum((n.a > 1 for n in numbers)),
[k for k in {'x': 1}], [k for k in (1, 2, 1)], [k for k in 'abc'], [a for a, b in numbers],
[a for a, b, c in numbers], n.a and n.b, n.a or 'x', n.m or n.a, o.tags or [], n.m and n.a > 1,
not (n.a and o.tags), None if n.a else None, [] if n.a else [], [1] if n.a else [],
(1, 2) if n.a else (n.m, 3), (1, 2) if n.a else 3, {'a': n.m, 'b': [n.a]},
any((t == 'a' for t in o.tags)) == True, any(o.tags) and all(o.tags), (any(o.tags), not any(o.tags)),
len({1, 1}), len([1, 1]), {n.a} | {n.b}, {n.a} & {k.b for k in numbers}, {n.a} - {1}, {n.a} ^ {n.m},
{n.a} <= {1}, {n.a} < {1}, await_, __import__('os'), open('f'), (lambda x: x + 1)(n.a),
{k: 1 for k in {n.a for n in numbers}} if n.a else {k: 2 for k in {n.b for n in numbers}},
len({n.a: 1 for n in numbers}), [v for k, v in {n.a: n.a + 1 for n in numbers}.items()], {1} if n.a else [2],
(lambda x, y=2: x * y)(n.a), (lambda *a: a)(1), (lambda xs: len(xs) + sum(xs))([k.a for k in numbers])
"""
ODD = [
    part
    for part in ast.iter_child_nodes(ast.parse(f"[{_ODD}]", mode="eval").body)
    if isinstance(part, ast.expr)
]
_INNER = [
    part
    for seed in SEEDS
    for part in ast.walk(seed)
    if isinstance(part, ast.expr) and not isinstance(part, ast.FormattedValue | ast.Name)
]


@dataclass(frozen=True)
class Spot:
    """A place in a tree where an expression stands, and the names that are bound there."""

    parent: ast.AST
    field: str
    index: int
    names: frozenset[str]


@st.composite
def mutants(draw: Any) -> str:
    """The text of a view in which one or two expressions were replaced, by others that use names in scope."""
    tree = ast.Expression(copy.deepcopy(draw(st.sampled_from(SEEDS))))
    for _ in range(draw(st.integers(1, 2))):
        spots = list(_spots(tree, frozenset(TABLES)))
        spot = draw(st.sampled_from(spots))
        fitting = [new for new, free in _POOL if free <= spot.names]
        _put(spot, copy.deepcopy(draw(st.sampled_from(fitting))))
    return ast.unparse(tree)


def _spots(node: ast.AST, names: frozenset[str]) -> Iterator[Spot]:
    names |= _bound(node)
    for field, value in ast.iter_fields(node):
        for index, part in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(part, ast.expr) and not _is_fixed(node, field, part):
                yield Spot(node, field, index, names)
            if isinstance(part, ast.AST) and not isinstance(part, ast.JoinedStr):
                yield from _spots(part, names)


def _is_fixed(parent: ast.AST, field: str, part: ast.expr) -> bool:
    """Whether ``part`` stays: a target, what is called, and what a field is taken from."""
    held = (isinstance(parent, ast.Attribute | ast.Subscript) and field == "value") or field == "func"
    return held or isinstance(getattr(part, "ctx", None), ast.Store)


def _put(spot: Spot, new: ast.expr) -> None:
    value = getattr(spot.parent, spot.field)
    if isinstance(value, list):
        value[spot.index] = new
    else:
        setattr(spot.parent, spot.field, new)


def _bound(node: ast.AST) -> frozenset[str]:
    """The names that ``node`` binds for what is inside it."""
    targets = [gen.target for gen in getattr(node, "generators", [])]
    names = {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}
    return frozenset(names | {arg.arg for arg in ast.walk(node) if isinstance(arg, ast.arg)})


def _free(node: ast.AST) -> frozenset[str]:
    inner = [_free(child) for child in ast.iter_child_nodes(node)]
    own = {node.id} if isinstance(node, ast.Name) and not hasattr(builtins, node.id) else set()
    return frozenset(own).union(*inner) - _bound(node)


_POOL = [(part, _free(part)) for part in (*ODD, *_INNER)]
