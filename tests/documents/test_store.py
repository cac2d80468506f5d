"""Pages, the node store and its text: round trips, and random edits against a list."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from nestling.errors import StoreError
from nestling.xml.load import document_entries, fragment_entries
from nestling.xml.orderkeys import depth_of, end_of, parent_of
from nestling.xml.pages import PAGE, decoded, encoded
from nestling.xml.serialise import serialised
from nestling.xml.store import EditedStore, NodeStore, Stored, packed
from tests.documents.trees import DOCUMENTS


def stored(entries):
    pages = dict(packed(entries))
    return Stored(pages, pages.__getitem__)


@given(DOCUMENTS)
def test_a_document_is_its_text(text):
    entries = list(document_entries([text]))
    assert serialised(entries) == serialised(NodeStore(stored(entries)).scan())
    again = serialised(document_entries([serialised(entries)]))
    assert again == serialised(entries)
    assert canonical(again) == canonical(text)


def canonical(text):
    return etree.tostring(etree.fromstring(text.encode()), method="c14n")


@given(DOCUMENTS, st.integers(1, 5))
def test_a_document_may_come_in_parts(text, size):
    data = text.encode()
    parts = [data[place : place + size] for place in range(0, len(data), size)]
    assert list(document_entries(parts)) == list(document_entries([text]))


@given(DOCUMENTS)
def test_a_page_is_its_entries(text):
    entries = list(document_entries([text]))
    assert decoded(encoded(entries)) == entries
    assert encoded([]) == b"" and decoded(b"") == []


@given(st.binary(max_size=60))
def test_other_bytes_give_entries_in_order_or_are_refused(page):
    try:
        entries = decoded(page)
    except StoreError:
        return
    keys = [entry[0] for entry in entries]
    assert keys == sorted(set(keys))


@pytest.mark.parametrize(
    "page",
    [
        b"0e",
        b"xe\x01a0\x01s",
        b"0q\x01a0\x01s",
        b"0e\x01a0\x01s\x01k",
        b"0t\x01a0\x01",
        b"\xff",
        b"0e\x01\x01s",
    ],
)
def test_a_page_that_makes_no_sense_is_refused(page):
    with pytest.raises(StoreError, match="a page of a document"):
        decoded(page)


@given(DOCUMENTS)
def test_steps_lead_where_keys_say(text):
    entries = list(document_entries([text]))
    store, keys = NodeStore(stored(entries)), [entry[0] for entry in entries]
    for key in keys:
        siblings = [other for other in keys if parent_of(other) == parent_of(key)]
        place = siblings.index(key)
        assert key_of(store.get(key)) == key
        assert key_of(store.previous_sibling(key)) == (siblings[place - 1] if place else None)
        assert key_of(store.next_sibling(key)) == (siblings[place + 1] if place + 1 < len(siblings) else None)
        children = [other for other in keys if parent_of(other) == key]
        assert [entry[0] for entry in store.children(key)] == children
        assert key_of(store.first_child(key)) == (children[0] if children else None)
        assert key_of(store.last_child(key)) == (children[-1] if children else None)
        assert len(store.labels(key)) == depth_of(key)


def key_of(entry):
    return None if entry is None else entry[0]


@given(st.lists(st.tuples(st.integers(0, 500), st.integers(0, 500), st.integers(0, 300)), max_size=12))
def test_a_range_is_replaced_as_in_a_list(changes):
    """Against a plain list, with so many entries that pages are split and emptied."""
    entries = [(f"a0.{number:05}", "t", "", str(number)) for number in range(0, 4 * PAGE)]
    store = EditedStore(stored(entries))
    for first, width, count in changes:
        low, high = f"a0.{first:05}", f"a0.{first + width:05}"
        new = [(f"a0.{first:05}.{number:04}", "t", "", "new") for number in range(count)] if width else []
        gone = store.replace(low, high, new)
        assert gone == [entry for entry in entries if low <= entry[0] < high]
        entries = sorted([entry for entry in entries if not low <= entry[0] < high] + new)
        assert list(store.scan()) == entries
        for entry in entries[::17]:
            assert store.get(entry[0]) == entry
            assert store.before(end_of(entry[0])) is not None


def test_new_entries_may_lie_across_the_start_of_a_page():
    entries = [(f"a{number}", "t", "", "x") for number in "0123456789"]
    pages = {"": encoded(entries[:5]), "a6": encoded(entries[6:])}
    store = EditedStore(Stored(pages, pages.__getitem__))
    store.replace("a6", end_of("a7"), [])

    store.replace("a5", "a5", [("a5", "t", "", "y"), ("a6", "t", "", "y")])

    assert [store.get(key) is not None for key in ("a5", "a6", "a7", "a8")] == [True, True, False, True]


def test_a_fragment_has_several_nodes():
    assert serialised(fragment_entries("x<a/>y<!--c-->")) == "x<a/>y<!--c-->"
