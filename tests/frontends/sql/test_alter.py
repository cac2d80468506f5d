"""ALTER TABLE: each statement is the method of the table that it stands for, with its refusals."""

import pytest

import nestling as nl


@pytest.fixture
def db():
    db = nl.Database()
    db.sql("""
        CREATE TABLE orders (id BIGINT PRIMARY KEY, customer STRING NOT NULL, n INT NOT NULL,
                             items ARRAY<STRUCT<p: INT, subs: ARRAY<STRUCT<q: INT>>>>);
        INSERT INTO orders VALUES (1, 'Ada', 2, array(named_struct('p', 1, 'subs', array(named_struct('q', 3)))));
        CREATE VIEW v AS SELECT id, customer FROM orders""")
    yield db
    db.verify()


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("ADD COLUMN note STRING", (1, "Ada", 2, [(1, [(3,)])], None)),
        ("ADD COLUMNS (note STRING COMMENT 'x')", (1, "Ada", 2, [(1, [(3,)])], None)),
        ("ADD COLUMN tags ARRAY<INT>", (1, "Ada", 2, [(1, [(3,)])], [])),
        ("ADD COLUMN items.subs.r INT", (1, "Ada", 2, [(1, [(3, None)])])),
        ("DROP COLUMN n", (1, "Ada", [(1, [(3,)])])),
        ("DROP COLUMN items.p", (1, "Ada", 2, [([(3,)],)])),
        ("RENAME COLUMN customer TO client", (1, "Ada", 2, [(1, [(3,)])])),
        ("ALTER COLUMN n TYPE DOUBLE", (1, "Ada", 2.0, [(1, [(3,)])])),
    ],
)
def test_a_table_changes(db, text, row):
    assert db.sql(f"ALTER TABLE orders {text}") is not None
    assert db.table("orders")[1] == row
    assert db.views["v"].rows() == [(1, "Ada")]


def test_null_stays_as_it_is_said(db):
    db.sql("ALTER TABLE orders ALTER COLUMN n TYPE BIGINT")
    with pytest.raises(nl.ChangeError, match="never None"):
        db.table("orders").update(key=1, set={"n": None})
    db.sql("ALTER TABLE orders ALTER COLUMN n DROP NOT NULL")
    db.table("orders").update(key=1, set={"n": None})
    db.table("orders").insert([(2, "Ben", 2**40, [])])


def test_other_names(db):
    assert db.sql("ALTER TABLE orders RENAME TO sales; ALTER VIEW v RENAME TO w; SELECT id FROM sales") == [
        (1,)
    ]
    assert list(db.views) == ["w"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("TABLE orders ADD COLUMNS (a INT, b INT)", "one column is changed at a time"),
        ("TABLE orders ADD COLUMN a INT DEFAULT 7", "no DEFAULT"),
        ("TABLE orders ADD COLUMN a INT NOT NULL", "need a value"),
        ("TABLE orders ADD COLUMN a INT FIRST", "POSITION"),
        ("TABLE orders ADD COLUMN IF NOT EXISTS n INT", "IF is not understood"),
        ("TABLE orders DROP COLUMN customer", "read by v"),
        ("TABLE orders DROP COLUMN nope", "no column 'nope'"),
        ("TABLE orders ALTER COLUMN nope TYPE BIGINT", "no column 'nope'"),
        ("TABLE orders ALTER COLUMN nope DROP NOT NULL", "no column 'nope'"),
        ("TABLE orders ALTER COLUMN n SET NOT NULL", "not supported"),
        ("TABLE orders ALTER COLUMN n SET DEFAULT 5", "not supported"),
        ("TABLE orders ALTER COLUMN n TYPE STRING", "which not every"),
        ("TABLE orders ADD CONSTRAINT c CHECK (n > 0)", "not understood"),
        ("TABLE nope ADD COLUMN a INT", "no table 'nope'"),
        ("TABLE v ADD COLUMN a INT", "no table 'v'"),
        ("VIEW v ADD COLUMN a INT", "not supported|not understood"),
    ],
)
def test_what_is_refused_changes_nothing(db, text, said):
    before = db.table("orders").schema
    with pytest.raises(nl.QueryError, match=said):
        db.sql(f"ALTER {text}")
    assert db.table("orders").schema == before and list(db.table("orders")) == [(1, "Ada", 2, [(1, [(3,)])])]
