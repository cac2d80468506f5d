"""Terms of the calculus as Python expressions, and aggregates as readings of a cell.

Law: the expression of a term, with its variables' values, evaluates to what ``evaluate_term`` says.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cache
from types import CodeType
from typing import Any, assert_never

from nestling.calculus.aggregates import EVERY
from nestling.calculus.arithmetic import mean
from nestling.calculus.functions import FUNCTIONS, apply_function
from nestling.calculus.partial import undefined_where
from nestling.calculus.terms import Call, Const, Field, InL, Term, Tuple, Var
from nestling.calculus.traverse import free_vars, height
from nestling.calculus.types import Record, Scalar
from nestling.calculus.typing import term_type
from nestling.quoting import Words, literal, remark
from nestling.values.exact import FLOAT_END, mean_float, one_nan, rounded_float
from nestling.values.label import Label
from nestling.values.nan import NAN

#: Functions that Python writes as an operator with the same meaning on values that are not null.
_INFIX = {
    "==": "==", "!=": "!=", "=": "==", "<": "<", "<=": "<=", ">": ">", ">=": ">=",
    "+": "+", "-": "-", "*": "*", "/": "/", "//": "//", "%": "%",
}  # fmt: skip


#: So many calls inside one another are written as one expression.
LEVELS = 40


def namespace() -> dict[str, Any]:
    """What generated expressions may name; the dictionary is the caller's."""
    return _namespace().copy()


@cache
def _namespace() -> dict[str, Any]:
    names: dict[str, Any] = {
        "Label": Label, "Decimal": Decimal, "date": date, "datetime": datetime, "time": time,
        "timedelta": timedelta,
        "inf": float("inf"), "nan": NAN, "FLOAT_END": FLOAT_END, "lazy_and": lazy_and, "lazy_or": lazy_or,
        "mean": mean, "one_nan": one_nan, "mean_float": mean_float, "rounded_float": rounded_float,
    }  # fmt: skip
    for function in FUNCTIONS.values():
        if function.name.isidentifier():
            names[f"fn_{function.name}"] = function.apply
        names[_strict_name(function.name)] = _strict(function.name)
    for aggregate in EVERY.values():
        names[f"read_{aggregate.name}"] = aggregate.read
    return names


def run_source(source: str, file: str, names: dict[str, Any]) -> None:
    """Run generated source: what it defines is in ``names`` then."""
    run_compiled(compiled(source, file), names)


def compiled(source: str, file: str) -> CodeType:
    """Generated source, ready to run over any names."""
    return compile(source, f"<{remark(file)}>", "exec")


def run_compiled(code: CodeType, names: dict[str, Any]) -> None:
    """Run what was compiled of generated source. Nothing else runs text as code."""
    exec(code, names)


def _strict(name: str) -> Any:
    function = FUNCTIONS[name]
    return lambda *args: apply_function(function, args)


def _strict_name(name: str) -> str:
    return f"null_{name}" if name.isidentifier() else "null_" + "_".join(str(ord(c)) for c in name)


@cache
def _names_in_use() -> frozenset[str]:
    """What generated expressions call: no variable may stand in its way."""
    return frozenset(_namespace()) | frozenset(dir(builtins))


class Scope:
    """Python names for the variables of the calculus, one each; and for ``constants``, which are made but once."""

    def __init__(self, taken: Iterable[str] = (), constants: dict[str, str] | None = None) -> None:
        self._names: dict[str | tuple[str, str], str] = {}
        self._words = Words(taken, reserved=_names_in_use())
        self._constants = constants

    def constant(self, value: Any) -> str:
        """``value`` as a literal, or the name of what a constructor makes of one."""
        text = literal(value)
        if self._constants is None or not isinstance(value, Decimal | date | time | timedelta):
            return text
        return self._named(text)

    def part(self, term: Term, text: str) -> str:
        """A call of a function that computes ``term``, which is ``text``; or that text, where none can be defined."""
        if self._constants is None:
            return text
        names = ", ".join(sorted(map(self.name, free_vars(term))))
        return f"{self._named(f'lambda {names}: {text}')}({names})"

    def _named(self, text: str) -> str:
        assert self._constants is not None
        # No variable has such a name: theirs are ASCII.
        return self._constants.setdefault(text, f"const·{len(self._constants)}")

    def name(self, var: Var | str) -> str:
        wanted = var if isinstance(var, str) else var.name
        if wanted not in self._names:
            self._names[wanted] = self._words.fresh(wanted.lstrip("·"))
        return self._names[wanted]

    def beside(self, word: str, suffix: str) -> str:
        """A word that goes with ``word``; no variable has it, whatever it is called."""
        if (word, suffix) not in self._names:
            self._names[word, suffix] = self._words.fresh(f"{word}_{suffix}")
        return self._names[word, suffix]

    def keep(self, var: Var, name: str) -> None:
        """Let ``var`` be called ``name``, which is reserved for it."""
        self._names[var.name] = name


def python(term: Term, scope: Scope) -> str:
    """``term`` as a Python expression."""
    return _python(term, scope, 0)


def python_key(term: Term, scope: Scope) -> str:
    """The same for a key: a float that is computed and is NaN becomes the one NaN, which is found again."""
    match term:
        case Tuple(items):
            return tuple_of([python_key(item, scope) for _, item in items])
        case InL(site, args):
            return f"Label({site}, {tuple_of([python_key(arg, scope) for arg in args])})"
        case Call() if is_float(term):
            return f"one_nan({_python(term, scope, 0)})"
    return _python(term, scope, 0)


def _python(term: Term, scope: Scope, level: int) -> str:
    match term:
        case Var():
            return scope.name(term)
        case Const(value, _):
            return scope.constant(value)
        case Tuple(items):
            return tuple_of([_python(item, scope, 0) for _, item in items])
        case Field(record, name):
            return f"{_python(record, scope, 9)}[{_index(record, name)}]"
        case InL(site, args):
            return f"Label({site}, {tuple_of([_python(arg, scope, 0) for arg in args])})"
        case Call():
            # Python reads at most 200 parentheses inside one another.
            deep = height(term) % LEVELS == 0
            return scope.part(term, _call(term, scope, 0)) if deep else _call(term, scope, level)
        case _:
            assert_never(term)


def tuple_of(parts: Sequence[str]) -> str:
    """``(a, b)``, ``(a,)`` or ``()``."""
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def _call(term: Call, scope: Scope, level: int) -> str:
    name, args = term.function, term.args
    match name, args:
        case "among", (value, *others) if (text := _among(value, others, scope, level)) is not None:
            return text
        case "and" | "or", (left, right) if not is_nullable(left) and not is_nullable(right):
            own = 1 if name == "or" else 2
            text = f"{_python(left, scope, own)} {name} {_python(right, scope, own + 1)}"
            return f"({text})" if level > own else text
        case "not", (arg,) if not is_nullable(arg):
            text = f"not {_python(arg, scope, 3)}"
            return f"({text})" if level > 3 else text
        case "if", (test, then, Call(infix) as otherwise) if infix in _INFIX and test == undefined_where(
            otherwise
        ):
            # It is asked only where it has a value: Python's own operator does.
            return f"({_python(then, scope, 1)} if {truth(test, scope)} else {_infix(otherwise, scope, 0)})"
        case "if", (test, then, otherwise):
            condition = _python(test, scope, 1) + (" is True" if is_nullable(test) else "")
            return f"({_python(then, scope, 1)} if {condition} else {_python(otherwise, scope, 0)})"
        case "is_null", (Call("nullable", (arg,)),):
            return _call(Call("is_null", (arg,)), scope, level)
        case "is_null", (Const(value, _),):
            return repr(value is None)
        case "is_null", (arg,):
            return f"({_python(arg, scope, 9)} is None)"
        case "and" | "or", (left, right):
            # Short-circuit, as the reference does: the right side may be defined only where the left is undecided.
            thunk = f"lambda: {_python(right, scope, 0)}"
            return f"lazy_{name}({_python(left, scope, 0)}, {thunk})"
    return _strict_call(term, scope, level)


def _strict_call(term: Call, scope: Scope, level: int) -> str:
    name, args = term.function, term.args
    # Each argument is written once: twice at every level would be 2ⁿ times.
    if FUNCTIONS[name].strict and any(map(is_nullable, args)):
        return _named_call(_strict_name(name), args, scope)
    if name in _INFIX and undefined_where(term) is None and not _is_called(name, args):
        return _infix(term, scope, level)
    if name == "no_to_float" and all(_kind(arg) == "int" and not is_nullable(arg) for arg in args):
        return f"(not -FLOAT_END < {_python(args[0], scope, 5)} < FLOAT_END)"
    if name in _SPELLED and undefined_where(term) is None:
        return _SPELLED[name].format(*(_python(arg, scope, 9) for arg in args))
    return _named_call(f"fn_{name}" if name.isidentifier() else _strict_name(name), args, scope)


def _named_call(name: str, args: Iterable[Term], scope: Scope) -> str:
    return f"{name}({', '.join(_python(arg, scope, 0) for arg in args)})"


def _infix(term: Call, scope: Scope, level: int) -> str:
    """An operator of values that are not null, as Python's."""
    name, args = term.function, term.args
    if any(map(is_nullable, args)) or _is_called(name, args):
        return _named_call(_strict_name(name), args, scope)
    own = FUNCTIONS[name].precedence
    # Comparisons chain in Python, so both their sides bind tighter than they do.
    left = own + 1 if own == 4 else own
    text = f"{_python(args[0], scope, left)} {_INFIX[name]} {_python(args[1], scope, own + 1)}"
    return f"({text})" if level > own else text


def _is_called(name: str, args: tuple[Term, ...]) -> bool:
    """Whether Python's operator has another meaning: a division of decimals has digits of its own, and NaN equals
    itself."""
    kind = {"/": "decimal", "//": "decimal", "%": "decimal", "==": "float", "!=": "float", "=": "float"}
    return name in kind and any(_kind(arg) == kind[name] for arg in args)


def _kind(term: Term) -> str:
    type_ = term_type(term)
    return type_.name if isinstance(type_, Scalar) else ""


#: Functions that Python spells otherwise than by a call of their name.
_SPELLED = {
    "year": "{}.year", "month": "{}.month", "day": "{}.day", "lower": "{}.lower()", "upper": "{}.upper()",
    "strip": "{}.strip()", "length": "len({})", "abs": "abs({})", "neg": "(-{})",
    "starts_with": "{}.startswith({})", "ends_with": "{}.endswith({})", "nullable": "{}",
}  # fmt: skip


def _among(term: Term, values: Sequence[Term], scope: Scope, level: int) -> str | None:
    """``x in {1, 2, …}``, where Python can make the set when it reads the source."""
    if not all(isinstance(value, Const) and value.value is not None for value in values):
        return None
    if any(_kind(value) != _kind(term) for value in values) or _kind(term) not in ("int", "str", "bytes"):
        return None
    texts = ", ".join(dict.fromkeys(_python(value, scope, 0) for value in values))
    text = f"{_python(term, scope, 5)} in {{{texts}}}"
    if is_nullable(term):
        return f"(None if {_python(term, scope, 5)} is None else {text})"
    return f"({text})" if level > 3 else text


def lazy_and(left: Any, right: Any) -> Any:
    """Kleene's ``and`` whose right side is looked at only if the left leaves it open."""
    return False if left is False else FUNCTIONS["and"].apply(left, right())


def lazy_or(left: Any, right: Any) -> Any:
    """Kleene's ``or`` whose right side is looked at only if the left leaves it open."""
    return True if left is True else FUNCTIONS["or"].apply(left, right())


def is_nullable(term: Term) -> bool:
    """Whether ``term`` may be null."""
    if isinstance(term, Call) and term.function in ("==", "!=", "is_null"):
        return False  # total, and of labels too, which flat queries compare
    type_ = term_type(term)
    return isinstance(type_, Scalar) and type_.nullable


def is_float(term: Term) -> bool:
    """Whether ``term`` is a float, and so perhaps no number."""
    type_ = term_type(term)
    return isinstance(type_, Scalar) and type_.name == "float"


def _index(record: Term, name: str) -> int:
    type_ = term_type(record)
    index = type_.index(name) if isinstance(type_, Record) else None
    if index is None:
        raise KeyError(name)
    return index


def truth(test: Term, scope: Scope) -> str:
    """``test`` as a condition: a null is not true."""
    text = python(test, scope)
    return f"({text}) is True" if is_nullable(test) else text
