"""Sizes of numbers: no part of a type, followed through terms, and never less than what a value has."""

from decimal import Decimal, localcontext
from itertools import product
from typing import Any

import pytest

from nestling.calculus import standard
from nestling.calculus.build import call, const
from nestling.calculus.sizes import (
    MOST,
    decimal_size,
    is_exact,
    of_average,
    of_product,
    of_sum,
    of_total,
    widest,
)
from nestling.calculus.terms import Const, Var
from nestling.calculus.types import Bag, Scalar, record
from nestling.calculus.typing import term_type

SIZES = [(1, 0), (3, 3), (5, 2), (10, 2), (20, 10), (38, 6), (38, 38)]


def decimal(digits: int, places: int) -> Scalar:
    return Scalar("decimal", size=(digits, places))


def greatest(size: tuple[int, ...]) -> Decimal:
    return (Decimal(10) ** size[0] - 1).scaleb(-size[1])


def test_a_size_is_no_part_of_a_type():
    assert decimal(10, 2) == Scalar("decimal") == decimal(5, 5)
    assert len({decimal(10, 2), Scalar("decimal")}) == 1


@pytest.mark.parametrize(("left", "right"), list(product(SIZES, SIZES)))
def test_what_is_exact_keeps_its_places(left, right):
    """a ⊕ b keeps its places iff that is what its size says, for the greatest a and b"""
    with localcontext(prec=200):
        for operator, rule, value in (
            ("+", of_sum, greatest(left) + greatest(right)),
            ("*", of_product, greatest(left) * greatest(right)),
        ):
            size = rule(left, right)
            assert size[1] <= size[0] <= MOST
            assert is_exact(operator, left, right) == (standard.rounded(value, size[1]) == value)


#: As Spark's analyzer has them.
KNOWN = [
    (call("+", Var("p", decimal(10, 2)), Var("i", Scalar("int", size=(32,)))), (13, 2)),
    (call("*", Var("p", decimal(10, 2)), Const(Decimal("0.5"), decimal(1, 1))), (12, 3)),
    (call("coalesce", Var("p", decimal(10, 2)), Var("i", Scalar("int", size=(32,)))), (12, 2)),
    (call("floor", Var("p", decimal(15, 2))), (14, 0)),
    (call("round", Var("p", decimal(15, 2)), const(1)), (15, 1)),
    (call("round", Var("p", decimal(15, 2)), const(5)), (16, 2)),
    (call("neg", Var("p", decimal(15, 2))), (15, 2)),
    (call("+", Var("a", Scalar("int", size=(8,))), Var("b", Scalar("int", size=(32,)))), (32,)),
    (call("+", Var("p", decimal(15, 2)), Var("f", Scalar("decimal"))), ()),
]


@pytest.mark.parametrize(("term", "size"), KNOWN)
def test_sizes_of_terms(term, size):
    type_ = term_type(term)

    assert isinstance(type_, Scalar)
    assert type_.size == size


def test_sizes_of_aggregates():
    assert of_total(decimal(15, 2)) == (25, 2)
    assert of_total(decimal(38, 4)) == (38, 4)
    assert of_total(Scalar("int", size=(8,))) == (64,)
    assert of_average((15, 2)) == (19, 6)
    assert decimal_size(Scalar("int")) == (20, 0)


def test_a_union_has_room_for_all():
    one = record(a=decimal(10, 2), b=Bag(decimal(4, 4)))
    found: Any = widest([one, record(a=decimal(5, 4), b=Bag(decimal(3, 0)))])

    assert found == one
    assert found.types[0].size == (12, 4)
    assert found.types[1].element.size == (7, 4)
