"""Three trigger programs, written out by hand, and the parts to break them with."""

from nestling.calculus.build import call, const
from nestling.calculus.terms import Tuple, Var
from nestling.calculus.types import FLOAT, INT, STR, Bag, nullable, record
from nestling.program.flat import Atom, Lift, Monomial, Pointwise, Query, Test, Unnest
from nestling.program.statements import (
    Add,
    Assign,
    Check,
    Combine,
    Each,
    Find,
    MapDecl,
    MapEvent,
    Measure,
    NewAndOld,
    Plan,
    Program,
    Propagate,
    Statement,
    TableDecl,
    Trigger,
    ViewPlan,
    Write,
)

ONE, TIMES = const(1), Var("times", INT)


def sums(keys: tuple[Var, ...], factors: tuple, *weights) -> Query:
    """One monomial under its own keys."""
    return Query(keys, (Monomial(keys, weights or (ONE,), factors),), len(weights) or 1)


# related genres: a join, kept as a map and looked up by slices

NAME, GEN, NAME2, COUNT = Var("M.name", STR), Var("M.gen", STR), Var("x_name", STR), Var("n", INT)
M = TableDecl("M", (NAME, GEN), (0,))
BY_GENRE = sums((GEN, NAME2), (Atom("M", (NAME2, GEN)),))
ANSWER = Query(
    (Var("c", STR), Var("d", STR)),
    (Monomial((NAME, NAME2), (ONE,), (Atom("M", (NAME, GEN)), Atom("M", (NAME2, GEN)))),),
)
FIRST = Var("first", STR)
SLICE = Find("A1", (GEN, NAME2), (0,), (COUNT,))
LOOK_UP = Find("R0", (FIRST, NAME2), (0,), (COUNT,))


def _pairs(keys: tuple[Var, ...], *steps, amount=TIMES) -> Statement:
    return Statement("R0", keys, (amount,), steps)


GENRES = Program(
    {"M": M},
    {
        "R0": MapDecl("R0", ANSWER, "rows", "M ⋈ M"),
        "A1": MapDecl("A1", BY_GENRE, "aux", "names by genre"),
    },
    {
        "M": Trigger(
            "M", (NAME, GEN), TIMES,
            (
                Add(_pairs((NAME, NAME2), SLICE, amount=call("*", COUNT, TIMES))),
                Add(_pairs((NAME2, NAME), Find("M", (NAME2, GEN), (1,), ()), Check(call("!=", NAME, NAME2)))),
                Add(Statement("A1", (GEN, NAME), (TIMES,), ())),
                Write("M"),
            ),
        )
    },
    {
        "pairs": ViewPlan(
            "pairs", record(a=STR, b=STR),
            Plan((), (Statement("", (NAME, NAME2), (COUNT,), (Find("R0", (NAME, NAME2), (), (COUNT,)),)),)),
            Plan((FIRST,), (Statement("", (FIRST, NAME2), (COUNT,), (LOOK_UP,)),)),
            {},
        )
    },
)  # fmt: skip


# small quantities: an aggregate inside an aggregate, whose change is passed on

PK, QTY, PRICE = Var("L.pk", INT), Var("L.qty", INT), Var("L.price", INT)
QTY2, PRICE2 = Var("x_qty", INT), Var("x_price", INT)
MEAN, SIGN, TOTAL = Var("avg", nullable(FLOAT)), Var("sign", INT), Var("total", INT)
K, OLD, NEW = Var("k", INT), (Var("old0", INT), Var("old1", INT)), (Var("new0", INT), Var("new1", INT))
LINES = TableDecl("L", (PK, QTY, PRICE))
MEANS = sums((PK,), (Atom("L", (PK, QTY, PRICE)),), ONE, QTY)
SMALL = call("<", call("*", QTY, const(5)), MEAN)
SMALL2 = call("<", call("*", QTY2, const(5)), MEAN)
SUM = sums((), (Atom("L", (PK, QTY, PRICE)), Lift(MEAN, "avg", MEANS, (PK,)), Test(SMALL)), ONE, PRICE)
COLLECT = Add(Statement("L1", (PK,), (TIMES, call("*", TIMES, QTY)), ()), later=True)
DIRECT = Add(
    Statement(
        "L0", (), (TIMES, call("*", TIMES, PRICE)), (Measure(MEAN, "avg", "L1", (PK,), (0, 1)), Check(SMALL))
    )
)
FLIP = Statement(
    "L0", (), (call("*", COUNT, SIGN), call("*", COUNT, call("*", SIGN, PRICE2))),
    (
        NewAndOld(MEAN, SIGN, "avg", NEW, OLD),
        Find("L", (K, QTY2, PRICE2), (0,), (COUNT,)),
        Check(SMALL2),
    ),
)  # fmt: skip
PASS_ON = Propagate("L1", ((MapEvent((K,), OLD, NEW), (Add(FLIP),)),))
READ_TOTAL = Statement("", (TOTAL,), (ONE,), (Measure(TOTAL, "sum", "L0", (), (0, 1)),))

QUANTITIES = Program(
    {"L": LINES},
    {
        "L0": MapDecl("L0", SUM, "lift", "sum reads it"),
        "L1": MapDecl("L1", MEANS, "lift", "avg reads it", positive=True),
    },
    {"L": Trigger("L", (PK, QTY, PRICE), TIMES, (COLLECT, DIRECT, Write("L"), PASS_ON))},
    {"small": ViewPlan("small", INT, Plan((), (READ_TOTAL,)), None, {})},
)


# a shelf: distinct, an ordered map, an opaque bag, and an inner bag

PID, TAGS, TAG, COPIES = Var("P.pid", INT), Var("P.tags", Bag(INT, True)), Var("tag", INT), Var("copies", INT)
HIGH, FLAG, TWICE = Var("high", nullable(INT)), Var("flag", INT), Var("twice", INT)
SHELF = TableDecl("P", (PID, TAGS))
COUNTS = Query((Var("w", INT),), (Monomial((PID,), (ONE,), (Atom("P", (PID, TAGS)),)),))
ORDERED = sums((PID, TAG), (Atom("P", (PID, TAGS)), Unnest(TAGS, TAG)))
EITHER = sums((PID,), (Pointwise("distinct", COUNTS, (PID,)),))
TAGGED_TIMES = call("*", COPIES, TIMES)
PAIR = Tuple((("a", TAG), ("b", Var("b", INT))))

TAGGED = Program(
    {"P": SHELF},
    {
        "C0": MapDecl("C0", COUNTS, "count", "distinct reads it"),
        "L1": MapDecl("L1", ORDERED, "lift", "max reads it", order="values"),
        "R2": MapDecl("R2", EITHER, "rows", "the pids"),
    },
    {
        "P": Trigger(
            "P", (PID, TAGS), TIMES,
            (
                Add(Statement("C0", (PID,), (TIMES,), ()), later=True),
                Add(Statement("L1", (PID, TAG), (TAGGED_TIMES,), (Each(TAGS, TAG, COPIES),)), later=True),
                Write("P"),
                Propagate("C0", ((
                    MapEvent((K,), (Var("old", INT),), (Var("new", INT),)),
                    (Add(Statement("R2", (K,), (FLAG,), (
                        Combine(FLAG, "distinct", (Var("new", INT),), (Var("old", INT),)),
                    ))),),
                ),)),
                Propagate("L1", ((MapEvent((K,), (Var("was", INT),), (Var("is", INT),), "max"), ()),)),
            ),
        )
    },
    {
        "shelf": ViewPlan(
            "shelf", record(pid=INT, high=nullable(INT)),
            Plan((), (Statement("", (PID, HIGH, TWICE), (ONE,), (
                Find("R2", (PID,), (), (COUNT,)),
                Measure(HIGH, "max", "L1", (PID,), (0,)),
                Assign(TWICE, call("*", const(2), call("+", PID, const(1)))),
            )),)),
            None,
            {(1, ()): Plan((K,), (Statement("", (K, TAG), (COUNT,), (
                Find("P", (K, TAGS), (0,), (COUNT,)), Each(TAGS, PAIR, COPIES),
            )),), 1)},
        )
    },
)  # fmt: skip

PROGRAMS = {"genres": GENRES, "quantities": QUANTITIES, "tagged": TAGGED}
