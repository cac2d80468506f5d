"""``db.sql``: statements that define, change and ask."""

from datetime import date
from decimal import Decimal

import pytest

import nestling as nl


@pytest.fixture
def db():
    db = nl.Database()
    db.sql("""
        CREATE TABLE orders (id INT PRIMARY KEY, cust STRING, price DECIMAL(10, 2), day DATE COMMENT 'of order');
        CREATE TABLE nested (id INT NOT NULL, items ARRAY<STRUCT<pid: INT NOT NULL, qty: INT>>, PRIMARY KEY (id));
        CREATE MATERIALIZED VIEW spend AS SELECT cust, sum(price) AS total, count(*) AS n FROM orders GROUP BY cust;
        INSERT INTO orders VALUES (1, 'ann', 3, '2024-01-31'), (2, 'bob', 2.5, NULL);
    """)
    return db


def test_a_table_is_declared_with_its_types_and_key(db):
    assert (
        repr(db.table("orders"))
        == "Table(orders: ⟨id: int, cust: str?, price: decimal?, day: date?⟩, key=id)"
    )
    assert repr(db.table("nested")) == "Table(nested: ⟨id: int, items: Bag(⟨pid: int, qty: int?⟩)⟩, key=id)"


def test_a_view_follows_the_changes(db):
    assert sorted(db.views["spend"]) == [("ann", Decimal(3), 1), ("bob", Decimal("2.5"), 1)]

    refresh = db.sql("UPDATE orders SET price = price * 2, cust = 'bob' WHERE cust = 'ann'")

    assert isinstance(refresh, type(db._last_refresh))
    assert sorted(db.views["spend"]) == [("bob", Decimal("8.5"), 2)]
    db.sql("DELETE FROM orders WHERE id IN (SELECT max(id) FROM orders)")
    assert sorted(db.views["spend"]) == [("bob", Decimal(6), 1)]
    db.sql("DELETE FROM orders")
    assert list(db.views["spend"]) == []


def test_columns_that_are_left_out_are_null(db):
    db.sql("INSERT INTO orders (cust, id) SELECT cust || '!', id + 10 FROM orders WHERE price > 2.75")

    assert db.sql("SELECT * FROM orders WHERE id > 10") == [(11, "ann!", None, None)]


def test_nested_rows(db):
    db.sql("""
        INSERT INTO nested VALUES
            (1, array(struct(7 AS pid, 2 AS qty), named_struct('pid', 8, 'qty', CAST(NULL AS INT))));
        CREATE VIEW flat AS SELECT id, i.pid, i.qty FROM nested LATERAL VIEW explode(items) t AS i
    """)

    assert sorted(db.views["flat"], key=repr) == [(1, 7, 2), (1, 8, None)]


def test_a_query_is_ordered_and_cut(db):
    db.sql("INSERT INTO orders VALUES (3, NULL, 9, NULL), (4, 'ann', 1, NULL)")

    assert db.sql("SELECT cust, id FROM orders ORDER BY cust, id DESC") == [
        (None, 3), ("ann", 4), ("ann", 1), ("bob", 2),
    ]  # fmt: skip
    assert db.sql("SELECT cust FROM orders ORDER BY 1 DESC LIMIT 2") == [("bob",), ("ann",)]
    assert db.sql("SELECT cust FROM orders ORDER BY cust DESC NULLS FIRST LIMIT 1") == [(None,)]
    assert db.sql("SELECT day FROM orders WHERE day IS NOT NULL") == [(date(2024, 1, 31),)]


def test_views_may_be_asked_and_dropped(db):
    assert db.sql("SELECT total FROM SPEND WHERE cust = 'ann'") == [(Decimal(3),)]
    db.sql("DROP VIEW spend; DROP VIEW IF EXISTS spend; CREATE TABLE IF NOT EXISTS orders (id INT)")
    assert "spend" not in db.views


def test_a_constraint_in_sql(db):
    db.constraint("positive", "SELECT id FROM orders WHERE price < 0")

    with pytest.raises(nl.ConstraintError, match="positive would be broken"):
        db.sql("UPDATE orders SET price = -1 WHERE id = 1")
    assert db.sql("SELECT price FROM orders WHERE id = 1") == [(Decimal(3),)]


def test_a_division_by_zero_is_refused_with_the_change_that_brings_it(db):
    rate = db.view("rate", "SELECT id, 10 / price AS r FROM orders WHERE price IS NOT NULL")

    with pytest.raises(nl.ChangeError, match="rate could not be computed"):
        db.sql("INSERT INTO orders VALUES (5, 'eve', 0, NULL)")
    assert sorted(row.id for row in rate) == [1, 2]


def test_a_view_is_found_again_when_its_file_is_opened(tmp_path):
    with nl.Database(tmp_path / "shop.nest") as db:
        db.sql("CREATE TABLE r (a INT, b INT)")
        db.sql("CREATE VIEW `odd name` AS SELECT a AS `x y`, sum(b) AS s FROM r GROUP BY a")
        db.sql("INSERT INTO r VALUES (1, 2), (1, NULL), (NULL, 3)")
    with nl.Database(tmp_path / "shop.nest") as db:
        assert sorted(db.views["odd name"], key=repr) == [(1, 2), (None, 3)]


REFUSED = {
    "INSERT INTO orders VALUES (1)": "1 values are given to 4 columns",
    "INSERT INTO orders (nope) VALUES (1)": "orders has no column nope",
    "INSERT INTO spend VALUES ('a', 1, 2)": "spend is a view",
    "INSERT OVERWRITE orders SELECT * FROM orders": "OVERWRITE of INSERT is not supported",
    "UPDATE orders SET nope = 1": "SET gives a column of the table a value",
    "UPDATE orders SET price = 'dear'": "'dear' is no DECIMAL",
    "UPDATE orders SET price = cust": "a STRING is no DECIMAL",
    "DELETE FROM nothing": "there is no table or view 'nothing'",
    "TRUNCATE TABLE orders": "TRUNCATETABLE is not supported",
    "CREATE TABLE x (a INT, A INT)": "column a stands twice",
    "CREATE TABLE x (a MAP<ARRAY<INT>, INT>)": "the type of a is not supported",
    "CREATE TABLE x (a INT DEFAULT 3)": "this constraint of a is not supported",
    "CREATE TABLE x (a INT) USING delta": "a table has columns and a key",
    "CREATE TABLE x AS SELECT 1 AS a": "this CREATE TABLE is not supported",
    "CREATE TEMPORARY VIEW v AS SELECT 1 AS a": "a view is a name and a query",
    "CREATE VIEW v (a) AS SELECT 1, 2": "1 names are given to 2 columns",
    "CREATE OR REPLACE VIEW spend AS SELECT zz FROM orders": "there is no column zz",
    "MERGE INTO orders USING orders o ON orders.id = o.id WHEN MATCHED THEN INSERT *": "this clause of MERGE is not",
    "MERGE INTO orders USING orders o ON true WHEN MATCHED THEN DELETE": "matches several rows of the source",
    "MERGE INTO orders USING orders o ON orders.id = o.id WHEN MATCHED THEN UPDATE SET nope = 1": "has no column nope",
    "MERGE INTO spend USING orders o ON true WHEN MATCHED THEN DELETE": "spend is a view",
    "SELECT cust FROM orders ORDER BY price": "in the order of what it selects",
    "SELECT 1 AS a; SELECT": "SELECT names no column",
    "DROP TABLE nothing": "there is no 'nothing'",
}  # fmt: skip


@pytest.mark.parametrize("script", REFUSED)
def test_what_is_refused(db, script):
    with pytest.raises(nl.QueryError) as caught:
        db.sql(script)

    assert REFUSED[script] in str(caught.value)
    assert sorted(db.views["spend"]) == [("ann", Decimal(3), 1), ("bob", Decimal("2.5"), 1)]


def test_views_are_replaced_renamed_and_left(db):
    db.sql("CREATE VIEW v (who COMMENT 'a name', n) AS SELECT cust, count(*) FROM orders GROUP BY cust")
    assert db.views["v"].rows()[0]._fields == ("who", "n")

    db.sql("CREATE VIEW IF NOT EXISTS v AS SELECT 1 AS one")
    assert len(db.views["v"]) == 2

    db.sql("CREATE OR REPLACE VIEW v AS SELECT 1 AS one")
    assert db.views["v"].rows() == [(1,)]

    with pytest.raises(nl.QueryError):
        db.sql("CREATE OR REPLACE VIEW v AS SELECT nothing FROM orders")
    assert db.views["v"].rows() == [(1,)]


@pytest.fixture
def stock():
    with nl.Database() as database:
        database.sql(
            "CREATE TABLE t (k INT PRIMARY KEY, x INT, p DECIMAL(6, 2)); CREATE TABLE s (k INT, x INT)"
        )
        database.sql(
            "INSERT INTO t VALUES (1, 10, 1.005), (2, 20, 2), (3, NULL, 3);"
            "INSERT INTO s VALUES (1, 11), (2, NULL), (4, 40)"
        )
        yield database


def test_values_become_what_their_column_is(stock):
    assert sorted(str(row.p) for row in stock.table("t")) == ["1.01", "2.00", "3.00"]
    stock.sql("UPDATE t SET p = p / 3 WHERE k = 2")
    assert stock.sql("SELECT p FROM t WHERE k = 2") == [(Decimal("0.67"),)]
    for change in (
        "INSERT INTO t VALUES (2147483648, 1, 1)",
        "UPDATE t SET p = 12345",
        "UPDATE t SET x = x * 1000000000",
    ):
        with pytest.raises(nl.NestlingError):
            stock.sql(change)
    assert len(stock.table("t")) == 3


def test_merge(stock):
    stock.sql(
        "MERGE INTO t USING s AS u ON t.k = u.k WHEN MATCHED AND u.x IS NULL THEN DELETE"
        " WHEN MATCHED THEN UPDATE SET x = u.x + t.x WHEN NOT MATCHED THEN INSERT (k, x) VALUES (u.k, u.x)"
        " WHEN NOT MATCHED BY SOURCE AND t.k > 2 THEN UPDATE SET x = -1"
    )
    assert sorted(stock.sql("SELECT k, x FROM t")) == [(1, 21), (3, -1), (4, 40)]


def test_merge_by_names(stock):
    stock.sql(
        "MERGE INTO t USING (SELECT k, x + 1 AS x FROM s WHERE x IS NOT NULL) u ON t.k = u.k"
        " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED BY TARGET THEN INSERT *"
        " WHEN NOT MATCHED BY SOURCE THEN DELETE"
    )
    assert sorted(stock.sql("SELECT k, x, p FROM t")) == [(1, 12, Decimal("1.01")), (4, 41, None)]
