"""Large changes of bags inside bags: what Spark finds and does is what embedded does to one row after the other."""

from decimal import Decimal
from random import Random
from typing import Any

import pytest

import nestling as nl
from nestling.database.database import Database
from nestling.database.feed import z_bag
from nestling.engine.spark import limits
from tests.engines.spark.test_feeding import Both

pytestmark = pytest.mark.xdist_group("spark")

BOOKS = "ARRAY<STRUCT<title: STRING, words: ARRAY<STRING>>>"
SHELVES = f"ARRAY<STRUCT<no: INT, books: {BOOKS}>>"
ROWS = f"id INT, shelves {SHELVES}"
#: The columns of a change of each level: the key, what tells the elements on the way, and the element.
LEVELS = {
    "lib.shelves": f"id INT, no INT, books {BOOKS}",
    "lib.shelves.books": "id INT, shelves STRUCT<no: INT>, title STRING, words ARRAY<STRING>",
    "lib.shelves.books.words": (
        "id INT, shelves STRUCT<no: INT>, books STRUCT<title: STRING>, element STRING"
    ),
}


class Library(Both):
    """Rows that are nested three levels deep, and views of the innermost."""

    def __init__(self, spark: Any, path: Any, views: tuple[str, ...] = ("words",)) -> None:
        self.spark = spark
        self.ours: Any = nl.Database(spark=spark, path=path)
        self.theirs = Database()
        for db in (self.ours, self.theirs):
            db.table("lib", ROWS, key="id")
            for view in views:
                db.view(view, "[(w, b.title, s.no) for r in lib for s in r.shelves for b in s.books"
                        " for w in b.words]", language="python")  # fmt: skip

    def change(self, level: str, *rows: tuple[Any, ...]) -> str:
        """Rows of a level with what happens to them; what is refused."""
        self.apply(level, list(rows), LEVELS.get(level, ROWS))
        return self.refused

    def apply(self, table: str, rows: list[Any], schema: str) -> None:
        frame = self.frame(rows, f"{schema}, _change_type STRING")
        same = [row.asDict(recursive=True) for row in frame.collect()]
        self.do(lambda db: db.apply({table: frame}), lambda db: db.apply({table: same}))


@pytest.fixture
def library(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MAX_TRANSACTION_ROWS", 0)
    found = Library(spark, tmp_path / "lake")
    yield found
    found.ours.close()


def test_elements_that_have_bags_come_and_go(spark, tmp_path, monkeypatch):
    """by the columns that tell the elements on the way; elements go with what is in them"""
    library = Library(spark, tmp_path / "lake", views=())
    library.change("lib", (1, [(1, [("a", ["x", "y"])]), (2, [])], "insert"))
    monkeypatch.setattr(limits, "MAX_TRANSACTION_ROWS", 0)
    library.change("lib.shelves.books", (1, (1,), "a", ["y", "x"], "delete"), (1, (2,), "b", ["z"], "insert"))
    assert library.alike()
    assert library.change("lib.shelves.books.words", (1, (2,), ("c",), "x", "insert")) == (
        "no elements of lib.shelves.books have title = 'c'\nhint: nothing was changed"
    )
    words = library.ours._state.running.table("lib.shelves.books.words")
    assert [value for _, value in words] == ["z"]
    library.ours.close()


@pytest.mark.soak
def test_what_is_refused(library):
    """rows and elements that are not there, or not alone; columns that are none, or are bags"""
    library.change("lib", (1, [(1, [("a", ["x"]), ("a", ["y"])]), (2, []), (2, [("a", [])])], "insert"))
    words, books = "lib.shelves.books.words", "lib.shelves.books"
    assert "no row with key 7" in library.change(words, (7, (1,), ("a",), "x", "insert"))
    assert "2 elements of lib.shelves " in library.change(books, (1, (2,), "c", [], "insert"))
    assert "2 elements of lib.shelves.books " in library.change(words, (1, (1,), ("a",), "x", "insert"))
    assert "is not in" in library.change(books, (1, (1,), "a", ["z"], "delete"))
    assert "is not in" in library.change("lib.shelves", (1, 2, [("b", [])], "delete"))
    assert "is not in" in library.change("lib.shelves", (1, 2, [], "delete"), (1, 2, [], "delete"))
    assert "shelves is None" in library.change(books, (1, None, "c", [], "insert"))
    bad: dict[str, tuple[Any, ...]] = {
        "id INT, element STRING": (1, "x"),
        "id INT, shelves STRUCT<row: INT>, books STRUCT<title: STRING>, element STRING": (1, (1,), ("a",), "x"),
        f"id INT, shelves STRUCT<books: {BOOKS}>, books STRUCT<title: STRING>, element STRING": (
            1, ([],), ("a",), "x",
        ),
        "id INT, shelves STRUCT<no: STRING>, books STRUCT<title: STRING>, element STRING": (1, ("1",), ("a",), "x"),
        "id STRING, shelves STRUCT<no: INT>, books STRUCT<title: STRING>, element STRING": ("1", (1,), ("a",), "x"),
        "id INT, shelves STRUCT<no: INT>, books STRUCT<title: STRING>, element INT": (1, (1,), ("a",), 1),
        "id INT, shelves STRUCT<no: INT>, books STRUCT<title: STRING>": (1, (1,), ("a",)),
    }  # fmt: skip
    for schema, row in bad.items():
        library.apply(words, [(*row, "insert")], schema)
        assert library.refused
    assert library.alike()


@pytest.mark.soak
def test_one_batch_of_all_levels(library, spark):
    """what comes with a row is there for what changes inside it"""
    library.change("lib", (1, [(1, [("a", ["x"])])], "insert"))
    rows = {
        "lib.shelves.books.words": [(2, (5,), ("b",), "y", "delete"), (1, (1,), ("a",), "z", "insert")],
        "lib.shelves.books": [(1, (1,), "a", ["x", "z"], "delete"), (2, (5,), "c", ["w", "w"], "insert")],
        "lib.shelves": [(2, 6, [("d", ["v"])], "insert"), (2, 7, [], "delete")],
        "lib": [(2, [(5, [("b", ["y", "y"])]), (7, [])], "insert")],
    }
    frames = {
        name: library.frame(found, f"{LEVELS.get(name, ROWS)}, _change_type STRING")
        for name, found in rows.items()
    }
    here = [row.asDict(recursive=True) for row in frames["lib.shelves"].collect()]
    library.ours.apply({**frames, "lib.shelves": here})  # few rows that are here go with many
    with library.theirs.transaction() as change:
        for name in ("lib", *(name for name in rows if name != "lib")):
            change.apply({name: z_bag([row.asDict(True) for row in frames[name].collect()])})
    assert library.alike()
    library.ours.verify(maps=True)


@pytest.mark.soak
@pytest.mark.parametrize("key", ["DOUBLE", "DECIMAL(9,2)"])
def test_keys_that_labels_do_not_name(spark, tmp_path, monkeypatch, key):
    """bags of rows whose key is a float or a decimal: large changes and small ones, by turns"""
    both = Library(spark, tmp_path / "lake")
    schema = f"k {key}, tags ARRAY<STRING>"
    for db in (both.ours, both.theirs):
        db.table("T", schema, key="k")
    rows: list[Any] = [0.1, 1e22, -0.0] if key == "DOUBLE" else list(map(Decimal, ("0.10", "100", "7")))
    for number, few in enumerate((0, 10, 0)):
        monkeypatch.setattr(limits, "MAX_TRANSACTION_ROWS", few)
        both.apply("T", [(rows[number], ["t", "u"], "insert")], schema)
        both.apply(
            "T.tags",
            [(row, f"v{number}", "insert") for row in rows[: number + 1]],
            f"k {key}, element STRING",
        )
        assert both.alike()
    both.apply("T", [(rows[1], ["t", "u", "v1", "v2"], "delete")], schema)
    assert not both.refused
    assert both.alike()
    both.ours.close()


@pytest.mark.soak
@pytest.mark.parametrize("number", range(4))
def test_random_changes(library, number):
    """of any level, one after the other; many of them refused"""
    rng = Random(number)

    def words() -> list[str]:
        return [rng.choice("xy") for _ in range(rng.randrange(3))]

    def books() -> list[Any]:
        return [(rng.choice("ab"), words()) for _ in range(rng.randrange(3))]

    def shelves() -> list[Any]:
        return [(rng.randrange(2), books()) for _ in range(rng.randrange(3))]

    def stored() -> list[Any]:
        return [(row.id, [(s.no, [(b.title, list(b.words)) for b in s.books]) for s in row.shelves])
                for row in library.theirs.table("lib").rows()]  # fmt: skip

    def some(values: list[Any], otherwise: Any) -> Any:
        return rng.choice(values) if values else otherwise

    for _ in range(8):
        rows = stored()
        key, inside = some(rows, (0, []))
        shelf = some(inside, (0, []))
        book = some(shelf[1], ("a", []))
        library.change(*rng.choice([
            ("lib", (rng.randrange(3), shelves(), "insert")),
            ("lib", *((*row, "delete") for row in rows[:1])),
            ("lib.shelves", (key, rng.randrange(2), books(), "insert"), (key, *shelf, "delete")),
            ("lib.shelves.books", (key, shelf[:1], *book, "delete"), (key, shelf[:1], "b", words(), "insert")),
            ("lib.shelves.books.words", (key, shelf[:1], book[:1], "x", "insert")),
            ("lib.shelves.books.words", *((key, shelf[:1], book[:1], w, "delete") for w in book[1])),
        ]))  # fmt: skip
        assert library.alike()
    library.ours.verify(maps=True)
