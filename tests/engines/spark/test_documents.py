"""Documents on Spark: the same texts, answers, patches and refusals as in an embedded database, to the byte."""

from decimal import Decimal
from functools import partial
from random import Random
from threading import Thread
from typing import Any

import pytest

import nestling as nl
from nestling.database.spark.remembered import remember
from nestling.engine.spark import limits
from tests.documents import test_documents as embedded
from tests.documents import test_load, test_paper, test_table_documents
from tests.documents.patches import applied, updated
from tests.documents.test_cases import cases
from tests.documents.workload import update
from tests.documents.xmark import QUERIES, Auctions
from tests.engines.spark.session import tables_of
from tests.engines.spark.test_cost import Counters
from tests.engines.spark.twins import Twins, emptied, texts
from tests.soak.interrupts import at_place

pytestmark = pytest.mark.xdist_group("spark")


@pytest.fixture(scope="module")
def lake(spark, tmp_path_factory):
    """One database for all tests that leave nothing in it."""
    with nl.Database(spark=spark, path=tmp_path_factory.mktemp("documents") / "lake") as db:
        yield db


@pytest.fixture
def nothing(lake):
    yield lake
    emptied(lake)


@pytest.fixture
def db(nothing):
    nothing.document("d", embedded.TEXT)
    nothing.view("v", embedded.QUERY, language="xquery")
    return nothing


# -- what an embedded database does


@pytest.mark.parametrize("case", list(cases()))
def test_a_case(nothing, case):
    told = []
    document = nothing.document("d", case["document"])
    view = nothing.view("v", case["query"], language="xquery")
    assert view.xml() == case["before"]
    view.subscribe(lambda change: told.append((change.to_xml_patch(), change.to_updates())))

    nothing.xquery(case["update"])

    assert view.xml() == case["after"]
    view.verify()
    assert bool(told) == bool(case["patch"])
    for patch, updates in told:
        assert applied(case["before"], patch) == case["after"]
        assert updated(case["before"], updates) == case["after"], updates
    assert document.xml() == nothing.documents["d"].xml()


@pytest.mark.parametrize(
    "test",
    [
        embedded.test_changes_by_address, embedded.test_a_node_stays_the_same_node,
        embedded.test_an_update_sees_the_state_before, embedded.test_texts_that_become_neighbours_are_one,
        embedded.test_hidden_tables_are_out_of_reach, embedded.test_dropping_takes_everything_along,
        embedded.test_defining_again, embedded.test_a_view_is_read_as_items,
        embedded.test_changes_are_kept_for_who_asks,
    ],
)  # fmt: skip
def test_as_embedded(db, test):
    test(db)


@pytest.fixture
def twins(nothing):
    return Twins(nothing, nl.Database())


def test_what_is_refused_is_refused_alike(twins):
    """and changes nothing: addresses, updates, texts of the paper, copies, loads"""
    twins.do(lambda db: db.document("d", embedded.TEXT))
    twins.do(lambda db: db.view("v", embedded.QUERY, language="xquery"))
    version, epoch = twins.spark.version, twins.spark._state.lake.epoch
    [bad_updates] = embedded.test_a_bad_update_text_changes_nothing.pytestmark
    for action, _ in embedded.BAD:
        assert not twins.do(lambda db, action=action: action(db.document("d")))
    for text, _ in bad_updates.args[1]:
        assert not twins.do(lambda db, text=text: db.xquery(text))
    for text, _ in test_load.HOSTILE.values():
        assert not twins.do(lambda db, text=text: db.document("e", text))
        assert not twins.do(lambda db, text=text: db.document("d").sync(text))
    for query in ("<r>{/s/c[", "/s/c/following::x", "<r>{zero-or-one(/s/c)}</r>", "<r>{sum(/s/c/n)}</r>"):
        assert not twins.do(lambda db, query=query: db.view("w", query, language="xquery"))
    assert (twins.spark.version, twins.spark._state.lake.epoch) == (version, epoch)
    assert texts(twins.spark)["document d"] == embedded.TEXT
    assert twins.do(lambda db: db.xquery("delete node /s/c[1]"))
    twins.spark.verify()


def test_updates_of_the_paper_and_copies(twins):
    twins.do(lambda db: db.document("d", embedded.TEXT))
    twins.do(
        lambda db: db.view("v", "<r>{for $e in //c return <x>{$e, count($e/*)}</x>}</r>", language="xquery")
    )
    twins.watch("v")
    for case in [case.values[0] for case in test_paper.cases()][:6]:
        twins.do(lambda db, case=case: db.document("d").sync(case["document"]))
        twins.do(lambda db, case=case: db.document("d").apply(case["update"]))
    for copy in (
        embedded.TEXT,
        embedded.TEXT.replace("30", "<w>31</w>"),
        "<s><c/>text<!--x--><c id='2'/></s>",
    ):
        assert twins.do(lambda db, copy=copy: db.document("d").sync(copy))
    twins.spark.verify()


def test_tables_are_documents_and_change_with_them(twins, spark):
    """one transaction is one epoch, or none; also rows of a DataFrame are seen"""
    columns = "id BIGINT, price BIGINT, city STRING NULL, day DATE, paid BOOLEAN"
    rows: list[dict[str, Any]] = [
        dict(row, price=number) for number, row in enumerate(test_table_documents.ROWS, 39)
    ]
    twins.do(lambda db: db.table("orders", columns, key="id"))
    twins.do(lambda db: db.document("d", '<s><c n="Rome"/><c n="Oslo &amp; co"/></s>'))
    twins.do(lambda db: db.insert("orders", rows))
    for number in (0, 1, 5):
        query = test_table_documents.QUERIES[number]
        assert twins.do(lambda db, n=number, q=query: db.view(f"v{n}", q, language="xquery"))
    twins.watch("v5")
    epoch = twins.spark._state.lake.epoch

    def both(db: Any) -> None:
        with db.transaction() as change:
            change.update("orders", key=3, set={"city": "Rome"})
            change.xquery('insert node <c n="Rome"/> into /s')
            document = change.document("d")
            document.at("/s/c[2]").delete()
            assert document.xml() == '<s><c n="Rome"/><c n="Rome"/></s>'

    def neither(db: Any) -> None:
        with db.transaction() as change:
            change.delete("orders", key=3)
            change.document("d").at("/s/c[1]").delete()
            change.document("d").at("/s/nothing")

    assert twins.do(both)
    assert twins.spark._state.lake.epoch == epoch + 1
    assert not twins.do(neither)
    assert twins.spark._state.lake.epoch == epoch + 1 and len(twins.spark.table("orders").rows()) == 3
    more = {**rows[0], "id": 11}
    twins.embedded.insert("orders", [more])
    twins.spark.insert("orders", spark.createDataFrame([more], twins.spark.table("orders").df().schema))
    twins.check()
    twins.spark.verify()
    with pytest.raises(nl.QueryError, match="orders"):
        twins.spark.drop("orders")


def test_collections(twins):
    for name, text in (("shop/b.xml", "<s><p>3</p><p>4</p></s>"), ("shop/a.xml", "<s><p>1</p></s>")):
        twins.do(lambda db, name=name, text=text: db.document(name, text))
    query = '<r n="{sum(collection("shop")//p)}">{collection("shop")/s/p}</r>'
    assert twins.do(lambda db: db.view("v", query, language="xquery"))
    twins.watch("v")
    assert twins.do(lambda db: db.document("shop/b.xml").at("/s/p[1]").replace_value("5"))
    assert not twins.do(lambda db: db.document("shop/c.xml", "<s/>"))
    assert not twins.do(lambda db: db.drop("shop/a.xml"))
    twins.spark.verify()


@pytest.mark.parametrize("knobs", [("none", "eager"), ("full", "lazy"), ("auto", "hybrid")], ids="-".join)
def test_the_knobs_change_no_answer(twins, knobs):
    """nor what is told of a view of which nothing is stored"""
    store, refresh = knobs
    twins.do(lambda db: db.document("d.xml", embedded.TEXT))
    options = {"language": "xquery", "store": store, "refresh": refresh}
    twins.do(lambda db: db.view("v", embedded.QUERY, **options))
    if store == "none":
        twins.watch("v")
    for text in (
        "replace value of node /s/c[2]/p with '88'",
        "delete node /s/c[1]",
        "insert node <c/> into /s",
    ):
        assert twins.do(lambda db, text=text: db.xquery(text))
    twins.spark.verify()


HOSTILE = ("a.b/c d", "x waiting for y", "`', raise_error('in') --", "${spark.app.name}", "../../é")


def test_hostile_names(twins):
    """of documents and views, elements, attributes and texts"""
    for number, name in enumerate(HOSTILE):
        text = f"""<{"é·-" * 3} a.b="{number}'`${{x}}"><_._>\U0010ffff\u2028'; DROP TABLE t --</_._></{"é·-" * 3}>"""
        assert twins.do(lambda db, name=name, text=text: db.document(name, text))
        query = "<r>{for $e in //_._ return <x t='{$e/parent::*/@a.b}'>{string($e)}</x>}</r>"
        options = {"language": "xquery", "context": name}
        assert twins.do(lambda db, q=query, name=name, o=options: db.view(f"v {name}", q, **o))
        assert twins.do(
            lambda db, name=name: db.document(name).at("//_._").insert("<_._>${y}`\\</_._>", "after")
        )
    twins.spark.verify()


def test_a_document_is_no_table_and_an_xquery_view_no_frame(db):
    for call, wanted in (
        (lambda: db.view_df("v"), "v is an XQuery view"),
        (lambda: db.keep_changes("v"), "v is an XQuery view"),
        (lambda: db.publish("v"), "v is an XQuery view"),
        (lambda: db.view_df("§v v 0"), "there is no view"),
        (lambda: db.publish("§v v 0"), "there is no view"),
        (lambda: db.stream({"§d d": None}), "there is no table"),
        (lambda: db.apply({"§d d": []}), "there is no table"),
    ):
        with pytest.raises(nl.NestlingError, match=wanted) as raised:
            call()
        assert "there are" not in str(raised.value)
    before = tables_of(db._state.spark)
    db.publish()
    assert tables_of(db._state.spark) == before


def test_a_view_that_no_change_maintains_is_refused_by_name(nothing):
    """where an embedded database evaluates it on every read"""
    text = "<s><c><p>1</p><p>2</p></c></s>"
    query = (
        "<r>{for $c in /s/c where every $p in $c/p satisfies some $q in $c/p satisfies $q > $p return $c}</r>"
    )
    nothing.document("d", text)
    with pytest.raises(nl.QueryError, match="v cannot be maintained") as raised:
        nothing.view("v", query, language="xquery")
    assert "§" not in str(raised.value)
    assert not nothing.views and list(nothing._state.tables) == ["§d d"]


# -- what only a lake has


def test_a_small_edit_is_no_job(db, spark):
    """found, applied, stored, told and read"""
    told: list[Any] = []
    db.views["v"].subscribe(told.append)
    counters = Counters(spark)
    db.xquery("replace value of node /s/c[2]/p with '70'")
    db.document("d").at("/s/c[1]").insert("<c><n>Zoe</n><p>41</p></c>", "before")
    assert db.views["v"].xml() == "<r><x>Zoe</x><x>Ann</x><x>Bob</x></r>"
    assert len(told) == 2
    assert counters.since() == (0, 0)


def test_a_reader_sees_one_state(db):
    """pages and rows, whoever edits meanwhile"""
    document, view = db.document("d"), db.views["v"]
    with db._reading():
        before = texts(db)
        other = Thread(target=db.xquery, args=("delete node /s/c[1], rename node /s as 't'",))
        other.start()
        other.join()
        assert texts(db) == before and document.at("/s/c[1]/n").value == "Ann"
    assert view.xml() == "<r/>" and document.at("/t/c[1]/n").value == "Bob"


def test_pages_stay_here_through_flushes_and_definitions(db, spark):
    """a state that was flushed has the pages that it had; a new program too"""
    document = db.document("d")
    document.xml()
    held = db._state.running.held("§d d")
    db._state.running.tidied()
    assert db._state.running.held("§d d") is held
    db.view("w", "count(/s/c)", language="xquery")
    assert db._state.running.held("§d d") is held
    document.at("/s/c[1]").delete()
    assert db._state.running.held("§d d").by_key == {row[:1]: row for row in db._state.running.table("§d d")}


def test_a_large_document_comes_in_parts(twins, monkeypatch):
    """its pages, and the rows of its tables, are written a part at a time, and are what they would be"""
    monkeypatch.setattr(limits, "MAX_RECENT_ROWS", 7)
    rows = "".join(f'<c id="{n}"><n>n{n}</n><p>{n % 90}</p></c>' for n in range(400))
    twins.do(lambda db: db.document("d", f"<s>{rows}</s>"))
    twins.do(lambda db: db.view("v", embedded.QUERY, language="xquery"))
    files = twins.spark._state.lake.manifest.relations["table §d d"].base
    assert len(files) > 2 and max(file.rows for file in files) == 7
    assert twins.do(lambda db: db.document("d").at("/s/c[200]/p").replace_value("89"))
    twins.spark.verify()


def test_what_is_told_after_a_rebuild_leads_to_what_is_there(twins):
    """where it is not known what was told, the next patch is found by comparing"""
    twins.do(lambda db: db.document("d", embedded.TEXT))
    twins.do(lambda db: db.view("v", embedded.QUERY, language="xquery"))
    twins.watch("v")
    twins.spark._xml_watches.miss()
    twins.do(lambda db: db.xquery("replace value of node /s/c[2]/p with '70'"))
    twins.spark._state.lake.is_ahead = True  # as whatever is raised in the middle of a commit leaves it
    twins.do(lambda db: db.xquery("delete node /s/c[1]"))
    twins.do(lambda db: db.xquery("insert node <c><n>Zoe</n><p>41</p></c> into /s"))


def test_a_stored_view_that_makes_no_sense_is_refused(db):
    for text in ("{}", "[]", '{"text": 1}', db._state.lake.manifest.definitions[-1][2].replace("d", "e")):
        with pytest.raises(nl.StoreError, match="makes no sense"):
            remember(db._state.having(), "xquery", "other", text)


def test_a_document_without_its_first_page_is_refused(db):
    running = db._state.running
    running.apply_batch({"§d d": [(row, -1) for row in running.table("§d d")]}, running.note)
    with pytest.raises(nl.StoreError, match="the first page of d is missing"):
        db.document("d").xml()


# -- XMark


class Questions(Twins):
    """Questions of XMark over a small document, some of them watched."""

    def __init__(self, spark: Any, seed: int, names: list[str], watched: list[str]) -> None:
        super().__init__(spark, nl.Database())
        self.made = Auctions(0.0004, seed)
        text = self.made.text()
        for db in self.both:
            db.document("auction.xml", text)
            for name in names:
                db.view(name, QUERIES[name], language="xquery", strict=False)
        self.check()
        for name in watched:
            self.watch(name)

    def run(self, random: Random, updates: int) -> int:
        """How many random updates were accepted."""
        accepted = 0
        for _ in range(updates):
            text = update(random, self.embedded.document("auction.xml")._store(), self.made)
            if text:
                accepted += self.do(partial(nl.Database.xquery, text=text))
        return accepted


def test_all_questions_follow_updates_and_come_back(opened):
    random = Random(1)
    questions = Questions(opened(), 1, list(QUERIES), ["Q2", "Q19"])
    assert questions.run(random, 3) > 1
    again = Questions.__new__(Questions)
    Twins.__init__(again, opened(), questions.embedded)
    again.made = questions.made
    again.check()
    assert again.run(random, 1) > 0
    again.spark.verify()


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(5))
def test_all_questions_follow_many_updates(opened, seed):
    questions = Questions(opened(), seed, list(QUERIES), list(QUERIES))
    assert questions.run(Random(seed), 30) > 15
    questions.spark.verify(maps=True)


CHANGES = {
    "update": lambda db: db.xquery("delete node /s/c[1], replace value of node /s/c[2]/p with '70'"),
    "define": lambda db: db.view("w", "<r>{//p[. = 30]}</r>", language="xquery"),
    "load": lambda db: db.document("e", "<a><b/></a>"),
}


@pytest.mark.soak
@pytest.mark.parametrize("kind", CHANGES)
def test_what_is_interrupted_is_done_or_not_begun(opened, kind):
    """at places spread over the whole change: all is as before or as after it, here and in the folder"""
    db, act = opened(), CHANGES[kind]
    place, hits = 1, 0
    while True:
        emptied(db)
        db.document("d", embedded.TEXT)
        db.view("v", embedded.QUERY, language="xquery")
        before, done = texts(db), nl.Database()
        done.document("d", embedded.TEXT)
        done.view("v", embedded.QUERY, language="xquery")
        act(done)
        try:
            with at_place(place, KeyboardInterrupt):
                act(db)
            break
        except KeyboardInterrupt:
            hits += 1
        found = texts(db)
        assert found in (before, texts(done)), place
        db.verify()
        db = opened()
        assert texts(db) == found
        if found == before:
            act(db)
        assert texts(db) == texts(done)
        place = 4 * place + 1
    assert hits > 3


def test_a_table_with_decimals_is_verified_as_it_is_written(nothing):
    """Both write all places of the column; what is recomputed from the table does too."""
    twins = Twins(nothing, nl.Database())
    twins.do(lambda db: db.table("t", "id INT, price DECIMAL(10, 2)", key="id"))
    twins.do(
        lambda db: db.insert("t", [{"id": 1, "price": Decimal("5")}, {"id": 2, "price": Decimal("5.5")}])
    )
    query = '<r>{for $o in doc("t")/t/row return <x p="{$o/price}">{$o/price, $o[price = 5]/id}</x>}</r>'
    twins.do(lambda db: db.view("v", query, language="xquery"))
    twins.do(lambda db: db.insert("t", [{"id": 3, "price": Decimal("100")}]))
    for db in twins.both:
        db.views["v"].verify(maps=True)
        assert '<x p="100.00"><price>100.00</price></x>' in db.views["v"].xml()
