"""What cannot be stored is refused with its place, and nothing is changed."""

import io

import pytest
from lxml import etree

import nestling as nl
from nestling.xml.entries import DEEPEST

BOMB = (
    '<!DOCTYPE a [<!ENTITY a0 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa">'
    + "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 9))
    + "]><a>&a8;</a>"
)
HOSTILE = {
    "mismatched tag": ("<a>\n<b></a>", "line 2, column 6"),
    "outside this text": ('<!DOCTYPE a [<!ENTITY e SYSTEM "/etc/hostname">]><a>&e;</a>', "line 1"),
    "entity 'p' is outside": ('<!DOCTYPE a [<!ENTITY % p SYSTEM "http://x/y"> %p;]><a/>', "line 1"),
    "declared nowhere in this text": ('<!DOCTYPE a SYSTEM "http://x/y.dtd"><a>\n&q;</a>', "line 2, column 1"),
    "amplification": (BOMB, "line 1"),
    "nests more than": ("<a>" * (DEEPEST + 2) + "</a>" * (DEEPEST + 2), "line 1"),
    "no element found": ("<!-- nothing -->", "line 1"),
    "junk after document element": ("<a/><b/>", "column 5"),
    "the prefix 'p' is declared nowhere": ("<p:a/>", "column 1"),
    "unknown encoding": (b'<?xml version="1.0" encoding="klingon"?><a/>', "line 1"),
    "invalid token": (b"<a>\x01</a>", "line 1, column 4"),
    "duplicate attribute": ('<a x="1" x="2"/>', "line 1"),
    "not well-formed": (b"\xff\xff<a/>", "line 1"),
    "two attributes have one name": ('<a xmlns:p="u" xmlns:q="u" p:x="1" q:x="2"/>', "line 1, column 1"),
    "the prefix 'p' cannot stand for ''": ('<a>\n<b xmlns:p=""/></a>', "line 2, column 1"),
    "the prefix 'xml' cannot stand for": ('<a xmlns:xml="u"/>', "line 1"),
    "the prefix 'xmlns' cannot stand for": ('<a xmlns:xmlns="u"/>', "line 1"),
    "is no name with a prefix": ('<a:b:c xmlns:a="u"/>', "line 1"),
    "is no name of a processing instruction": ("<a><?p:q x?></a>", "line 1, column 4"),
}  # fmt: skip


@pytest.mark.parametrize("why", HOSTILE)
def test_what_cannot_be_stored_is_refused(why):
    db = nl.Database()
    text, place = HOSTILE[why]

    with pytest.raises(nl.ChangeError, match=why) as raised:
        db.document("d", text)

    assert place in str(raised.value)
    assert db.documents == {}
    assert not any(name.startswith("§") for name in db._state.tables)
    db.document("d", "<a/>")


def test_a_document_comes_from_anything(tmp_path):
    text = '<a k="1">é<b/></a>'
    path = tmp_path / "a.xml"
    path.write_text(text, encoding="utf-8")
    told = []
    sources = {
        "path": path, "string": str(path), "markup": text, "bytes": text.encode(), "tree": etree.fromstring(text),
        "file": io.BytesIO(text.encode()), "text file": io.StringIO(text),
        "other": b'<?xml version="1.0" encoding="latin1"?>' + text.encode("latin1"),
    }  # fmt: skip
    db = nl.Database()
    for name, source in sources.items():
        assert (
            db.document(name, source, progress=lambda done, total: told.append((done, total))).xml() == text
        )
    assert told[0] == (path.stat().st_size, path.stat().st_size)
    assert list(db.documents) == list(sources)


def test_white_space_may_be_left_out():
    db = nl.Database()
    text = "<a>\n  <b> x </b>\n</a>"
    assert db.document("kept", text).xml() == text
    assert db.document("left", text, whitespace="strip").xml() == "<a><b> x </b></a>"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("d", 3), "a document is a path"),
        (("d", "nowhere.xml"), "cannot be read"),
        (("d", " "), "the text is empty"),
        (("§d", "<a/>"), "starts with §"),
        (("", "<a/>"), "name"),
        (("x" * 130, "<a/>"), "characters"),
        (("there", "<a/>"), "already"),
        (("t", "<a/>"), "already defined"),
        (("absent",), "there is no document"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    db = nl.Database()
    db.document("there", "<a/>")
    db.table("t", {"x": int})
    with pytest.raises(nl.NestlingError, match=message):
        db.document(*arguments)
    assert list(db.documents) == ["there"]


def test_namespaces_are_kept():
    text = '<a xmlns="urn:a" xmlns:p="urn:p" p:k="1"><p:b/><c xmlns=""><d/></c></a>'
    db = nl.Database()
    document = db.document("d", text)
    query = 'declare namespace q = "urn:p"; declare default element namespace "urn:a"; <r>{/a/q:b}</r>'
    view = db.view("v", query, language="xquery")

    assert document.xml() == text
    assert view.xml() == '<r xmlns="urn:a"><p:b xmlns:p="urn:p"/></r>'
    assert document.at('declare namespace q = "urn:p"; /*/@q:k').value == "1"
