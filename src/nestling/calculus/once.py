"""Functions of terms that are asked again and again: each call of the calculus is looked at once.

A long condition or sum is a deep term. What asks for its type at every level would take its square, and what rebuilds
it for every statement its size each time; a call therefore remembers the answers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from nestling.calculus.terms import Call, facts_of

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")
_ITSELF: Any = object()


def once(function: Callable[[Asked], Answer]) -> Callable[[Asked], Answer]:
    """``function``, a pure one, whose answer for a call is remembered as long as that node lives.

    >>> asked = []
    >>> name = once(lambda term: asked.append(term) or term.function)
    >>> zero = Call("zero", ())
    >>> name(zero), name(zero), len(asked)
    ('zero', 'zero', 1)
    """

    @wraps(function)
    def asked(node: Asked) -> Answer:
        if not isinstance(node, Call):
            return function(node)
        facts = facts_of(node)
        if function not in facts:
            found = function(node)
            # A node that held itself would outlive its last user until the collector came.
            facts[function] = _ITSELF if found is node else found
        answer: Answer = facts[function]
        return node if answer is _ITSELF else answer  # type: ignore[return-value] # then it is an answer

    return asked
