"""The paper's update language: the cases of ``paper.spec``, and random updates against figure 3 on a plain tree."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

import nestling as nl


def cases():
    text = (Path(__file__).parent / "paper.spec").read_text(encoding="utf-8")
    for block in text.split("\n\n")[1:]:
        title, *lines = block.strip().split("\n")
        parts = {line[:8].strip(): line[9:] for line in lines}
        yield pytest.param(parts, id=title.removeprefix("# ").replace(" ", "-"))


@pytest.mark.parametrize("case", list(cases()))
def test_a_case(case):
    db = nl.Database()
    document = db.document("d", case["document"])
    db.view("v", "<r>{for $e in //* return <x>{$e}</x>}</r>", language="xquery")
    if "error" in case:
        with pytest.raises(nl.NestlingError) as caught:
            document.apply(case["update"])
        assert case["error"] in str(caught.value)
        assert document.xml() == case["document"]
    else:
        document.apply(case["update"])
        assert document.xml() == case["after"]
    db.verify(maps=True)


def test_an_update_is_a_text_and_may_be_part_of_a_transaction():
    db = nl.Database()
    document = db.document("d", "<s><a/></s>")
    with pytest.raises(nl.QueryError, match="an update is a text"):
        document.apply(3)  # type: ignore[arg-type]
    with db.transaction() as change:
        change.document("d").apply("UNode(None, UIns(<b/>))")
        change.document("d").apply("UNode(None, USeq[(2, UDel)])")
    assert document.xml() == "<s><b/></s>"


NAMES = st.sampled_from("abc")


def element(name, parts):
    return f"<{name}>{''.join(parts)}</{name}>"


TREES = st.recursive(
    NAMES.map(lambda name: f"<{name}/>"),
    lambda inner: st.builds(element, NAMES, st.lists(inner, min_size=1, max_size=3)),
    max_leaves=8,
)


@given(TREES, st.data())
def test_random_updates_do_what_figure_3_says(text, data):
    root = etree.fromstring(text)
    update, made = drawn(data, list(root), depth=0)
    db = nl.Database()
    document = db.document("d", text)
    document.apply(f"UNode(None, {update})")
    root[:] = made
    assert document.tree() is not None
    assert etree.tostring(document.tree()) == etree.tostring(etree.fromstring(etree.tostring(root)))


def drawn(data, items, depth):
    """An update of a sequence of elements, and the sequence that it makes of it."""
    kinds = ["UNop", "UDel", "UIns", "URepl", *(["USeq"] if items and depth < 3 else [])]
    if len(items) == 1 and depth < 3:
        kinds.append("UNode")
    kind = data.draw(st.sampled_from(kinds))
    new = [etree.Element("n")]
    if kind == "UNop":
        return "UNop", items
    if kind == "UDel":
        return "UDel", []
    if kind == "UIns":
        return "UIns(<n/>)", [*new, *items]
    if kind == "URepl":
        return "URepl(<n/>)", new
    if kind == "UNode":
        inner, made = drawn(data, list(items[0]), depth + 1)
        name = data.draw(st.sampled_from([None, "k"]))
        element = etree.Element(name or items[0].tag)
        element[:] = made
        return f"UNode({name}, {inner})", [element]
    places = data.draw(st.lists(st.integers(1, len(items)), min_size=1, unique=True))
    found, after = [], {number: [item] for number, item in enumerate(items, 1)}
    for place in places:
        inner, after[place] = drawn(data, [items[place - 1]], depth + 1)
        found.append(f"({place}, {inner})")
    return f"USeq[{', '.join(found)}]", [each for place in sorted(after) for each in after[place]]
