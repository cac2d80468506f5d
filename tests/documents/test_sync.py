"""``document.sync``: the copy's text, the same nodes where nothing changed, and no more edits than were made."""

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nestling as nl
from nestling.xml.align import aligned, heaviest, paired
from nestling.xml.load import document_entries
from nestling.xml.serialise import serialised
from tests.documents.trees import DOCUMENTS, MARKUP

VIEWS = (
    "<r>{for $a in //a return <x k='{$a/@k}'>{$a}</x>}</r>",
    "<r>{for $b in /s/b order by string($b) return $b/c[1]}</r>",
)
WORDS = st.lists(st.integers(0, 5), max_size=9)


def entries_of(db):
    return {entry[0]: entry for entry in db._documents.store("d", None).scan()}


def changed(before, after):
    """How many nodes are not as they were."""
    return sum(before.get(key) != after.get(key) for key in before | after)


@given(DOCUMENTS, DOCUMENTS, st.sampled_from([None, {}, {"a": "k"}]))
def test_after_sync_the_text_is_that_of_the_copy(text, copy, keys):
    db = nl.Database()
    document = db.document("d", text)
    document.sync(copy, keys=keys)
    assert document.xml() == serialised(document_entries([copy]))
    again = document.sync(copy, keys=keys)
    assert again is not None and again.events == 0


@given(DOCUMENTS, st.lists(st.tuples(st.integers(0, 1000), MARKUP | st.none()), max_size=3))
def test_views_follow_what_sync_changes(text, edits):
    db = nl.Database()
    document = db.document("d", text)
    for number, query in enumerate(VIEWS):
        db.view(f"v{number}", query, language="xquery")
    for place, markup in edits:
        text = edited(text, place, markup)
        document.sync(text)
        assert document.xml() == serialised(document_entries([text]))
        db.verify(maps=True)


def edited(text, place, markup):
    """A text in which markup stands before some node, or the node is gone."""
    document = nl.Database().document("d", text)
    nodes = [entry[0] for entry in document_entries([text]) if "." in entry[0]]
    if nodes:
        node = document.at("/*")
        node._key = nodes[place % len(nodes)]
        node.delete() if markup is None else node.insert(markup, "before")
    return document.xml()


def large(number=400):
    people = "".join(
        f"<person{f' id=^p{n}^' if n % 2 else ''}><name>n{n}</name><age>{n % 7}</age><!--c--></person>\n"
        for n in range(number)
    )
    return f"<s><people>{people}</people><tail/></s>".replace("^", '"')


EDITS = {
    "insert": lambda d, n: d.at(f"/s/people/person[{n}]").insert("<q><r>1</r></q>", "after"),
    "insert a text": lambda d, n: d.at(f"/s/people/person[{n}]/age").insert("<q/>x", "after"),
    "delete": lambda d, n: d.at(f"/s/people/person[{n}]").delete(),
    "value": lambda d, n: d.at(f"/s/people/person[{n}]/name").replace_value("other"),
    "attribute": lambda d, n: d.at(f"/s/people/person[{n}]").set("k", "1"),
    "id": lambda d, n: d.at(f"/s/people/person[{n}]").set("id", "new"),
    "rename": lambda d, n: d.at(f"/s/people/person[{n}]").rename("user"),
    "rename a leaf": lambda d, n: d.at(f"/s/people/person[{n}]/age").rename("years"),
    "root": lambda d, n: d.at("/s").rename("site"),
    "the list": lambda d, n: d.at("/s/people").rename("users"),
}


@pytest.mark.parametrize("kind", EDITS)
@pytest.mark.parametrize("place", [1, 200, 399])
def test_one_edit_comes_to_no_more_than_itself(kind, place):
    db, copy = nl.Database(), nl.Database()
    document, other = db.document("d", large()), copy.document("d", large())
    before = entries_of(db)
    EDITS[kind](other, place)

    document.sync(other.xml())

    assert document.xml() == other.xml()
    assert changed(before, entries_of(db)) == changed(before, entries_of(copy))


def test_an_edit_of_k_nodes_changes_k_nodes():
    random_ = random.Random(3)
    db, copy = nl.Database(), nl.Database()
    document, other = db.document("d", large()), copy.document("d", large())
    for _ in range(4):
        before, made = entries_of(db), entries_of(copy)
        for _ in range(12):
            EDITS[random_.choice(list(EDITS)[:8])](other, random_.randrange(1, 300))
        document.sync(other.xml())
        assert document.xml() == other.xml()
        assert changed(before, entries_of(db)) <= 1.5 * changed(made, entries_of(copy)) + 10


def test_nodes_that_stay_are_the_same_nodes():
    db = nl.Database()
    document = db.document(
        "d", '<s><p id="1"><n>Ann</n></p><p id="2"><n>Bob</n></p><p id="3"><n>Cyd</n></p></s>'
    )
    bob, cyd = document.at("/s/p[2]"), document.at("/s/p[3]")
    document.sync('<s><p id="9"/><p id="2"><n>Rob</n></p><q/><p id="3"><n>Cyd</n></p></s>')
    assert bob.value == "Rob" and cyd.value == "Cyd"
    document.at("/s/q").insert("<z/>")
    # The order of two changed: the heavier one stays.
    cyd.insert("<a/><b/>")
    document.sync('<s><p id="3"><n>Cyd</n><a/><b/></p><p id="2"><n>Rob</n></p></s>')
    assert cyd.at("n").value == "Cyd"
    with pytest.raises(nl.ChangeError, match="no longer there"):
        bob.xml()


def test_given_keys_say_what_is_one_element():
    db = nl.Database()
    document = db.document("d", '<s><c n="1"><t>x</t></c></s>')
    first = document.at("/s/c")
    document.sync('<s><c n="2"><t>x</t></c></s>')
    assert first.at("@n").value == "2"
    document.sync('<s><c n="3"><t>x</t></c></s>', keys={"c": "n"})
    with pytest.raises(nl.ChangeError, match="no longer there"):
        first.xml()


def test_sync_takes_what_a_document_is_loaded_from(tmp_path):
    from lxml import etree

    db = nl.Database()
    document = db.document("d", "<s><a/></s>")
    (tmp_path / "d.xml").write_text("<s>\n  <b/>\n</s>")
    document.sync(tmp_path / "d.xml", whitespace="strip")
    assert document.xml() == "<s><b/></s>"
    document.sync(etree.fromstring("<s><c/></s>"))
    assert document.xml() == "<s><c/></s>"
    document.sync(b'<t xmlns:p="urn:p"><p:a p:k="1"/><!--c--><?x y?></t>')
    assert document.xml() == '<t xmlns:p="urn:p"><p:a p:k="1"/><!--c--><?x y?></t>'
    document.sync('<t xmlns:p="urn:q"><p:a p:k="1"/><!--d--><?z y?></t>')
    assert document.xml() == '<t xmlns:p="urn:q"><p:a p:k="1"/><!--d--><?z y?></t>'
    with db.transaction() as change:
        change.document("d").sync("<u/>")
        change.document("d").at("/u").insert("<v/>")
    assert document.xml() == "<u><v/></u>"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("<a>",), "no XML that can be stored"),
        ((3,), "a document is a path"),
        (("<a/>", {"keys": "id"}), "does not name attributes"),
        (("<a/>", {"keys": {"a": 3}}), "does not name attributes"),
        (("<a/>", {"whitespace": "no"}), "is unknown"),
    ],
)
def test_a_bad_copy_changes_nothing(arguments, message):
    db = nl.Database()
    document = db.document("d", "<s>1</s>")
    source, *named = arguments
    with pytest.raises(nl.NestlingError, match=message):
        document.sync(source, **(named[0] if named else {}))
    assert document.xml() == "<s>1</s>" and document.at("/s/text()").value == "1"


@given(WORDS, WORDS)
def test_aligned_pairs_are_equal_and_ascend(old, new):
    pairs = aligned(old, new, lambda place: 1)
    assert all(old[x] == new[y] for x, y in pairs)
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in itertools.pairwise(pairs))
    assert bool(pairs) == bool(set(old) & set(new))


@given(st.permutations(range(7)), st.lists(st.integers(1, 9), min_size=7, max_size=7))
def test_the_heaviest_chain_is_that_of_all_chains(order, weights):
    pairs = list(enumerate(order))
    best = 0
    for choice in range(1 << len(pairs)):
        chain = [pair for number, pair in enumerate(pairs) if choice >> number & 1]
        if all(a[1] < b[1] for a, b in itertools.pairwise(chain)):
            best = max(best, sum(weights[x] for x, _ in chain))
    found = heaviest(pairs, weights.__getitem__)
    assert sum(weights[x] for x, _ in found) == best
    assert all(a[1] < b[1] for a, b in itertools.pairwise(found))


@given(st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), max_size=4))
def test_pairs_score_most(scores):
    found = paired(len(scores), 4, lambda x, y: scores[x][y])
    assert all(scores[x][y] for x, y in found)
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in itertools.pairwise(found))

    def most(x, y):
        if x == len(scores) or y == 4:
            return 0
        return max(most(x + 1, y), most(x, y + 1), scores[x][y] + most(x + 1, y + 1))

    assert sum(scores[x][y] for x, y in found) == most(0, 0)
