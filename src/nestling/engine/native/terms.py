"""Terms as byte code. What has no operation is a function of Python, asked once for each combination of its arguments.

Law: the register of a term holds the word of what ``evaluate_term`` says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import copysign
from typing import Any

from nestling.calculus.aggregates import EVERY
from nestling.calculus.terms import Call, Const, Term, Var
from nestling.calculus.traverse import free_vars, walk
from nestling.calculus.types import LABEL, Scalar
from nestling.calculus.typing import term_type
from nestling.engine.native.bytecode import Assembler, PythonFunctions, Register
from nestling.engine.native.values import IN_ORDER, Unsupported, kind_of
from nestling.engine.python.terms import (
    Scope,
    compiled,
    is_nullable,
    namespace,
    python_key,
    run_compiled,
)

Env = Mapping[str, Register]

_COMPARED = {"<": "LT", "<=": "LE", ">": "GT", ">=": "GE"}
_EQUAL = {"==": "EQ", "!=": "NE", "=": "EQ"}
_COMPUTED = {"+": "ADD", "-": "SUB", "*": "MUL"}


class Terms:
    """Terms in one program being written."""

    def __init__(self, out: Assembler, functions: PythonFunctions) -> None:
        self.out, self.functions = out, functions

    def value(self, term: Term, env: Env) -> Register:
        """Where the value of ``term`` is."""
        match term:
            case Var(name):
                return env[name]
            case Const(value, type_):
                return self.constant(kind_of(type_), value)
            case Call(name, args):
                found = self._call(name, args, env)
                return found if found is not None else self._asked(term, env)
        return self._asked(term, env)

    def truth(self, test: Term, env: Env) -> Register:
        """One where ``test`` is true, zero where it is false or null."""
        value = self.value(test, env)
        return self.out.computed("IS_TRUE", "b", value) if is_nullable(test) else value

    def constant(self, kind: str, value: Any) -> Register:
        if kind == "f" and value == 0 and copysign(1, value) < 0:
            raise Unsupported("the constant -0.0")
        return self.out.constant(kind, value)

    def number(self, value: int) -> Register:
        return self.out.constant("i", value)

    def called(
        self, named: object, make: Callable[[], Callable[..., Any]], args: list[Register], kind: str
    ) -> Register:
        """What a function of Python gives for the values of ``args``."""
        kinds = "".join(arg.kind for arg in args)
        number = self.functions.number((named, kinds, kind), make, kinds, kind)
        result = self.out.register(kind)
        self.out.emit("CALL", number, result, *args)
        return result

    def aggregate(self, name: str, cell: list[Register], type_: Any) -> Register:
        """An aggregate read off its measures."""
        if name == "count":
            return cell[0]
        if name == "sum":
            return cell[-1]
        if name.startswith(("float_", "parts_")) or name not in EVERY:
            raise Unsupported(f"the aggregate {name}")
        return self.called(("aggregate", name), lambda: _read(name), cell, kind_of(type_))

    # -- operations

    def _call(self, name: str, args: tuple[Term, ...], env: Env) -> Register | None:
        plain = not any(map(is_nullable, args))
        match name, args:
            case "nullable", (arg,):
                return self.value(arg, env)
            case "is_null", (arg,):
                return self.out.computed("IS_NULL", "b", self.value(arg, env))
            case "not", (arg,) if plain:
                return self.out.computed("NOT", "b", self.value(arg, env))
            case "and" | "or", (left, right) if plain:
                return self._either(name, left, right, env)
            case "if", (test, then, otherwise) if _kind(then) == _kind(otherwise) != "":
                return self._chosen(test, then, otherwise, env)
            case _, (left, right) if name in _EQUAL and (plain or (name != "=" and _are_stored(left, right))):
                return self._compared(_EQUAL[name], left, right, env)
            case _, (left, right) if name in _COMPARED and plain and _kind(left) in IN_ORDER:
                return self._compared(_COMPARED[name], left, right, env)
            case _, (left, right) if name in _COMPUTED and plain and _kind(left) == _kind(right) == "i":
                values = self.value(left, env), self.value(right, env)
                return self.out.computed(_COMPUTED[name], "i", *values)
            case "neg", (arg,) if plain and _kind(arg) == "i":
                return self.out.computed("SUB", "i", self.number(0), self.value(arg, env))
        return None

    def _compared(self, operation: str, left: Term, right: Term, env: Env) -> Register | None:
        if _kind(left) != _kind(right) or not _kind(left):
            return None
        return self.out.computed(operation, "b", self.value(left, env), self.value(right, env))

    def _either(self, name: str, left: Term, right: Term, env: Env) -> Register:
        """The right side is looked at only if the left leaves it open: it may have no value elsewhere."""
        result = self.out.computed("MOV", "b", self.value(left, env))
        decided = result if name == "and" else self.out.computed("NOT", "b", result)
        with self.out.only_if(decided):
            self.out.emit("MOV", result, self.value(right, env))
        return result

    def _chosen(self, test: Term, then: Term, otherwise: Term, env: Env) -> Register:
        result = self.out.register(_kind(then))
        hole = self.out.jump("JUMP_IF_NOT", self.truth(test, env))
        self.out.emit("MOV", result, self.value(then, env))
        end = self.out.jump("JUMP")
        self.out.land(hole)
        self.out.emit("MOV", result, self.value(otherwise, env))
        self.out.land(end)
        return result

    # -- functions of Python

    def _asked(self, term: Term, env: Env) -> Register:
        """``term`` as one function of its variables."""
        for node in walk(term):
            if isinstance(node, Call) and node.function == "float_units":
                raise Unsupported("a sum of floats: it is exact, and has more than 128 bits")
            if not isinstance(node, Call | Const | Var):
                continue
            type_ = term_type(node)
            if isinstance(type_, Scalar) and type_.name == "decimal":
                raise Unsupported("values of type decimal")
        names = sorted(free_vars(term))
        missing = [name for name in names if name not in env]
        if missing:
            raise Unsupported(f"the variable {missing[0]} in a function")
        kind = kind_of(term_type(term))
        return self.called(("term", term), lambda: _function(term, names), [env[n] for n in names], kind)


def _kind(term: Term) -> str:
    """The kind of what ``term`` is; nothing where it has none."""
    type_ = term_type(term)
    return kind_of(type_) if (isinstance(type_, Scalar) and type_.name != "decimal") or type_ == LABEL else ""


def _are_stored(*terms: Term) -> bool:
    """Whether their nulls are nulls: a number that was computed might look like one."""
    return all(isinstance(term, Var | Const) or _is_stored_call(term) for term in terms)


def _is_stored_call(term: Term) -> bool:
    return isinstance(term, Call) and term.function == "nullable" and _are_stored(*term.args)


def _read(aggregate: str) -> Callable[..., Any]:
    read = EVERY[aggregate].read
    return lambda *cell: read(cell)


def _function(term: Term, names: list[str]) -> Callable[..., Any]:
    """``term`` as a function of its variables. The source is our own, words and literals made by ``quoting``."""
    scope = Scope()
    text = python_key(term, scope)
    parameters = ", ".join(scope.name(name) for name in names)
    made = namespace()
    run_compiled(compiled(f"function = lambda {parameters}: {text}", "a function of the native engine"), made)
    function: Callable[..., Any] = made["function"]
    return function
