"""How much a number may hold: the bits of an int, the digits and places of a decimal, as Spark has them.

A size is declared with a column or a cast and followed through the functions. It is no part of a type: the calculus
computes with whole numbers and with decimals as they are, and what rounds or refuses is a function that says so
(``to_bits``, ``to_decimal``, ``round``, ``ratio``). A front end asks for sizes to know which of them to write.
Arithmetic is not refused for being too long: that is asked where a number is stored or cast.

Law: where a number is sized, the places of its value are at most those of its size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from nestling.calculus.types import Bag, Record, Scalar, Type

Size: TypeAlias = tuple[int, ...]
#: Of the types of the arguments and of their values, as far as these are written out.
Rule: TypeAlias = Callable[[Sequence[Scalar], Sequence[Any]], Size]

#: The digits of a decimal that holds every int of so many bits.
DIGITS = {8: 3, 16: 5, 32: 10, 64: 20}
MOST = 38


def decimal_size(type_: Scalar) -> Size:
    """The digits and places of a number as a decimal; nothing where they are not known."""
    if type_.name != "int":
        return type_.size
    return (DIGITS[type_.size[0]] if type_.size else DIGITS[64], 0)


def of_sum(left: Size, right: Size) -> Size:
    """The size of ``left + right`` and ``left - right``.

    >>> of_sum((10, 2), (5, 4))
    (13, 4)
    """
    places = max(left[1], right[1])
    return _bounded(max(left[0] - left[1], right[0] - right[1]) + places + 1, places)


def of_product(left: Size, right: Size) -> Size:
    """The size of ``left * right``; where it would be too long, places are given up for digits.

    >>> of_product((10, 2), (2, 1)), of_product((38, 10), (38, 10))
    ((13, 3), (38, 6))
    """
    return _bounded(left[0] + right[0] + 1, left[1] + right[1])


def of_quotient(left: Size, right: Size) -> Size:
    """The size of ``left / right``.

    >>> of_quotient((10, 2), (1, 0))
    (14, 6)
    """
    places = max(6, left[1] + right[0] + 1)
    return _bounded(left[0] - left[1] + right[1] + places, places)


def of_remainder(left: Size, right: Size) -> Size:
    """The size of what a division leaves."""
    places = max(left[1], right[1])
    return _bounded(min(left[0] - left[1], right[0] - right[1]) + places, places)


def of_either(left: Size, right: Size) -> Size:
    """The size that holds both."""
    places = max(left[1], right[1])
    return (min(MOST, max(left[0] - left[1], right[0] - right[1]) + places), places)


def of_average(size: Size) -> Size:
    """The size of the mean of decimals."""
    return (min(MOST, size[0] + 4), min(MOST, size[1] + 4))


def of_total(type_: Scalar) -> Size:
    """The size of a sum over many."""
    if type_.name == "int":
        return (64,)
    return (min(MOST, type_.size[0] + 10), type_.size[1]) if type_.size else ()


def _bounded(digits: int, places: int) -> Size:
    if digits <= MOST:
        return (digits, places)
    return (MOST, max(MOST - (digits - places), min(places, 6)))


def is_exact(operator: str, left: Size, right: Size) -> bool:
    """Whether a sum or product of such decimals keeps all its places."""
    if operator == "*":
        return of_product(left, right)[1] == left[1] + right[1]
    return of_sum(left, right)[1] == max(left[1], right[1])


def call_size(function: str, types: Sequence[Scalar], args: Sequence[Any]) -> Size:
    """The size of the value of a call of ``args``, terms of these types."""
    if function not in _RULES or (function not in _CASTS and not any(type_.size for type_ in types)):
        return ()
    # What is written out may be a size itself.
    return _RULES[function](types, [getattr(arg, "value", None) for arg in args])


def _arithmetic(of: Callable[[Size, Size], Size]) -> Rule:
    def rule(types: Sequence[Scalar], args: Sequence[Any]) -> Size:
        left, right = types
        if left.name == right.name == "int":
            return max(left.size, right.size) if left.size and right.size else ()
        sizes = [decimal_size(left), decimal_size(right)]
        if not all(sizes) or {left.name, right.name} - {"int", "decimal"}:
            return ()
        if of is of_sum and args[1] == 0 and right.name == "decimal":
            return sizes[0]  # to add a zero is how an int becomes a decimal
        return of(*sizes)

    return rule


def _either(places: slice) -> Rule:
    def rule(types: Sequence[Scalar], args: Sequence[Any]) -> Size:
        left, right = types[places]
        return _joined(left, right).size

    return rule


def _joined(left: Scalar, right: Scalar) -> Scalar:
    name = "decimal" if "decimal" in (left.name, right.name) else left.name
    if not left.size or not right.size or {left.name, right.name} - {"int", "decimal"}:
        return Scalar(name, left.nullable or right.nullable)
    size = max(left.size, right.size) if name == "int" else of_either(decimal_size(left), decimal_size(right))
    return Scalar(name, left.nullable or right.nullable, size)


def _first(types: Sequence[Scalar], args: Sequence[Any]) -> Size:
    return types[0].size


def _whole(types: Sequence[Scalar], args: Sequence[Any]) -> Size:
    (type_,) = types
    return (type_.size[0] - type_.size[1] + 1, 0) if type_.name == "decimal" and type_.size else ()


def _rounded(types: Sequence[Scalar], args: Sequence[Any]) -> Size:
    type_ = types[0]
    if type_.name != "decimal" or not type_.size or not isinstance(args[1], int):
        return type_.size if type_.name == "int" else ()
    digits = type_.size[0] - type_.size[1] + 1
    places = max(0, min(args[1], type_.size[1]))
    return (min(MOST, max(digits, -args[1] + 1) + places), places)


def _cast(types: Sequence[Scalar], args: Sequence[Any]) -> Size:
    found = tuple(arg for arg in args if isinstance(arg, int))
    return found[-2:] if len(found) >= 2 else ()


_RULES: dict[str, Rule] = {
    "+": _arithmetic(of_sum), "-": _arithmetic(of_sum), "*": _arithmetic(of_product),
    "remainder": _arithmetic(of_remainder), "coalesce": _either(slice(0, 2)), "if": _either(slice(1, 3)),
    "nullable": _first, "neg": _first, "abs": _first, "floor": _whole, "ceil": _whole, "round": _rounded,
    "to_decimal": _cast, "read_decimal": _cast, "ratio": _cast,
    "to_bits": lambda types, args: (args[1],) if isinstance(args[1], int) else (),
}  # fmt: skip
_CASTS = ("to_decimal", "read_decimal", "ratio", "to_bits")


def widest(types: Sequence[Type]) -> Type:
    """One type for elements of all of ``types``, which differ in size at most."""
    first, *others = types
    for other in others:
        first = _wider(first, other)
    return first


def _wider(left: Type, right: Type) -> Type:
    match left, right:
        case Scalar(), Scalar() if (left.size, left.of) != (right.size, right.of):
            return replace(left, size=_joined(left, right).size, of=left.of if left.of == right.of else None)
        case Record(ours), Record(theirs):
            pairs = zip(ours, theirs, strict=True)
            fields = tuple((name, _wider(one, two)) for (name, one), (_, two) in pairs)
            return Record(fields, left.of if left.of == right.of else None)
        case Bag(one, opaque), Bag(two):
            return Bag(_wider(one, two), opaque)
    return left
