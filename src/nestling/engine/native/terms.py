"""Terms as byte code. What has no operation is a function of Python, asked once for each combination of its arguments.

Law: the register of a term holds the word of what ``evaluate_term`` says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from math import ceil, copysign, floor, isfinite
from typing import Any

from nestling.calculus.aggregates import EVERY
from nestling.calculus.terms import Call, Const, Term, Var
from nestling.calculus.traverse import free_vars, walk
from nestling.calculus.types import LABEL, Scalar
from nestling.calculus.typing import term_type
from nestling.engine.native.bytecode import Assembler, PythonFunctions, Register
from nestling.engine.native.values import (
    IN_ORDER,
    Unsupported,
    constant_kind,
    decimal_kind,
    is_zero,
    kind_of,
    places_of,
)
from nestling.engine.python.terms import (
    Scope,
    compiled,
    is_nullable,
    namespace,
    python_key,
    run_compiled,
)
from nestling.values.exact import exactly

Env = Mapping[str, Register]

_COMPARED = {"<": "LT", "<=": "LE", ">": "GT", ">=": "GE"}
_EQUAL = {"==": "EQ", "!=": "NE", "=": "EQ"}
_COMPUTED = {"+": "ADD", "-": "SUB", "*": "MUL"}
#: The same of exact numbers; what is not equal to a null is left to Python.
_EXACT = _COMPARED | _EQUAL | _COMPUTED
_NUMBERS = frozenset(_COMPUTED.values())


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
                return self.constant(constant_kind(value, type_), value)
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

    def scaled(self, value: Register, kind: str) -> Register:
        """An exact number with the places of another kind, which has as many or more."""
        has, wanted = places_of(value.kind), places_of(kind)
        if has is None or wanted is None or has > wanted:
            raise Unsupported("numbers of different types")
        if has == wanted:
            return Register(value.number, kind)
        return self.out.computed("MUL", kind, value, self.number(10 ** (wanted - has)))

    def alike(self, *values: Register) -> list[Register]:
        """Exact numbers with as many places each: where all are ints, ints."""
        if all(value.kind == "i" for value in values):
            return [*values]
        kind = decimal_kind(max(places_of(value.kind) or 0 for value in values))
        return [self.scaled(value, kind) for value in values]

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
        return self.called(("aggregate", name), lambda: exactly(_read(name)), cell, kind_of(type_))

    # -- operations

    def _call(  # noqa: C901 - one arm per operator
        self, name: str, args: tuple[Term, ...], env: Env
    ) -> Register | None:
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
            case "if", (test, then, otherwise) if _is_exact(then) and _is_exact(otherwise):
                return self._chosen(test, then, otherwise, env)
            case _, (left, right) if plain and name in _EXACT and _is_exact(left) and _is_exact(right):
                return self._exact(_EXACT[name], self.value(left, env), self.value(right, env))
            case _, (left, right) if name in _EQUAL and (plain or (name != "=" and _are_stored(left, right))):
                return self._compared(_EQUAL[name], left, right, env)
            case _, (left, right) if name in _COMPARED and plain and _kind(left) in IN_ORDER:
                return self._compared(_COMPARED[name], left, right, env)
            case _, (left, right) if (
                name in _COMPARED and plain and {_kind(left), _kind(right)} == {"i", "f"}
            ):
                return self._beside_whole(name, left, right, env)
            case "neg", (arg,) if plain and _is_exact(arg):
                value = self.value(arg, env)
                return self.out.computed("SUB", value.kind, self.number(0), value)
        return None

    def _exact(self, operation: str, one: Register, other: Register) -> Register:
        """An operator of exact numbers. A type says int of a measure that sums decimals; its register knows."""
        if operation == "MUL" and (one.kind, other.kind) != ("i", "i"):
            places = [places_of(each.kind) for each in (one, other)]
            if None in places:
                raise Unsupported("numbers of different types")
            return self.out.computed(operation, decimal_kind(sum(each or 0 for each in places)), one, other)
        one, other = self.alike(one, other)
        return self.out.computed(operation, one.kind if operation in _NUMBERS else "b", one, other)

    def _beside_whole(self, name: str, left: Term, right: Term, env: Env) -> Register:
        """An exact number beside a float is one beside the next exact number, above the float or below it."""
        one, other = self.value(left, env), self.value(right, env)
        if one.kind == "f":
            one = self.whole(one, name in (">", "<="), places_of(other.kind) or 0)
        else:
            other = self.whole(other, name in ("<", ">="), places_of(one.kind) or 0)
        one, other = self.alike(one, other)
        return self.out.computed(_COMPARED[name], "b", one, other)

    def whole(self, value: Register, up: bool, places: int = 0) -> Register:
        """The next exact number of so many places above, or below, a float."""
        kind = decimal_kind(places) if places else "i"
        found = self.called(
            ("whole", up, places), lambda: partial(_whole, up=up, places=places), [value], "i"
        )
        return Register(found.number, kind)

    def shrunk(self, value: Register, up: bool, kind: str) -> Register:
        """The next exact number with the fewer places of a kind, above a number or below it."""
        by = 10 ** ((places_of(value.kind) or 0) - (places_of(kind) or 0))
        as_int = Register(value.number, "i")
        found = self.called(("shrunk", up, by), lambda: partial(_shrunk, up=up, by=by), [as_int], "i")
        return Register(found.number, kind)

    def _compared(self, operation: str, left: Term, right: Term, env: Env) -> Register | None:
        if _kind(left) != _kind(right) or not _kind(left):
            return None
        one, other = self.value(left, env), self.value(right, env)
        if one.kind != other.kind:
            one, other = self.alike(one, other)
        return self.out.computed(operation, "b", one, other)

    def _either(self, name: str, left: Term, right: Term, env: Env) -> Register:
        """The right side is looked at only if the left leaves it open: it may have no value elsewhere."""
        result = self.out.computed("MOV", "b", self.value(left, env))
        decided = result if name == "and" else self.out.computed("NOT", "b", result)
        with self.out.only_if(decided):
            self.out.emit("MOV", result, self.value(right, env))
        return result

    def _chosen(self, test: Term, then: Term, otherwise: Term, env: Env) -> Register:
        result = self.out.register("")
        hole = self.out.jump("JUMP_IF_NOT", self.truth(test, env))
        one = self.value(then, env)
        self.out.emit("MOV", result, one)
        end = self.out.jump("JUMP")
        self.out.land(hole)
        other = self.value(otherwise, env)
        self.out.emit("MOV", result, other)
        self.out.land(end)
        # Zero is zero whatever its places.
        kinds = {value.kind for term, value in ((then, one), (otherwise, other)) if not is_zero(term)}
        if len(kinds) > 1:
            raise Unsupported("a choice of decimals of different places")
        return Register(result.number, kinds.pop() if kinds else one.kind)

    # -- functions of Python

    def _asked(self, term: Term, env: Env) -> Register:
        """``term`` as one function of its variables."""
        for node in walk(term):
            if isinstance(node, Call) and node.function == "float_units":
                raise Unsupported("a sum of floats: it is exact, and has more than 128 bits")
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
    made, source = namespace(), f"function = lambda {parameters}: {text}"
    try:
        code = compiled(source, "a function of the native engine")
    except (
        SyntaxError,
        RecursionError,
        MemoryError,
    ) as error:  # what Python's parser says of a term in a term in a …
        raise Unsupported("a term that is too deep for a function of its own") from error
    run_compiled(code, made)
    function: Callable[..., Any] = made["function"]
    return exactly(function) if any(_is_decimal(node) for node in walk(term)) else function


def _is_decimal(node: object) -> bool:
    if not isinstance(node, Call | Const | Var):
        return False
    type_ = term_type(node)
    return isinstance(type_, Scalar) and type_.name == "decimal"


def _is_exact(term: Term) -> bool:
    return _is_decimal(term) or _kind(term) == "i"


#: It has no word: a program that compares with what is beyond all numbers moves to Python.
_BEYOND = 2**200


def _whole(value: float, up: bool, places: int) -> int:
    if not isfinite(value):
        return _BEYOND
    exact = Fraction(value) * int(10**places)
    return ceil(exact) if up else floor(exact)


def _shrunk(value: int, up: bool, by: int) -> int:
    return -(-value // by) if up else value // by
