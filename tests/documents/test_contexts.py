"""Tables of the contexts that a query names, and contexts that follow from what is below them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nestling as nl
from tests.documents.oracle import saxon

TEXT = "<s>" + "".join(f'<p id="p{n}" k="{n % 2}"><n>{n}</n><q><r>{n}</r></q></p>' for n in range(9)) + "</s>"
QUERIES = (
    '<r>{for $p in /s/p[@id = "p3"] return $p/n/text()}</r>',
    '<r>{for $p in /s/p where $p/@id = "p3" return <x>{$p/n, $p/q/r}</x>}</r>',
    '<r>{for $p in /s/p[@k = "1"][@id = "p3"] where $p/n > 2 return $p/q}</r>',
    '<r>{/s/p[@id = "p3"]/n, /s/p[@id = "p4"]/n, /s/p/q/r}</r>',
    "<r>{for $p in /s/p where $p/n >= 4 return $p/q}</r>",
    '<r>{for $p in /s/p[@id = "p3"] return <y n="{count($p//r)}">{data($p/@k), $p/n[1]}</y>}</r>',
    '<r>{count(/s/p[@k = "1"]/q/r), for $p in /s/p[@k = "1"] order by $p/n/text() descending return $p/n}</r>',
)
PLACES = st.integers(1, 9)
UPDATES = st.one_of(
    st.builds('replace value of node /s/p[{}]/@id with "p{}"'.format, PLACES, st.integers(2, 4)),
    st.builds('replace value of node /s/p[{}]/@k with "{}"'.format, PLACES, st.integers(0, 2)),
    st.builds("delete node /s/p[{}]/@id".format, PLACES),
    st.builds("delete node /s/p[{}]".format, PLACES),
    st.builds('insert node <p id="p3" k="1"><n>7</n></p> before /s/p[{}]'.format, PLACES),
    st.builds("insert node <n>5</n> as first into /s/p[{}]".format, PLACES),
    st.builds("rename node /s/p[{}] as 'o'".format, PLACES),
    st.builds("replace value of node /s/p[{}]/n[1] with '{}'".format, PLACES, PLACES),
)


@pytest.mark.parametrize("query", QUERIES)
@given(updates=st.lists(UPDATES, max_size=5))
def test_views_follow_what_names_a_context(query, updates):
    db = nl.Database()
    document = db.document("d", TEXT)
    view = db.view("v", query, language="xquery")
    for update in updates:
        try:
            db.xquery(update)
        except nl.NestlingError:
            continue  # the target is gone
        assert view.xml() == saxon(query, document.xml())
        view.verify(maps=True)


def test_a_named_node_keeps_its_own_rows_alone():
    db = nl.Database()
    db.document("d", TEXT)
    db.view("v", QUERIES[0], language="xquery")
    [(name, table)] = db.stats()["v"]["navigation"].items()
    assert name == "d: /s/p[@id = 'p3'] → /n/text() (id, string)" and table["rows"] == 1
    db.view("w", QUERIES[4], language="xquery")
    assert list(db.stats()["w"]["navigation"]) == ["d: /s/p → /n (id, string)", "d: /s/p → /q (id, stamp)"]
    assert len(db.stats()["w"]["maps"]) == 1


def test_other_attributes_of_a_node_change_its_row_and_no_other():
    db = nl.Database()
    document = db.document("d", TEXT)
    db.view("w", "<r>{for $p in /s return <x k='{$p/@k}'>{count($p/p)}</x>}</r>", language="xquery")
    refresh = document.at("/s").set("k", "1")
    assert refresh is not None and refresh.events == 4  # a page, and the row of the element
    assert db.views["w"].xml() == '<r><x k="1">9</x></r>'
