"""The core by itself: no byte code and no value can crash it, and what it stores is what it was given."""

import contextlib
import os
import subprocess
import sys
from array import array
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nestling as nl
from nestling._native import OPERATIONS, BadCode, Machine, Unfit
from nestling.database import native
from nestling.engine.local.engine import LocalEngine
from nestling.engine.native.lower import Lowered, lowered

KINDS = {"i": int, "b": bool, "d": date, "t": datetime, "p": timedelta, "f": float, "s": str, "y": bytes}
END = array("i", [OPERATIONS.index("END")]).tobytes()


def table(kinds: str, keys: int | None = None, indexes: tuple[bytes, ...] = ()) -> Machine:
    """A table and a trigger that does nothing but put rows into it."""
    width = len(kinds)
    code = [OPERATIONS.index("PUT"), 0, width, *range(width), OPERATIONS.index("END")]
    maps: list[Any] = [
        (width if keys is None else keys, kinds.encode(), bytes(range(width)), b"\1", indexes, False, ())
    ]
    program = (f"{kinds}i".encode(), width + 1, b"", (), array("i", code).tobytes(), b"")
    return Machine(maps, [], [program], [(0, 0, -1, False)])


values = (
    st.none() | st.integers() | st.booleans() | st.dates() | st.datetimes() | st.timedeltas()
    | st.floats() | st.text(max_size=3) | st.binary(max_size=3) | st.just(-0.0) | st.just(2**63)
)  # fmt: skip


@given(rows=st.lists(st.tuples(*[values] * len(KINDS))))
def test_a_row_has_words_or_is_refused(rows):
    """What comes back equals what went in, type by type; what is refused changes nothing."""
    core, expected = table("".join(KINDS)), dict[Any, int]()
    for row in rows:
        fits = all(v is None or type(v) is t for v, t in zip(row, KINDS.values(), strict=True))
        try:
            core.one(0, row, 1)
        except Unfit:
            continue
        assert fits
        seen = repr(row).replace("-nan", "nan")
        expected[seen] = expected.get(seen, 0) + 1
    found = core.entries(0, True)
    assert {repr(row): times for row, times in found.items()} == expected
    assert all(core.count(0, row) == times for row, times in found.items())


@given(events=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.sampled_from([1, 1, 2, -1]))))
def test_entries_and_slices_are_those_of_a_dictionary(events):
    """Rows come and go; the index by a part has the rows of each part, and a batch does what its rows do."""
    one, many, expected = table("ii", None, (b"\1",)), table("ii", None, (b"\1",)), dict[Any, int]()
    for a, b, times in events:
        one.one(0, (a, b), times)
        expected[a, b] = expected.get((a, b), 0) + times
        expected = {row: n for row, n in expected.items() if n}
        assert one.entries(0, True) == expected
        for part in range(4):
            assert one.slice(0, 0, (part,)) == {row: n for row, n in expected.items() if row[1] == part}
    many.many(0, tuple(((a, b), times) for a, b, times in events))
    assert many.entries(0, True) == expected
    assert many.size(0) == len(expected)


def test_a_batch_with_one_row_that_has_no_words_changes_nothing() -> None:
    core = table("is")
    for bad in ((1, 2), (2**63, "a"), (1,), "ab"):
        with pytest.raises(Unfit):
            core.many(0, (((1, "a"), 1), (bad, 1)))  # type: ignore[arg-type]
    with pytest.raises(Unfit):
        core.many(0, (((1, "a"), 2**31),))
    assert core.entries(0, True) == {}


def test_texts_that_no_row_has_are_forgotten() -> None:
    core = table("is", 1)
    for i in range(300_000):
        core.one(0, (1, f"text {i}"), 1)
    assert core.texts() < 150_000
    assert core.entries(0, True) == {(1, "text 299999"): 1}


def test_a_core_that_was_closed_says_so() -> None:
    core = table("i")
    core.close()
    for call in (lambda: core.one(0, (1,), 1), lambda: core.entries(0, True), core.close):
        with pytest.raises(Unfit):
            call()


# the door


def with_a_door(function: Any, kinds: str = "ii", keys: int = 1) -> Machine:
    """A table, and a trigger that calls a function of the first column before it puts the row there."""
    width, op, indexes = len(kinds), OPERATIONS.index, tuple[bytes, ...]()
    code = [op("CALL"), 0, width + 1, 0, op("PUT"), 0, width, *range(width), op("END")]
    maps: list[Any] = [(keys, kinds.encode(), bytes(range(width)), b"\1", indexes, False, ())]
    program = (f"{kinds}i".encode(), width + 2, b"", (), array("i", code).tobytes(), b"")
    core = Machine(maps, [(function, b"i", b"i")], [program], [(0, 0, -1, False)])
    assert core.door((0, ("a", "b"), bytes(width), (None, (-2, 2)), (0,), ())) == 0
    return core


@pytest.mark.parametrize("error", [OverflowError, ZeroDivisionError, KeyboardInterrupt])
def test_an_exception_in_the_middle_of_a_batch_leaves_the_table(error: type[BaseException]) -> None:
    """Also one of Python's own OverflowError, which is no number beyond its words."""

    def function(a: int) -> int:
        if a == 3:
            raise error
        return a

    core, taken = with_a_door(function), list[Any]()
    assert core.accept(0, [(1, 1)], 1, taken) == 1
    with pytest.raises(error):
        core.accept(0, [(2, 2), (3, 0), (4, 0)], 1, taken)
    assert taken == [((1, 1),)]
    assert core.entries(0, True) == {(1, 1): 1}
    assert core.accept(0, [{"b": 2, "a": 2}], 1, taken) == 1
    assert core.accept(0, [(1, 1), (2, 2)], -1, taken) == 2
    assert core.entries(0, True) == {}


def test_a_row_that_is_not_plain_is_left_with_all_others() -> None:
    core, taken = with_a_door(abs), list[Any]()
    core.accept(0, [(1, 1)], 1, taken)
    for rows in ([(1, 1)], [(5, 1), (5, 2)], [(5, 3)], [(5, None)], [(5,)], [{"a": 5}], [None], [(True, 1)]):
        assert core.accept(0, [(7, 1), *rows], 1, taken) is None
        assert core.accept(0, [(1, 1), *rows], -1, taken) is None
    assert core.entries(0, True) == {(1, 1): 1}
    assert taken == [((1, 1),)]


specifications = st.tuples(
    st.integers(-1, 2),
    st.sampled_from([(), ("a",), ("a", "b")]),
    st.binary(max_size=3),
    st.lists(st.none() | st.tuples(st.integers(), st.integers()), max_size=3).map(tuple),
    st.lists(st.integers(-1, 2), max_size=2).map(tuple),
    st.lists(
        st.tuples(st.binary(max_size=2), st.lists(st.integers(-1, 2), max_size=2).map(tuple), st.booleans()),
        max_size=2,
    ).map(tuple),
)


@given(
    specification=specifications, rows=st.lists(st.tuples(st.integers(-3, 3), st.none() | st.integers(-3, 3)))
)
def test_no_door_crashes(specification, rows):
    """It is refused, or it takes rows or leaves them."""
    core, taken = with_a_door(abs), list[Any]()
    with contextlib.suppress(ValueError, OverflowError, TypeError):
        core.accept(core.door(specification), rows, 1, taken)
    assert core.size(0) == sum(map(len, taken))


# byte code


@pytest.fixture(scope="module")
def code() -> Lowered:
    """A program with loops, groups, changes that are passed on, functions of Python and inner bags."""
    db = nl.Database()
    db.table("parts", {"pid": int, "name": str}, key="pid")
    db.table("orders", {"id": int, "pid": int, "qty": int})
    db.view("v", "[(p.name.upper(), [o.id for o in orders if o.pid == p.pid and o.qty > 1]) for p in parts]",
            language="python")  # fmt: skip
    db.view(
        "s", "[p.pid for p in parts if sum(o.qty for o in orders if o.pid == p.pid) > 3]", language="python"
    )
    ordered = (
        "SELECT pid, MIN(qty) AS m FROM orders GROUP BY pid",
        "SELECT o.pid, SUM(p.qty) AS s FROM orders o, orders p WHERE p.qty < o.qty GROUP BY o.pid",
        "SELECT id FROM orders WHERE qty > (SELECT AVG(qty) FROM orders)",
        "SELECT SUM(x.qty) AS s FROM orders x WHERE (SELECT SUM(y.qty) FROM orders y)"
        " > 3 * (SELECT COALESCE(SUM(z.qty), 0) FROM orders z WHERE z.qty > x.qty)",
    )
    for i, text in enumerate(ordered):
        db.view(f"o{i}", text, language="sql")
    engine = db._state.engine
    return lowered(engine.program)


def changed(code: Lowered, number: int, at: int, value: int) -> Machine:
    programs = list(code.programs)
    inputs, registers, kinds, constants, text, outputs = programs[number]
    words = array("i", text)
    words[at % len(words)] = value
    programs[number] = inputs, registers, kinds, constants, words.tobytes(), outputs
    return Machine(code.layouts.specifications, code.functions, programs, code.triggers)


@given(data=st.data())
def test_no_byte_code_crashes(code, data):
    """One operand or operation is another: the checker refuses the program, or it runs to an end."""
    number = data.draw(st.integers(0, len(code.programs) - 1))
    length = len(code.programs[number][4]) // 4
    value = data.draw(st.integers(-2, 40) | st.integers(0, length) | st.integers(-(2**31), 2**31 - 1))
    try:
        core = changed(code, number, data.draw(st.integers(0, length - 1)), value)
    except BadCode:
        return
    for _ in range(2):
        for action in actions(code, core):
            with contextlib.suppress(SystemError, OverflowError, Unfit, AttributeError, TypeError):
                action()


def actions(code: Lowered, core: Machine) -> Iterator[Any]:
    for i in range(4):
        yield lambda i=i: core.one(code.inserts["parts"], (i, f"n{i % 2}"), 1)
        yield lambda i=i: core.one(code.inserts["orders"], (i, i % 3, i), 1)
    yield lambda: core.one(code.updates["parts"], (1, "n1"), (1, "n2"))
    yield lambda: core.one(code.inserts["orders"], (1, 1, 1), -1)
    for number, (inputs, *_) in enumerate(code.programs):
        if not inputs:
            yield lambda number=number: core.run(number, ())
    for number in range(len(code.layouts.specifications)):
        yield lambda number=number: core.entries(number, False)


@pytest.mark.parametrize(
    "text", [b"", b"\1", END[:2], array("i", [999]).tobytes() + END, array("i", [1, 0, 0]).tobytes()]
)
def test_what_is_no_program_is_refused(text: bytes) -> None:
    with pytest.raises(BadCode):
        Machine([], [], [(b"", 1, b"", (), text, b"")], [])


# how it is chosen


@pytest.mark.parametrize(("asked", "is_native"), [("1", True), ("0", False), ("", True)])
def test_the_environment_chooses(monkeypatch: pytest.MonkeyPatch, asked: str, is_native: bool) -> None:
    monkeypatch.setenv("NESTLING_NATIVE", asked)
    db = nl.Database()
    db.table("t", {"a": int})
    assert isinstance(db._state.engine, LocalEngine) is not is_native
    db.insert("t", [(1,), (1,)])
    assert sorted(db.tables["t"]) == [(1,), (1,)]


def test_without_the_extension_everything_runs_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NESTLING_NATIVE", "1")
    monkeypatch.setitem(sys.modules, "nestling._native", None)
    assert not native.available()
    db = nl.Database()
    db.table("t", {"a": int})
    assert isinstance(db._state.engine, LocalEngine)
    assert "was not built" in native.notes(db._state.engine)[0]


@pytest.mark.soak
def test_the_c_code_is_clean_under_sanitizers(tmp_path: Path) -> None:
    """The tests beside this one, with a build that stops at the first bad access, leak of a bound or overflow."""
    root = Path(__file__).parents[3]
    flags = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    runtime = subprocess.run(
        ["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    )
    # A copy: the tests that run beside this one keep theirs.
    subprocess.run(["cp", "-r", str(root / "src"), str(root / "hatch_build.py"), str(tmp_path)], check=True)
    subprocess.run([sys.executable, str(tmp_path / "hatch_build.py"), *flags], check=True)
    env = {
        **os.environ, "LD_PRELOAD": runtime.stdout.strip(), "ASAN_OPTIONS": "detect_leaks=0",
        "PYTHONPATH": str(tmp_path / "src"), "PYTHONMALLOC": "malloc",
    }  # fmt: skip
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-m",
        "not soak",
        "-p",
        "no:cacheprovider",
        "--ignore=tests/engines/native/test_both_settings.py",  # it is about what is above the C code
        "tests/engines/native",
    ]
    run = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
