"""Entries in order: sums, edges and ranges between two cuts are those of a sorted list, also of a deep tree."""

from array import array
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestling._native import OPERATIONS, BadCode, Machine, Overflow, Unfit
from nestling.errors import NoValue

OP = OPERATIONS.index
IN_ORDER, SUMMED = 1, 2  # the maps beside the table
LEAST, MOST = -(2**63) + 1, 2**63 - 1


def program(inputs: str, registers: int, code: list[int], outputs: str = "") -> Any:
    return inputs.encode(), registers, b"", (), array("i", [*code, OP("END")]).tobytes(), outputs.encode()


def reading(operation: str, *before: int) -> Any:
    """A program that reads what of a group is between two values, each included or not."""
    group, low, high, entry, word = range(5)
    programs = []
    for low_above in (0, 1):
        for high_above in (0, 1):
            cuts = [low, low_above, high, high_above]
            if operation == "SUM":
                code = [OP("SUM"), SUMMED, 0, entry, *before, *cuts, group, OP("EMIT"), entry, entry]
            elif operation == "EDGE":
                code = [OP("EDGE"), IN_ORDER, 0, entry, 19, *before, *cuts, group]
                code += [OP("WORD"), word, IN_ORDER, entry, 1, OP("EMIT"), entry, word]
                code[4] = len(code)
            else:
                code = [OP("RANGE"), IN_ORDER, 0, entry, 0, *before, *cuts, group]
                body = len(code)
                code += [OP("WORD"), word, IN_ORDER, entry, 1, OP("EMIT"), entry, word]
                code += [OP("NEXT_IN_RANGE"), IN_ORDER, 0, entry, body, *before, *cuts]
                code[4] = len(code)
            programs.append(program("iii", 5, code, "i"))
    return programs


def descending() -> Any:
    """The first value of a group up to and with which the sum is above a threshold."""
    group, least, candidate, test, entry, word = range(6)
    code = [OP("DESCEND"), SUMMED, 0, candidate, 0, 1, entry, group]
    body = len(code)
    code += [OP("GT"), test, candidate, least]
    code += [OP("NEXT_IN_DESCENT"), SUMMED, 0, candidate, body, test, entry]
    code[4] = len(code)
    code += [OP("WORD"), word, SUMMED, entry, 1, OP("EMIT"), entry, word]
    return program("ii", 6, code, "i")


def machine() -> Machine:
    """Rows (group, value, amount), a map in order of values, and one with sums of amounts."""
    row = [OP("PUT"), 0, 3, 0, 1, 2, OP("ADD_TO"), IN_ORDER, 0, 1, 3, OP("MUL"), 4, 2, 3]
    row += [OP("ADD_TO"), SUMMED, 0, 1, 3, 4]
    place = bytes(range(3))
    maps: list[Any] = [
        (3, b"iii", place, b"\1", (), False, ((b"\1", 0, False, False),)),
        (2, b"ii", place[:2], b"\1", (), False, ((b"\0\1", 1, False, True),)),
        (2, b"ii", place[:2], b"\1\2", (), False, ((b"\0\1", 1, True, True),)),
    ]
    programs = [program("iiii", 5, row)]
    programs += [*reading("SUM", 1), *reading("SUM", -1)]
    programs += [p for back in (0, 1) for p in (*reading("EDGE", back), *reading("RANGE", back))]
    return Machine(maps, [], [*programs, descending()], [(0, 0, -1, False)])


def agree(core: Machine, rows: list[Any], group: int, low: int, high: int) -> None:
    """All readings of one group between two values, each included or not."""
    for number in range(4):
        low_above, high_above = number >> 1, number & 1
        found = sorted(
            (value, amount)
            for g, value, amount in rows
            if g == group
            and (value > low if low_above else value >= low)
            and (value <= high if high_above else value < high)
        )
        values = sorted({value for value, _ in found})

        def read(first: int, number: int = number) -> list[Any]:
            return [row[0] for row, _ in core.run(first + number, (group, low, high))]

        assert read(1) == [sum(amount for _, amount in found)]
        assert read(5) == [len(values)]
        assert read(9) == values[:1]
        assert read(13) == values
        assert read(17) == values[-1:]
        assert read(21) == values[::-1]


@given(
    steps=st.lists(st.tuples(st.integers(0, 2), st.integers(-4, 8), st.integers(-3, 5), st.booleans())),
    bounds=st.lists(st.tuples(st.integers(0, 3), st.integers(-6, 10), st.integers(-6, 10)), max_size=4),
)
def test_what_is_read_is_what_a_sorted_list_has(steps, bounds):
    core, rows = machine(), list[Any]()
    for group, value, amount, goes in steps:
        if goes and rows:
            core.one(0, rows.pop(value % len(rows)), -1)
        else:
            rows.append((group, value, amount))
            core.one(0, rows[-1], 1)
        for each in bounds:
            agree(core, rows, *each)


@pytest.mark.parametrize("seed", range(3))
def test_a_deep_tree_grows_and_shrinks(seed: int) -> None:
    """Thousands of entries come in one order and go in another; the sums on all levels stay right."""
    rng, core = Random(seed), machine()
    rows = [(rng.randrange(3), value, rng.randrange(1, 2**40)) for value in range(-4000, 4000)]
    if seed:
        rng.shuffle(rows)
    for row in rows:
        core.one(0, row, 1)
    while True:
        for _ in range(6):
            group, low = rng.randrange(4), rng.randint(-4500, 4500)
            agree(core, rows, group, low, low + rng.choice([-1, 0, 1, 50, 5000]))
        agree(core, rows, 1, LEAST, MOST)
        for group in range(3):
            total, found = 0, sorted(row for row in rows if row[0] == group)
            least = rng.randrange(max(sum(row[2] for row in found), 1))
            for _, value, amount in found:
                total += amount
                if total > least:
                    ((read,), _), *_ = core.run(25, (group, least))
                    assert read == value
                    break
        if not rows:
            break
        gone = rows if len(rows) < 500 else rng.sample(rows, len(rows) // 2)
        core.many(0, tuple((row, -1) for row in gone))
        rows = [row for row in rows if row not in set(gone)]
    assert [core.size(number) for number in range(3)] == [0, 0, 0]
    core.one(0, (1, 2, 3), 1)
    agree(core, [(1, 2, 3)], 1, LEAST, MOST)


def test_a_sum_beyond_its_words_is_no_answer() -> None:
    """The measure of an entry has 128 bits, and so have sums of them: what is more is refused while it is there."""
    core = machine()
    with pytest.raises(Unfit):
        core.load(SUMMED, {(0, i): (1, 2**126) for i in range(100)})
    assert core.entries(SUMMED, False) == {}
    core.load(SUMMED, {(0, i): (1, 2**126) for i in range(4)})
    assert core.run(1, (0, 1, 2)) == [((2**126,), 2**126)]
    with pytest.raises(Overflow):
        core.run(1, (0, 0, 4))


def floats(kind: str, is_strict: bool) -> Machine:
    place = bytes(range(1))
    return Machine(
        [(1, kind.encode(), place, b"\1", (), False, ((b"\0", 0, False, is_strict),))],
        [],
        [
            program(f"{kind}i", 2, [OP("PUT"), 0, 1, 0]),
            program("ii", 4, ranged(), kind),
        ],
        [(0, 0, -1, False)],
    )


def ranged() -> list[int]:
    code = [OP("RANGE"), 0, 0, 2, 0, 0, 0, 0, 1, 1]
    body = len(code)
    code += [OP("WORD"), 3, 0, 2, 0, OP("EMIT"), 2, 3, OP("NEXT_IN_RANGE"), 0, 0, 2, body, 0, 0, 0, 1, 1]
    code[4] = len(code)
    return code


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("f", [-float("inf"), -1.5, 0.0, 1e-300, 2.0, float("inf")]),
        ("s", ["", "a", "a\0", "ab", "b", "é", "\N{PILE OF POO}"]),
        ("y", [b"", b"\0", b"a", b"ab", b"b", b"\xff"]),
        ("b", [False, True]),
    ],
)
def test_the_order_is_that_of_python(kind: str, values: list[Any]) -> None:
    core, mixed = floats(kind, True), list(values)
    Random(1).shuffle(mixed)
    for value in mixed:
        core.one(0, (value,), 1)
    # Cuts are ints here: below and above all words.
    assert [row[0] for row, _ in core.run(1, (LEAST, MOST))] == values


def test_nan_has_no_place_in_an_order() -> None:
    core = floats("f", True)
    with pytest.raises(NoValue):
        core.one(0, (float("nan"),), 1)
    assert core.entries(0, True) == {}
    with pytest.raises(NoValue):
        core.load(0, {(1.0,): 1, (float("nan"),): 1})
    assert core.entries(0, True) == {}


@pytest.mark.parametrize(
    "order", [(b"", 0, False, False), (b"\1", 0, False, False), (b"\0" * 300, 0, False, False)]
)
def test_an_order_of_what_is_not_there_is_refused(order: Any) -> None:
    with pytest.raises(BadCode):
        Machine([(1, b"i", b"\0", b"\1", (), False, (order,))], [], [], [])


def test_a_search_within_a_search_is_refused() -> None:
    group, candidate, entry = 0, 1, 2
    inner = [OP("DESCEND"), 0, 0, 3, 0, 0, entry, OP("NEXT_IN_DESCENT"), 0, 0, 3, 14, group, entry]
    inner[4] = 7 + len(inner)
    code = [OP("DESCEND"), 0, 0, candidate, 0, 0, entry, *inner]
    code += [OP("NEXT_IN_DESCENT"), 0, 0, candidate, 7, group, entry]
    code[4] = len(code)
    summed = (1, b"i", b"\0", b"\1", (), False, ((b"\0", 0, True, True),))
    with pytest.raises(BadCode):
        Machine([summed], [], [program("i", 4, code)], [])
    alone = [
        OP("DESCEND"),
        0,
        0,
        candidate,
        14,
        0,
        entry,
        OP("NEXT_IN_DESCENT"),
        0,
        0,
        candidate,
        7,
        group,
        entry,
    ]
    assert Machine([summed], [], [program("i", 4, alone)], []).run(0, (1,)) == []
