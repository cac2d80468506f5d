"""Documents in a database: changes by address and by text, transactions with tables, reopening, and what is refused."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest

import nestling as nl
from nestling.database.xml.definition import read_xquery
from nestling.storage.file import FileStore
from nestling.xml.store import NodeStore
from tests.documents.oracle import saxon
from tests.documents.patches import applied

TEXT = '<s><c id="1"><n>Ann</n><p>50</p></c><c id="2"><n>Bob</n><p>30</p></c></s>'
QUERY = "<r>{for $c in /s/c where $c/p >= 40 return <x>{$c/n/text()}</x>}</r>"


@pytest.fixture
def db():
    found = nl.Database()
    found.document("d", TEXT)
    found.view("v", QUERY, language="xquery")
    return found


def test_changes_by_address(db):
    document, view = db.document("d"), db.views["v"]
    bob = document.at("/s/c[@id = '2']")

    refresh = bob.at("p").replace_value("45")
    assert refresh.version == db.version and view.xml() == "<r><x>Ann</x><x>Bob</x></r>"
    bob.insert("<q>new</q>", "first")
    bob.set("k", "1")
    bob.set("id", None)
    bob.at("n").rename("m")
    assert bob.xml() == '<c k="1"><q>new</q><m>Bob</m><p>45</p></c>'
    bob.at("@k").replace_value("2")
    bob.at("@k").rename("l")
    assert bob.at("@l").value == "2"
    bob.at("q").replace("<t>a</t>b")
    assert bob.value == "abBob45"
    bob.at("m").insert("<z/>", "before")
    bob.at("m").insert("<y/>", "after")
    assert bob.xml() == '<c l="2"><t>a</t>b<z/><m>Bob</m><y/><p>45</p></c>'
    bob.at("@l").delete()
    bob.delete()
    assert document.xml() == '<s><c id="1"><n>Ann</n><p>50</p></c></s>'
    assert view.xml() == "<r><x>Ann</x></r>"
    db.verify(maps=True)


def test_a_node_stays_the_same_node(db):
    ann = db.document("d").at("/s/c[1]")
    for _ in range(3):
        ann.insert("<c/>", "before")
    assert ann.at("n").value == "Ann"
    ann.delete()
    with pytest.raises(nl.ChangeError, match="no longer there"):
        ann.replace_value("x")


BAD = [
    (lambda d: d.at("/s/c"), "leads to 2 nodes"),
    (lambda d: d.at("/s/q"), "leads to 0 nodes"),
    (lambda d: d.at("/s/c["), "expected"),
    (lambda d: d.at("1 + 1"), "leads to no node inside"),
    (lambda d: d.at("/s/c[1]").insert("<a>"), "no XML that can be stored"),
    (lambda d: d.at("/s/c[1]").insert("</_><_>"), "no XML that can be stored"),
    (lambda d: d.at("/s/c[1]").insert("<a/>", "beside"), "there is no place"),
    (lambda d: d.at("/s/c[1]/n/text()").insert("<a/>", "last"), "no element"),
    (lambda d: d.at("/s/c[1]").insert(3), "markup is a text"),
    (lambda d: d.at("/s/c[1]").replace_value("\x00"), "which no XML document can"),
    (lambda d: d.at("/s/c[1]").replace_value(3), "is a text"),
    (lambda d: d.at("/s/c[1]").rename("a b"), "is no name"),
    (lambda d: d.at("/s/c[1]").set("1", "x"), "is no name"),
    (lambda d: d.at("/s/c[1]").set("k", "\ud800"), "which no XML document can"),
    (lambda d: d.at("/s/c[1]/n/text()").rename("x"), "a text has no name"),
    (lambda d: d.at("/s/c[1]/@id").insert("<a/>"), "an attribute has no place"),
    (lambda d: d.at("/s").delete(), "no single root element (XUDY0021)"),
    (lambda d: d.at("/s").insert("<t/>", "after"), "no single root element"),
    (lambda d: d.at("/s").replace("text"), "no single root element"),
    (lambda d: d.at("/s/c[1]/p").replace_value("abc"), "could not be computed"),
]


@pytest.mark.parametrize(("action", "message"), BAD, ids=range(len(BAD)))
def test_a_bad_change_changes_nothing(db, action, message):
    document, view, version = db.document("d"), db.views["v"], db.version
    with pytest.raises(nl.NestlingError, match=message.replace("(", r"\(").replace(")", r"\)")):
        action(document)
    assert document.xml() == TEXT and view.xml() == "<r><x>Ann</x></r>" and db.version == version
    db.verify(maps=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("delete node 3", "XUTY0007"),
        ("insert node <a/> into /s/c", "XUTY0008"),
        ("insert node <a/> into /s/q", "XUDY0027"),
        ("insert node <a/> into /s/c[1]/n/text()", "XUTY0005"),
        ("insert node <a/> before /s/c[1]/@id", "XUTY0006"),
        ("insert node <a/> before /s", "XUDY0021"),
        ("insert node attribute k { 1 } before /s", "XUTY0022"),
        ("insert node (<a/>, attribute k { 1 }) into /s", "XUTY0004"),
        ("replace node /s/c[1] with attribute k { 1 }", "XUTY0010"),
        ("replace node /s/c[1]/@id with <a/>", "XUTY0011"),
        ("rename node /s/c[1]/@id as 'k', insert node attribute k { 1 } into /s/c[1]", "XUDY0021"),
        (
            "replace value of node /s/c[1] with 'x', replace value of node /s/c[1] with 'y'",
            "XUDY0017",
        ),
        ("rename node /s/c[1]/n/text() as 'x'", "XUTY0012"),
        ("rename node /s/c[1] as 'x', rename node /s/c[1] as 'y'", "XUDY0015"),
        ("replace node /s/c[1] with <a/>, replace node /s/c[1] with <b/>", "XUDY0016"),
        (
            "replace value of node /s/c[1]/@id with 'x', replace value of node /s/c[1]/@id with 'y'",
            "XUDY0017",
        ),
        ("insert node attribute id { 3 } into /s/c[1]", "XUDY0021"),
        ("/s/c", "XUST0001"),
        ("delete node $x", "XPST0008"),
        ("delete node doc('other')/a", "there is no document"),
        ("delete node /s/c[1], insert node <a/> into /s/q", "XUDY0027"),
    ],
    ids=range(21),
)
def test_a_bad_update_text_changes_nothing(db, text, message):
    document = db.document("d")
    with pytest.raises(nl.NestlingError, match=message):
        db.xquery(text)
    assert document.xml() == TEXT


def test_an_update_sees_the_state_before(db):
    db.xquery(
        "for $c in /s/c return (insert node $c/n as last into /s, delete node $c/n, "
        "replace value of node $c/p with count(/s/c))"
    )
    assert db.document("d").xml() == '<s><c id="1"><p>2</p></c><c id="2"><p>2</p></c><n>Ann</n><n>Bob</n></s>'
    db.verify(maps=True)


@pytest.mark.parametrize(
    ("update", "after"),
    [
        # A target is a node, whatever becomes of its name.
        ("rename node /s/@a as 'b', replace value of node /s/@a with 'x'", '<s b="x"><n>1</n><m/></s>'),
        ("rename node /s/@a as 'b', delete node /s/@a", "<s><n>1</n><m/></s>"),
        ("delete node /s/@a, insert node attribute a { 2 } into /s", '<s a="2"><n>1</n><m/></s>'),
        (
            "rename node /s/@a as 'b', insert node attribute a { 2 } into /s",
            '<s b="1" a="2"><n>1</n><m/></s>',
        ),
        ("replace node /s/@a with (attribute c { 3 }, attribute d { 4 })", '<s c="3" d="4"><n>1</n><m/></s>'),
        ("rename node /s/n as 'k', replace value of node /s/n with 'x'", '<s a="1"><k>x</k><m/></s>'),
        # Contents come before deletions, and what they take away stays away.
        ("replace value of node /s/n with 'x', delete node /s/n/text()", '<s a="1"><n>x</n><m/></s>'),
        ("insert node <q/> into /s/n, replace value of node /s/n with 'x'", '<s a="1"><n>x</n><m/></s>'),
        ("insert node <q/> after /s/n, replace node /s/n with <r/>", '<s a="1"><r/><q/><m/></s>'),
        ("insert node <q/> before /s/n, delete node /s/n", '<s a="1"><q/><m/></s>'),
        ("replace node /s/n with (), delete node /s/n/text()", '<s a="1"><m/></s>'),
        ("delete node /s/n, delete node /s/n", '<s a="1"><m/></s>'),
        ("insert nodes (<p/>, 'x', <q/>) as first into /s/m", '<s a="1"><n>1</n><m><p/>x<q/></m></s>'),
        ("for $e in /s/* return insert node <i/> into $e", '<s a="1"><n>1<i/></n><m><i/></m></s>'),
        ("insert node <!--c--> before /s", '<!--c--><s a="1"><n>1</n><m/></s>'),
    ],
    ids=range(15),
)
def test_several_updates_of_one_text(update, after):
    db = nl.Database()
    document = db.document("d", '<s a="1"><n>1</n><m/></s>')
    db.view("v", "<r>{for $n in /s/* return <x a='{/s/@a}'>{$n}</x>}</r>", language="xquery")
    db.xquery(update)
    assert document.xml() == after
    db.verify(maps=True)


def test_texts_that_become_neighbours_are_one(db):
    document = db.document("d")
    document.at("/s/c[1]").insert("x<b/>y", "first")
    document.at("/s/c[1]/b").delete()
    assert document.at("/s/c[1]/text()").value == "xy"
    document.at("/s/c[1]/text()").replace_value("")
    document.at("/s/c[1]/n").replace_value("")
    assert document.xml().startswith('<s><c id="1"><n/><p>50')
    document.at("/s/c[1]/n").insert("a", "last")
    document.at("/s/c[1]/n").insert("b", "first")
    assert document.at("/s/c[1]/n/text()").value == "ba"


def test_documents_and_tables_change_in_one_transaction(db):
    db.table("log", {"what": str})
    with db.transaction() as change:
        change.insert("log", [("moved",)])
        change.document("d").at("/s/c[1]").delete()
        change.xquery("replace value of node /s/c[1]/p with '70'")
        change.document("d").at("/s/c[1]/n").replace_value("Rob")
        assert db.views["v"].xml() == "<r><x>Rob</x></r>"  # its own thread sees it
        assert change.document("d").xml() == '<s><c id="2"><n>Rob</n><p>70</p></c></s>'
    assert db.views["v"].xml() == "<r><x>Rob</x></r>"
    with pytest.raises(nl.ChangeError, match="leads to 0"), db.transaction() as change:
        change.insert("log", [("lost",)])
        change.document("d").at("/s/c").delete()
        assert db.views["v"].xml() == "<r/>"
        change.document("d").at("/s/c")
    assert db.views["v"].xml() == "<r><x>Rob</x></r>" and len(db.table("log").rows()) == 1
    with db.transaction() as change, pytest.raises(nl.NestlingError):
        change.document("d").at("/s/c").replace_value("\x00")
    db.verify(maps=True)


def test_hidden_tables_are_out_of_reach(db):
    hidden = [name for name in db._state.tables if name.startswith("§")]
    assert hidden and not db.tables and list(db.views) == ["v"]
    for name in hidden:
        with pytest.raises(nl.NestlingError):
            db.insert(name, [])
        with pytest.raises(nl.NestlingError):
            db.table(name)
        with pytest.raises(nl.NestlingError):
            db.drop(name)
    for call in (lambda: db.table("§t", {"x": int}), lambda: db.view("§v", "SELECT 1 AS x")):
        with pytest.raises(nl.QueryError, match="starts with §"):
            call()
    assert repr(db) == "Database(d: document)"


def test_dropping_takes_everything_along(db):
    with pytest.raises(nl.QueryError, match="read by v"):
        db.drop("d")
    db.view("w", "count(/s/c)", language="xquery")
    db.drop("v")
    assert db.views["w"].xml() == "2"
    db.drop("w")
    assert [name for name in db._state.tables if name.startswith("§n")] == []
    db.drop("d")
    assert not db._state.tables and not db._state.views and not db.documents
    db.document("d", "<a/>")


def test_defining_again(db):
    assert db.view("v", QUERY, language="xquery").xml() == "<r><x>Ann</x></r>"
    with pytest.raises(nl.QueryError, match="already defined, and otherwise"):
        db.view("v", "count(/s)", language="xquery")
    with pytest.raises(nl.QueryError, match="already"):
        db.view("d", "count(/s)", language="xquery")
    with pytest.raises(nl.QueryError, match="already"):
        db.table("v", {"x": int})


def test_what_is_in_a_file_is_there_again(tmp_path):
    path = tmp_path / "d.nest"
    with nl.Database(path) as db:
        db.document("d", TEXT)
        db.view("v", QUERY, language="xquery")
        db.xquery("replace value of node /s/c[2]/p with '60'")
        db.view("copies", "<all>{/s/c}</all>", language="xquery")
        text, copies = db.views["v"].xml(), db.views["copies"].xml()
    with nl.Database(path) as db:
        assert (db.views["v"].xml(), db.views["copies"].xml()) == (text, copies)
        db.verify(maps=True)
        db.document("d").at("/s/c[1]").delete()
        db.document("d").at("/s").insert("<c><n>Eve</n><p>99</p></c>" * 70, "first")
        text = db.views["v"].xml()
        db.verify(maps=True)
    with nl.Database(path) as db:
        assert db.views["v"].xml() == text
        assert db.view("v", QUERY, language="xquery").xml() == text
        db.drop("v")
        db.drop("copies")
    with nl.Database(path) as db:
        assert not db.views and list(db.documents) == ["d"]


def test_a_load_that_fails_leaves_the_file_as_it_was(tmp_path):
    path = tmp_path / "d.nest"
    with nl.Database(path) as db:
        db.document("d", TEXT)
        with pytest.raises(nl.ChangeError):
            db.document("e", TEXT * 2)
    with nl.Database(path) as db:
        assert list(db.documents) == ["d"] and db.document("d").xml() == TEXT


def test_always_at_one_spot_keys_are_renewed():
    db = nl.Database()
    document = db.document("d", "<s><a>0</a><z/></s>")
    view = db.view("v", "<r>{for $a in /s/a return <x>{data($a)}</x>}</r>", language="xquery")
    told, text = [], view.xml()
    view.subscribe(lambda change: told.append(change.to_xml_patch()))
    first, last = document.at("/s/a"), document.at("/s/z")
    for number in range(1, 200):
        try:
            first.insert(f"<a>{number}</a>", "after")
        except nl.ChangeError as error:
            assert "has moved" in str(error)
            first = document.at("/s/a[1]")
            first.insert(f"<a>{number}</a>", "after")
    assert view.xml() == "<r><x>0</x>" + "".join(f"<x>{n}</x>" for n in range(199, 0, -1)) + "</r>"
    assert db._documents.renewed, "keys have become long, and were renewed"
    assert len(told) == 199 and all(patch.count("<add ") == 1 and "remove" not in patch for patch in told)
    assert text != view.xml() and last is not None
    db.verify(maps=True)


def test_a_view_is_read_as_items(db):
    numbers = db.view("n", "(count(/s/c), 1.5, 'a', /s/c[1]/n, /s/c[1]/n/text(), 2 > 1)", language="xquery")
    first, *rest = list(numbers)
    assert (
        first == 2
        and [str(x) for x in rest[:2]] == ["1.5", "a"]
        and rest[2].tag == "n"
        and rest[3:] == ["Ann", True]
    )
    assert len(numbers) == 6
    assert db.views["v"].tree().tag == "r"
    with pytest.raises(nl.QueryError, match="no single element"):
        numbers.tree()


def test_changes_are_kept_for_who_asks(db):
    view = db.views["v"]
    assert view.changes() == []
    start = db.version
    db.xquery("replace value of node /s/c[2]/p with '60'")
    db.xquery("replace value of node /s/c[2]/@id with '9'")
    [change] = view.changes(since=start)
    assert change.to_xml_patch() == '<diff><add sel="/*"><x>Bob</x></add></diff>'
    subscription = view.subscribe(lambda change: None)
    subscription.cancel()
    with pytest.raises(nl.NestlingError, match="kept since"):
        view.changes(since=start - 1)


def test_stats_and_explain_tell_of_tables(db):
    found = db.stats()["v"]
    assert found["bytes"] >= 0
    assert {name: table["rows"] for name, table in found["navigation"].items()} == {
        "d: /s/c (id)": 2, "d: /s/c → /p (id, string)": 2, "d: /s/c → /n/text() (id, string)": 2,
    }  # fmt: skip
    assert all(table["bytes"] > 0 for table in found["navigation"].values())
    explained = db.views["v"].explain()
    assert "stored auto" in explained
    for name, table in found["navigation"].items():
        assert f"{name}, {table['rows']} rows, " in explained
    as_json = json.loads(db.views["v"].explain("json"))
    assert as_json["navigation"] == found["navigation"]
    assert [each["view"] for each in as_json["views"]] == [
        view.name for view in db._state.xqueries["v"].views
    ]
    with pytest.raises(nl.QueryError, match="as text, json or html"):
        db.views["v"].explain("pdf")


@pytest.mark.parametrize("refresh", ["eager", "lazy", "hybrid"])
@pytest.mark.parametrize("store", ["full", "auto", "counts", "none"])
def test_the_knob_changes_what_is_stored_and_no_answer(store, refresh):
    if store == "none" and refresh != "eager":
        pytest.skip("nothing is kept that could wait")
    db = nl.Database()
    rows = "".join(f'<c id="{n}"><n>n{n}</n><p>{n % 90}</p></c>' for n in range(60))
    db.document("d", f"<s>{rows}</s>")
    plain = db.view("plain", QUERY, language="xquery")
    view = db.view("w", QUERY, language="xquery", store=store, refresh=refresh)
    for update in (
        "delete node /s/c[1]",
        "replace value of node /s/c[5]/p with '88'",
        "insert node <c/> into /s",
    ):
        db.xquery(update)
        assert view.xml() == plain.xml()
    db.verify(maps=True)
    assert f"stored {store}" in view.explain()
    taken = db.stats()["w"]["bytes"]
    assert taken == 0 if store == "none" else taken > 0
    if store == "full":
        assert taken > db.stats()["plain"]["bytes"]


def test_an_insertion_costs_the_same_among_few_and_many_siblings(monkeypatch):
    """Counted in pages that are read and written, and in siblings that are looked at."""
    works = []
    for number in (400, 8_000):
        db = nl.Database()
        document = db.document("d", f"<s>{'<a><b>1</b></a>' * number}</s>")
        db.view("v", "<r>{for $a in /s/a where $a/b = 2 return $a/b}</r>", language="xquery")
        middle = document.at(f"/s/a[{number // 2}]")
        work = [0]

        def counted(function, work=work):
            def call(*arguments):
                work[0] += 1
                return function(*arguments)

            return call

        with monkeypatch.context() as patched:
            for name in ("get", "before", "from_"):
                patched.setattr(NodeStore, name, counted(getattr(NodeStore, name)))
            events = 0
            for _ in range(150):
                try:
                    refresh = middle.insert("<a><b>2</b></a>", "after")
                except nl.ChangeError:  # its siblings got other keys; looking it up is not what is counted
                    before = work[0]
                    middle = document.at(f"/s/a[{number // 2}]")
                    work[0] = before
                    refresh = middle.insert("<a><b>2</b></a>", "after")
                assert refresh is not None
                events += refresh.events
        assert document._database._documents.renewed, "keys were renewed on the way"
        works.append((work[0], events))
    few, many = works
    assert many[0] <= 1.1 * few[0] and many[1] <= 1.1 * few[1]


@pytest.mark.parametrize("again", ["<z><y/></z>", "<c><d/></c>"])
def test_a_handle_of_a_node_that_went_stays_without_one(again):
    """Another node that gets its key is not it."""
    db = nl.Database()
    document = db.document("d", "<a><b/><c><d/></c></a>")
    gone, below, other = document.at("/a/c"), document.at("/a/c/d"), document.at("/a/b")
    gone.delete()
    document.at("/a").insert(again, "last")
    for handle in (gone, below):
        with pytest.raises(nl.ChangeError, match="no longer there"):
            handle.xml()
        with pytest.raises(nl.ChangeError, match="no longer there"):
            handle.delete()
    assert other.xml() == "<b/>"
    assert document.at("/a/*[2]").xml() == again
    document.at("/a/*[2]/*").rename("e")
    with pytest.raises(nl.ChangeError, match="no longer there"):
        below.xml()


def test_a_handle_outlives_a_transaction_that_failed_and_no_document():
    db = nl.Database()
    document = db.document("d", "<a><b/><c/></a>")
    handle = document.at("/a/c")
    with pytest.raises(RuntimeError), db.transaction() as change:
        change.document("d").at("/a/c").delete()
        raise RuntimeError
    assert handle.xml() == "<c/>"
    db.drop("d")
    db.document("d", "<a><b/><x/></a>")
    with pytest.raises(nl.ChangeError, match="no longer there"):
        handle.xml()


def test_an_order_by_what_a_node_holds_is_maintained():
    db = nl.Database()
    document = db.document("d", "<r><i><v>b</v></i><i><v>a</v></i><i/></r>")
    view = db.view(
        "v",
        "for $i in /r/i order by string($i/v) return <x>{$i/v/text()}</x>",
        language="xquery",
        strict=True,
    )
    assert view.xml() == "<x/><x>a</x><x>b</x>"
    document.at("/r/i[2]/v").replace_value("c")
    document.at("/r").insert("<i><v>bb</v></i>", "first")
    assert view.xml() == "<x/><x>b</x><x>bb</x><x>c</x>"
    db.verify()


def test_several_documents():
    db = nl.Database()
    db.document("a", "<s><x>1</x></s>")
    db.document("b", "<s><x>1</x><x>2</x></s>")
    query = '<r>{for $x in doc("a")/s/x, $y in doc("b")/s/x where $x = $y return $y}</r>'
    view = db.view("v", query, language="xquery")
    other = db.view("w", "count(/s/x)", language="xquery", context="b")
    db.xquery('insert node <x>2</x> into doc("a")/s, delete node doc("b")/s/x[1]')
    assert (view.xml(), other.xml()) == ("<r><x>2</x></r>", "1")
    with pytest.raises(nl.QueryError, match="common order"):
        db.view("u", '<r>{doc("a")/s/x | doc("b")/s/x}</r>', language="xquery")
    db.verify(maps=True)


def test_cardinalities_are_checked():
    db = nl.Database()
    document = db.document("d", "<s><c><p>1</p></c></s>")
    db.view("v", "for $c in /s/c return zero-or-one($c/p) + 1", language="xquery")
    with pytest.raises(nl.ChangeError, match=r"v: the argument of zero-or-one must have at most 1 \(line 1"):
        document.at("/s/c").insert("<p>2</p>")
    with pytest.raises(nl.QueryError, match="exactly 1"):
        db.view("w", "for $c in /s/c return exactly-one($c/q)", language="xquery")
    assert document.xml() == "<s><c><p>1</p></c></s>"


def test_a_file_that_lacks_what_keeps_a_view_is_refused(tmp_path):
    path = tmp_path / "d.nest"
    with nl.Database(path) as db:
        db.document("d", TEXT)
        db.view("v", QUERY, language="xquery")
    for kind, prefix in (("view", "§v"), ("table", "§n")):
        with FileStore.open(path) as store:
            name = next(
                name for found, name, _ in store.definitions() if found == kind and name.startswith(prefix)
            )
            store.drop_definition(kind, name)
        with pytest.raises(nl.StoreError):
            nl.Database(path)


@pytest.mark.parametrize(
    "text", ["{}", "[]", "3", '{"text": 3}', '{"text": "/a[", "documents": [], "context": null}']
)
def test_a_definition_that_makes_no_sense_is_refused(text):
    with pytest.raises(nl.StoreError):
        read_xquery("v", text)


@pytest.mark.parametrize(
    ("path", "words"),
    {
        "/": "leads to no node inside",
        "1 + 1": "leads to no node inside",
        "<a/>": "leads to no node inside",
        "delete node /*": "is no path",
        "/*/*[99999999999999999999]": "leads to 0 nodes",
        "doc('other')/*": "leads into another document",
        "1 div 0": "a division by zero",
    }.items(),
)
def test_an_address_that_leads_nowhere_is_refused(db, path, words):
    document = next(iter(db.documents.values()))
    before = document.xml()
    with pytest.raises(nl.NestlingError, match=words):
        document.at(path)
    assert document.xml() == before


def test_patches_told_while_others_write_lead_to_the_text():
    """Two threads edit, and whoever delivers tells of whole states: no change is lost, and none is told in parts."""
    db = nl.Database()
    document = db.document("d", f"<s>{''.join(f'<c><p>{n % 9}</p></c>' for n in range(40))}</s>")
    view = db.view(
        "v",
        "<r><a>{for $c in /s/c where $c/p > 4 return $c}</a><b>{count(/s/c)}</b></r>",
        language="xquery",
    )
    texts = [view.xml()]
    view.subscribe(lambda change: texts.append(applied(texts[-1], change.to_xml_patch())))

    def write(seed: int) -> None:
        random = Random(seed)
        for _ in range(40):
            place = f"(/s/c)[{random.randrange(1, 20)}]"
            new = f"insert node <c><p>{random.randrange(9)}</p></c> as first into /s"
            db.xquery(
                random.choice((new, f"delete node {place}", f"replace value of node {place}/p with '7'"))
            )

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # threads take turns at every step that matters
    try:
        with ThreadPoolExecutor(3) as threads:
            for thread in [threads.submit(write, seed) for seed in (1, 2, 3)]:
                thread.result(120)
    finally:
        sys.setswitchinterval(before)
    db.xquery("insert node <c><p>8</p></c> into /s")  # what another thread was still telling is told by now
    assert texts[-1] == view.xml() == saxon(view._definition.text, document.xml())
    view.verify(maps=True)
