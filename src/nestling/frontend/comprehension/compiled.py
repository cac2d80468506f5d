"""Whether a text is what runs: the code that a function has, found again among what its file compiles to.

A file may have been edited since it was imported, a function's code replaced, its module's text changed by a hook on
the way. Reading such a text would give a view of something that nobody runs.

Law: what ``code_in`` finds computes what ``code`` computes, from the same names and constants.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dis import COMPILER_FLAG_NAMES
from functools import lru_cache
from types import CodeType

#: Of the flags of code, those that say how it is called: its kind, its ``*args``; not how its text was compiled.
_KIND = sum(flag for flag, name in COMPILER_FLAG_NAMES.items() if name != "NOFREE")


def code_in(text: str, code: CodeType) -> CodeType | None:
    """The code that ``text`` has where ``code`` says it was compiled from, if it is the same."""
    same = [found for found in _compiled(text) if _same(found, code)]
    places = list(code.co_positions())
    exact = [found for found in same if list(found.co_positions()) == places]
    return next(iter([*exact, *same]), None)


@lru_cache(maxsize=16)
def _compiled(text: str) -> tuple[CodeType, ...]:
    with warnings.catch_warnings():
        # Python warned of odd literals when it read the file itself.
        warnings.simplefilter("ignore")
        return tuple(_inside(compile(text, "", "exec", dont_inherit=True)))


def _inside(code: CodeType) -> Iterator[CodeType]:
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield const
            yield from _inside(const)


def _same(one: CodeType, other: CodeType) -> bool:
    """Whether the two do the same; the places of instructions within a line may differ."""
    return _facts(one) == _facts(other) and all(map(_same_const, one.co_consts, other.co_consts))


def _facts(code: CodeType) -> tuple[object, ...]:
    return (
        code.co_name, code.co_firstlineno, code.co_flags & _KIND, code.co_code, len(code.co_consts),
        code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount,
        code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_exceptiontable,
    )  # fmt: skip


def _same_const(one: object, other: object) -> bool:
    if isinstance(one, CodeType) and isinstance(other, CodeType):
        return _same(one, other)
    return _written(one) == _written(other)


def _written(const: object) -> object:
    """``const`` by its types and how it is written: 1 and True are equal, 0.0 and -0.0 too."""
    if isinstance(const, tuple | frozenset):
        return type(const), type(const)(_written(part) for part in const)
    return type(const), repr(const)
