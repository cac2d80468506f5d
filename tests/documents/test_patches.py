"""Changes of views, as patches and as updates: either turns the old text into the new one, whatever changed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nestling as nl
from nestling.database.xml.watch import XmlChange
from nestling.database.xml.watched import WatchedModel
from nestling.xml.patch import PatchOperation
from nestling.xml.patch_updates import updates_of
from tests.documents.patches import applied, updated
from tests.documents.trees import DOCUMENTS

QUERIES = (
    "<r>{//a}</r>",
    "<r>{for $a in //a return <x k='{$a/@k}'>{$a/b}</x>}</r>",
    "<r>{//a, for $b in //b return <y>{string($b)}</y>, <z/>}</r>",
    "<r><p><q>{//a}</q>{//b}</p><p>{//c}</p></r>",
    "<r>{//a} and {//b}</r>",
    "<r k='{count(//a)}'>{for $b in //b order by string($b) descending return $b}</r>",
    "<r>{//text()}</r>",
    "<r>{//a/node()}</r>",
    "for $a in /s/a return <x>{$a/@k}{$a}</x>",
    "//b",
    "(count(//a), count(//b), //c)",
    "<r><!--c-->{for $a in //a return (<u/>, string($a/@k), <v/>)}</r>",
)
PLAIN = DOCUMENTS.map(lambda text: text.replace("<?target some text?>", ""))


@given(st.lists(PLAIN, min_size=2, max_size=4), st.sampled_from(QUERIES))
def test_the_old_text_and_the_change_give_the_new_text(texts, query):
    db, told = nl.Database(), list[XmlChange]()
    document = db.document("d", texts[0])
    view = db.view("v", query, language="xquery")
    view.subscribe(told.append)
    before = view.xml()
    for text in texts[1:]:
        document.sync(text)
        after = view.xml()
        assert len(told) == (before != after)
        if told:
            change = told.pop()
            assert applied(before, change.to_xml_patch(), change.is_rooted) == after
            assert updated(before, change.to_updates(), change.is_rooted) == after
        before = after


def test_a_patch_of_many_items_looks_at_those_that_change(monkeypatch):
    """Nothing is read but the items that came: the whole answer is never put together."""
    db, told = nl.Database(), list[str]()
    rows = "".join(f'<c id="{n}"><p>{n % 90}</p></c>' for n in range(3_000))
    document = db.document("d", f"<s>{rows}<e/></s>")
    query = "<r><t>{for $c in /s/c where $c/p >= 40 return <x id='{$c/@id}'>{$c/p}</x>}</t>{/s/e}</r>"
    view = db.view("v", query, language="xquery")
    view.subscribe(lambda change: told.append(change.to_xml_patch()))
    monkeypatch.setattr(WatchedModel, "_now", lambda *_: pytest.fail("the whole answer was put together"))
    before = view.xml()
    for update, patch in (
        ('delete node /s/c[@id = "1500"]', '<remove sel="/*/*[1]/*[821]"/>'),
        (
            'insert node <c id="new"><p>99</p></c> before /s/c[1000]',
            '<add sel="/*/*[1]/*[551]" pos="before"><x id="new"><p>99</p></x></add>',
        ),
        (
            'replace value of node /s/c[@id = "2500"]/p with "88"',
            '<replace sel="/*/*[1]/*[1381]/*[1]/text()[1]">88</replace>',
        ),
        ("insert node <e>2</e> as last into /s", '<add sel="/*"><e>2</e></add>'),
    ):
        db.xquery(update)
        assert told.pop() == f"<diff>{patch}</diff>"
        assert applied(before, f"<diff>{patch}</diff>") == view.xml()
        before = view.xml()
    assert document.at("/s/e[1]").value == ""


@pytest.mark.parametrize(
    ("operation", "update"),
    [
        (("remove", "", "", "", "/*/*[2]"), "delete node /*/*[2]"),
        (("replace", "", 'a"&lt;', "", "/*/@k"), 'replace value of node /*/@k with "a""&lt;"'),
        (("replace", "", "x", "", "/*/text()[1]"), 'replace value of node /*/text()[1] with "x"'),
        (
            ("replace", "", "<!--x-->", "", "/*/comment()[1]"),
            'replace value of node /*/comment()[1] with "x"',
        ),
        (("replace", "", "<a><b/> </a>", "", "/*"), "replace node /* with <a><b></b>&#x20;</a>"),
        (("add", "", "1", "@k", "/*"), 'insert node attribute k { "1" } into /*'),
        (("add", "", "x<a/>", "", "/*"), 'insert nodes (text { "x" }, <a></a>) as last into /*'),
    ],
)
def test_an_operation_as_an_update(operation, update):
    assert updates_of([PatchOperation(*operation)]) == update
