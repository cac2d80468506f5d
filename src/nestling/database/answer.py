"""What a query answers on the tables as they are: its reference meaning, with every condition asked for early.

Law: ``answer(q) = evaluate(q)``. A WHERE stands behind all of FROM: without ``hoist`` a condition on the first of five
tables would be tried for every combination of rows of all five.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from nestling.calculus.evaluate import evaluate
from nestling.calculus.terms import Expr
from nestling.transform.hoist import hoist
from nestling.values.bag import ZBag

_hoisted = lru_cache(maxsize=256)(hoist)


def answer(query: Expr, tables: Mapping[str, ZBag]) -> ZBag:
    """The rows of ``query`` over ``tables``."""
    return evaluate(_hoisted(query), tables)
