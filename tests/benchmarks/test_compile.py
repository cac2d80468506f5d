"""Long texts: what views of them answer, and that the work to define one grows no faster than its square."""

import sys
from collections import Counter
from random import Random

import duckdb
import pytest

import nestling as nl
from benchmarks import compile as benchmark
from benchmarks.workloads.long_texts import CONSTRUCTS, JOINS, SCHEMA, wide
from nestling.calculus.traverse import size
from nestling.engine.local.engine import LocalEngine

#: More parts than stand in one expression of generated code, and than are taken apart.
PARTS = 60
TYPES = {str(int): "BIGINT", str(int | None): "BIGINT", str(str): "VARCHAR", str(str | None): "VARCHAR"}


def rows_of(schema, count, random):
    def value(type_):
        if type_ in (int | None, str | None) and random.random() < 0.2:
            return None
        return random.randrange(9) if type_ in (int, int | None) else f"k{random.randrange(9)}"

    return [(i, *(value(type_) for type_ in list(schema.values())[1:])) for i in range(count)]


def changed(construct, text, language, parts):
    """A view that rows were inserted into and deleted from, and the rows that are left."""
    db = benchmark.database(construct, parts)
    view = db.view("v", text, language=language)
    rows = rows_of(SCHEMA if construct.table == "T" else wide(parts), 40, Random(parts))
    db.insert(construct.table, rows[:30])
    for row in rows[30:]:
        db.insert(construct.table, [row])
    db.delete(construct.table, rows[::3])
    view.verify()
    return view, [row for i, row in enumerate(rows) if i % 3]


@pytest.mark.parametrize("name", CONSTRUCTS)
def test_a_long_text_answers_as_duckdb_does(name):
    construct = CONSTRUCTS[name]
    parts = min(PARTS, construct.goal // 2)
    view, rows = changed(construct, construct.sql(parts), "sql", parts)
    schema = SCHEMA if construct.table == "T" else wide(parts)
    other = duckdb.connect()
    columns = ", ".join(f"{name} {TYPES[str(type_)]}" for name, type_ in schema.items())
    other.execute(f"CREATE TABLE {construct.table} ({columns})")
    other.executemany(f"INSERT INTO {construct.table} VALUES ({', '.join('?' * len(schema))})", rows)

    expected = other.execute(construct.sql(parts)).fetchall()

    assert Counter(map(tuple, view.rows())) == Counter(expected)


@pytest.mark.parametrize("name", [name for name, construct in CONSTRUCTS.items() if construct.python])
def test_a_long_comprehension_answers_as_python_does(name):
    construct = CONSTRUCTS[name]
    parts = min(PARTS, construct.goal)
    assert construct.python is not None
    text = construct.python(parts)
    view, rows = changed(construct, text, "python", parts)

    class Row:
        def __init__(self, row):
            self.__dict__ |= dict(zip(SCHEMA, row, strict=True))

    expected = eval(text, {"T": [Row(row) for row in rows]})

    assert Counter(map(tuple, view.rows())) == Counter(expected)


@pytest.mark.parametrize("name", CONSTRUCTS)
def test_a_long_text_is_maintained(name):
    construct = CONSTRUCTS[name]
    db = benchmark.database(construct, construct.goal)

    db.view("v", construct.sql(construct.goal))

    assert not db.stats()["v"].get("evaluated_on_read")


def counted(action):
    """How many calls of Python's functions ``action`` takes."""
    made = 0

    def count(frame, event, arg):
        nonlocal made
        made += event == "call"

    sys.setprofile(count)
    try:
        action()
    finally:
        sys.setprofile(None)
    return made


def calls(construct, language, parts):
    """How many calls defining a view takes."""
    db = benchmark.database(construct, parts)
    text = (construct.sql if language == "sql" else construct.python)(parts)
    return counted(lambda: db.view("v", text, language=language))


@pytest.mark.parametrize(
    ("name", "language"),
    [(name, "sql") for name in CONSTRUCTS]
    + [(name, "python") for name, construct in CONSTRUCTS.items() if construct.python],
)
def test_work_grows_with_the_square_of_the_text_at_most(name, language):
    construct = CONSTRUCTS[name]
    parts = min(40, construct.goal // 2)
    small, large = calls(construct, language, parts), calls(construct, language, 2 * parts)
    assert large < 4 * small


def test_a_long_sum_is_read_in_work_that_grows_with_its_text():
    """Each sum in it asked all sums in it whether they are intervals: seconds, where there are thousands."""

    def work(parts):
        db = nl.Database()
        db.table("T", {"a": int | None})
        text = f"SELECT {'a + ' * parts}a AS x FROM T"
        return counted(lambda: db.view("v", text))

    work(1)
    assert work(800) < 2.5 * work(400)


@pytest.mark.parametrize("kind", JOINS)
def test_joins_are_defined_and_explained_in_work_that_does_not_double_with_each_table(kind):
    """Twelve tables take less than the square of six would say, where each table more would double it: 64 times."""

    def work(tables):
        db = benchmark.joined(kind, tables)
        text = JOINS[kind](tables)[1]
        defined = counted(lambda: db.view("v", text, strict=True))
        return defined, counted(db.views["v"].explain)

    work(2)  # what is loaded at first use
    small, large = work(6), work(12)
    assert all(more < 6 * less for less, more in zip(small, large, strict=True)), (small, large)


def test_explaining_aggregates_does_not_double_with_each():
    def work(aggregates):
        db = nl.Database()
        db.table("T", {"k": int, "a": int})
        sums = ", ".join(f"sum(a * {i + 2}) AS s{i}" for i in range(aggregates))
        view = db.view("v", f"SELECT k, {sums} FROM T GROUP BY k")
        return counted(view.explain)

    work(1)
    assert work(16) < 5 * work(8)


@pytest.mark.parametrize("name", ["aggregates", "many kinds of aggregates"])
def test_the_term_of_many_aggregates_grows_with_the_text(name):
    """Each goes through the rows of a group, with the columns that it reads and not those of all others."""

    def nodes(aggregates):
        db = benchmark.database(CONSTRUCTS[name], aggregates)
        db.view("v", CONSTRUCTS[name].sql(aggregates))
        return size(db._state.definitions["v"].query)

    assert nodes(40) < 2.1 * nodes(20)


@pytest.mark.in_python
@pytest.mark.parametrize("name", CONSTRUCTS)
def test_generated_code_grows_with_the_text(name):
    construct = CONSTRUCTS[name]
    parts = min(60, construct.goal // 2)
    lengths = []
    for n in (parts, 2 * parts):
        db = benchmark.database(construct, n)
        db.view("v", construct.sql(n))
        engine = db._state.engine
        assert isinstance(engine, LocalEngine)
        lengths.append(len(engine.source))
    assert lengths[1] < 3 * lengths[0]


def test_the_exponent_of_a_square_is_two():
    assert benchmark.exponent(0.25, 1.0) == 2.0


@pytest.mark.parametrize("name", ["a sum of terms", "CASE"])
def test_a_deep_view_is_read_explained_and_opened_again(name, tmp_path):
    """All that goes through the term has room for it, not its definition alone."""
    construct = CONSTRUCTS[name]
    text = construct.sql(200)
    rows = rows_of(SCHEMA, 5, Random(1))
    with nl.Database(str(tmp_path / "shop.db")) as db:
        db.table("T", SCHEMA)
        kept = db.view("kept", text)
        computed = db.view("computed", text, store="none")
        late = db.view("late", text, refresh="lazy")
        db.insert("T", rows)
        expected = Counter(map(tuple, kept.rows()))
        for view in (kept, computed, late):
            assert Counter(map(tuple, view.rows())) == expected
            view.verify()
            assert view.name in view.explain()
    with nl.Database(str(tmp_path / "shop.db")) as db:
        db.table("U", {"a": int})
        for view in db.views.values():
            assert Counter(map(tuple, view.rows())) == expected
