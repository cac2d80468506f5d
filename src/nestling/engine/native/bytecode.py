"""Byte code being written: registers, constants, jumps and loops."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from nestling._native import OPERATIONS
from nestling.engine.native.values import Unsupported

OPERATION = {name: number for number, name in enumerate(OPERATIONS)}

#: So long a program is not worth having: something in it is written again and again.
MAX_CODE = 200_000
MAX_REGISTERS = 30_000

#: As C reads it: kinds of inputs, registers, kinds of constants, constants, code, kinds of outputs.
Code = tuple[bytes, int, bytes, tuple[Any, ...], bytes, bytes]
Specification = tuple[Callable[..., Any], bytes, bytes]


@dataclass(frozen=True)
class Register:
    """Where a value is, and what kind it has. Constants are numbered by themselves, below zero."""

    number: int
    kind: str


@dataclass(frozen=True)
class Cut:
    """A place in an order: below everything that has a value, or above it."""

    value: Register
    is_above: bool


@dataclass(frozen=True)
class Stretch:
    """The entries of one group between two cuts, in one of a map's orders."""

    map: int
    order: int
    part: tuple[Register, ...]
    low: Cut
    high: Cut

    @property
    def cuts(self) -> tuple[int | Register, ...]:
        return self.low.value, int(self.low.is_above), self.high.value, int(self.high.is_above)


class PythonFunctions:
    """The functions of Python that the programs of one engine call, each once."""

    def __init__(self) -> None:
        self.specifications: list[Specification] = []
        self._numbers: dict[object, int] = {}

    def number(self, called: object, make: Callable[[], Callable[..., Any]], kinds: str, result: str) -> int:
        """The number of the function that is ``called`` so; made, where there is none yet."""
        if called not in self._numbers:
            self._numbers[called] = len(self.specifications)
            self.specifications.append((make(), kinds.encode(), result.encode()))
        return self._numbers[called]


class Assembler:
    """One program being written."""

    def __init__(self, inputs: Sequence[str]) -> None:
        self.inputs = [Register(i, kind) for i, kind in enumerate(inputs)]
        self.outputs: str | None = None
        self._used = len(inputs)
        self._constants: dict[tuple[str, type, Any], int] = {}
        self._code: list[int | Register] = []

    def register(self, kind: str) -> Register:
        """A new one."""
        self._used += 1
        if self._used > MAX_REGISTERS:
            raise Unsupported("a program that is too long")
        return Register(self._used - 1, kind)

    def constant(self, kind: str, value: Any) -> Register:
        known = (kind, type(value), value)
        if known not in self._constants:
            self._constants[known] = -1 - len(self._constants)
        return Register(self._constants[known], kind)

    def emit(self, operation: str, *operands: int | Register) -> None:
        self._code += [OPERATION[operation], *operands]
        if len(self._code) > MAX_CODE:
            raise Unsupported("a program that is too long")

    def computed(self, operation: str, kind: str, *operands: int | Register) -> Register:
        """The register that an operation writes first."""
        result = self.register(kind)
        self.emit(operation, result, *operands)
        return result

    # -- jumps: the places are written when they are known

    def jump(self, operation: str, *operands: int | Register) -> int:
        """Write an operation whose last operand is a place; what is returned goes to ``land``."""
        self.emit(operation, *operands, 0)
        return len(self._code) - 1

    def land(self, hole: int) -> None:
        self._code[hole] = len(self._code)

    @contextmanager
    def only_if(self, test: Register) -> Iterator[None]:
        """What is written inside runs where ``test`` is not zero."""
        hole = self.jump("JUMP_IF_NOT", test)
        yield
        self.land(hole)

    @contextmanager
    def probe(self, number: int, key: Sequence[Register]) -> Iterator[Register]:
        """Inside: the entry with a key, if there is one."""
        entry = self.register("i")
        hole = self.jump("PROBE", number, entry)
        self._code += key
        yield entry
        self.land(hole)

    @contextmanager
    def scan(self, number: int) -> Iterator[Register]:
        """Inside: each entry of a map."""
        entry = self.register("i")
        hole = self.jump("SCAN", number, entry)
        body = len(self._code)
        yield entry
        self.emit("NEXT_IN_SCAN", number, entry, body)
        self.land(hole)

    @contextmanager
    def slice(self, number: int, index: int, part: Sequence[Register]) -> Iterator[Register]:
        """Inside: each entry that has ``part``."""
        entry = self.register("i")
        hole = self.jump("SLICE", number, index, entry)
        self._code += part
        body = len(self._code)
        yield entry
        self.emit("NEXT_IN_SLICE", number, index, entry, body)
        self.land(hole)

    @contextmanager
    def edge(self, among: Stretch, last: bool) -> Iterator[Register]:
        """Inside: the first or the last entry of a range, if there is one."""
        entry = self.register("i")
        hole = self.jump("EDGE", among.map, among.order, entry)
        self._code += [int(last), *among.cuts, *among.part]
        yield entry
        self.land(hole)

    @contextmanager
    def range(self, among: Stretch, back: bool = False) -> Iterator[Register]:
        """Inside: each entry of a range, in order."""
        entry = self.register("i")
        hole = self.jump("RANGE", among.map, among.order, entry)
        self._code += [int(back), *among.cuts, *among.part]
        body = len(self._code)
        yield entry
        self.emit("NEXT_IN_RANGE", among.map, among.order, entry, body, int(back), *among.cuts)
        self.land(hole)

    def sum(self, among: Stretch, measure: int, kind: str = "i") -> Register:
        """A measure summed over a range; -1: how many entries there are."""
        result = self.register(kind)
        self.emit("SUM", among.map, among.order, result, measure, *among.cuts, *among.part)
        return result

    def descend(self, among: Stretch, measure: int, passes: Callable[[Register], Register]) -> Register:
        """The first entry of a group up to and with which the sum of a measure ``passes``; with the last it does."""
        candidate, entry = self.register("i"), self.register("i")
        hole = self.jump("DESCEND", among.map, among.order, candidate)
        self._code += [measure, entry, *among.part]
        body = len(self._code)
        test = passes(candidate)
        self.emit("NEXT_IN_DESCENT", among.map, among.order, candidate, body, test, entry)
        self.land(hole)
        return entry

    def finished(self) -> Code:
        self.emit("END")
        total = self._used + len(self._constants)

        def number(operand: int | Register) -> int:
            if isinstance(operand, int):
                return operand
            # Constants stand after all others, in the order in which they came.
            return operand.number if operand.number >= 0 else self._used - 1 - operand.number

        code = struct.pack(f"{len(self._code)}i", *map(number, self._code))
        kinds = "".join(kind for kind, _, _ in self._constants).encode()
        values = tuple(value for _, _, value in self._constants)
        inputs = "".join(each.kind for each in self.inputs).encode()
        return inputs, total, kinds, values, code, (self.outputs or "").encode()
