"""Tables read as documents, several documents, and collections of them: against Saxon on the texts that they are."""

from datetime import date, datetime
from decimal import Decimal

import pytest

import nestling as nl
from nestling.database.xml.tabled import table_store
from nestling.frontend.xquery.branches import TableDocument
from nestling.xml.serialise import serialised
from tests.documents.oracle import saxon_of

ROWS = [
    {"id": 10, "price": Decimal("50.50"), "city": "Rome", "day": date(2020, 1, 2), "paid": True},
    {"id": 2, "price": Decimal("5"), "city": None, "day": date(2020, 1, 3), "paid": False},
    {"id": 3, "price": Decimal("45"), "city": "Oslo & co", "day": date(2021, 1, 3), "paid": True},
]
QUERIES = [
    '<r>{for $o in doc("orders")/orders/row where $o/price > 40 return <x n="{$o/id}">{$o/city/text()}</x>}</r>',
    '<r>{doc("orders")//row[city = "Rome"], doc("orders")/*/row/city}</r>',
    '<r>{sum(doc("orders")//row/price), count(doc("orders")//row[paid = "true"])}</r>',
    '<r>{for $c in distinct-values(doc("orders")//city) return <c>{$c, count(doc("orders")//row[city = $c])}</c>}</r>',
    '<r>{for $o in doc("orders")//row group by $c := $o/city order by $c return <c of="{$c}">{avg($o/price),'
    " max(for $x in $o return xs:date($x/day))}</c>}</r>",
    '<r>{for $o in doc("orders")//row, $c in doc("d")/s/c where $c/@n = $o/city return <x>{$c/@n, $o}</x>}</r>',
    '<r>{for $o in doc("orders")//row order by xs:decimal($o/price) descending return data($o/id)}</r>',
    '<r>{for $o in doc("orders")//row where empty($o/city) return $o/price}</r>',
    '<r>{for $o at $i in doc("orders")//row return <x i="{$i}">{string-join(($o/id, $o/city), ":")}</x>}</r>',
]


def database(path=None) -> nl.Database:
    db = nl.Database(path)
    db.table("orders", {"id": int, "price": Decimal, "city": str | None, "day": date, "paid": bool}, key="id")
    db.document("d", '<s><c n="Rome"/><c n="Oslo &amp; co"/></s>')
    db.insert("orders", ROWS)
    return db


def text_of(db: nl.Database, name: str) -> str:
    """A table as the text of a document."""
    table = db._state.tables[name]
    store = table_store(TableDocument(name, table.record, table.key), db._state.engine.table(name))
    return serialised(list(store.scan()))


def test_a_table_is_its_rows_by_their_keys():
    db = nl.Database()
    db.table("t", {"k": str, "at": datetime, "n": int | None}, key="k")
    db.insert("t", [{"k": "b", "at": datetime(2020, 1, 2, 3, 4), "n": None}])
    db.insert("t", [{"k": "a<", "at": datetime(2020, 1, 2, 3, 4, 5, 500_000), "n": -1}])
    wanted = (
        "<t><row><k>a&lt;</k><at>2020-01-02T03:04:05.5</at><n>-1</n></row>"
        "<row><k>b</k><at>2020-01-02T03:04:00</at></row></t>"
    )
    assert text_of(db, "t") == wanted
    assert db.view("v", '<t>{doc("t")/t/row}</t>', language="xquery").xml() == wanted


@pytest.mark.parametrize("query", QUERIES)
def test_a_table_is_read_as_a_document(query):
    db = database()
    view = db.view("v", query, language="xquery")

    def check():
        texts = {"orders": text_of(db, "orders"), "d": db.document("d").xml()}
        assert view.xml() == saxon_of(query, texts)
        view.verify(maps=True)

    check()
    db.insert(
        "orders", [{"id": 11, "price": Decimal("41"), "city": "Rome", "day": date(1999, 1, 2), "paid": True}]
    )
    check()
    db.delete("orders", key=10)
    check()
    with db.transaction() as change:
        change.update("orders", key=3, set={"city": None})
        change.xquery('insert node <c n="Rome"/> into /s')
    check()


def test_a_view_of_a_table_comes_back_with_the_file(tmp_path):
    path = tmp_path / "db.nest"
    with database(path) as db:
        before = db.view("v", QUERIES[4], language="xquery").xml()
        with pytest.raises(nl.QueryError, match="orders"):
            db.drop("orders")
    with nl.Database(path) as db:
        assert db.views["v"].xml() == before
        db.delete("orders", key=10)
        db.views["v"].verify(maps=True)
        assert db.views["v"].xml() != before
        assert db.view("v", QUERIES[4], language="xquery").xml() == db.views["v"].xml()
        db.drop("v")
        db.drop("orders")


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ('doc("bare")//row', "the table bare is no document: its rows have no key of one column"),
        ('doc("floats")//row', "the table floats is no document: its column x has no text"),
        ('doc("orders")//row[1]', "rows of a table are not counted"),
        ('doc("orders")//row/colour', "orders has no column colour"),
        ('doc("orders")/orders', "this is no row of the table"),
        ('doc("orders")//row/@id', "a row of a table has cells alone"),
        ('doc("orders")//row/*', "all cells of a row are not one path"),
        ('doc("none")//row', "there is no document 'none' (FODC0002)"),
        ('collection("none")/s', "there is no document in 'none' (FODC0004)"),
    ],
)
def test_what_is_no_document_is_refused(query, wanted):
    db = database()
    db.table("bare", {"x": int})
    db.table("floats", {"k": int, "x": float}, key="k")
    with pytest.raises(nl.QueryError) as raised:
        db.view("v", f"<r>{{{query}}}</r>", language="xquery")
    assert wanted in str(raised.value)
    assert raised.value.at is not None


def test_a_collection_is_its_documents_in_the_order_of_their_names():
    db = nl.Database()
    texts = {
        "shop/b.xml": "<s><p>3</p><p>4</p></s>",
        "shop/a.xml": "<s><p>1</p></s>",
        "other": "<s><p>9</p></s>",
    }
    for name, text in texts.items():
        db.document(name, text)
    view = db.view("v", '<r n="{sum(collection("shop")//p)}">{collection("shop")/s/p}</r>', language="xquery")
    assert view.xml() == '<r n="8"><p>1</p><p>3</p><p>4</p></r>'
    told: list[object] = []
    view.subscribe(told.append)
    db.document("shop/b.xml").at("/s/p[1]").replace_value("5")
    db.document("other").at("/s/p").replace_value("7")
    assert view.xml() == '<r n="10"><p>1</p><p>5</p><p>4</p></r>'
    assert len(told) == 1
    view.verify(maps=True)
    with pytest.raises(nl.QueryError, match="v reads the collection shop"):
        db.document("shop/c.xml", "<s/>")
    with pytest.raises(nl.QueryError, match="v"):
        db.drop("shop/a.xml")
    db.drop("v")
    db.document("shop/c.xml", "<s/>")
