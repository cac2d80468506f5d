"""Namespaces in constructors, copies, updates and patches, against Saxon."""

from __future__ import annotations

import pytest

import nestling as nl
from nestling.database.xml.watch import XmlChange
from nestling.xml.entries import expanded, is_declaration
from nestling.xml.namespaces import visible
from tests.documents.oracle import saxon
from tests.documents.patches import applied, updated

A = "<s><b k='1'>1</b><b k='2'>2</b></s>"
SPACED = (
    '<s k="1" xmlns="urn:a" xmlns:p="urn:p" p:k="2"><p:b x="1" xmlns:z="urn:z">t</p:b><c xmlns=""><d/></c>'
    '<e xmlns:p="urn:p" xmlns:q="urn:q" q:a="3"/><p:f xmlns=""><g/></p:f></s>'
)
MIXED = (
    '<s xml:lang="de"><a p:k="1" xmlns:p="urn:p" k="2"/><p:a xmlns:p="urn:o" p:k="5"/><b>1</b>'
    '<b><p:c xmlns:p="u"><d/></p:c></b></s>'
)
P = 'declare namespace p = "urn:p"; '

#: Documents, and queries over them.
QUERIES = [
    (A, '<p:r xmlns:p="urn:p"/>'),
    (A, f"{P}<p:r/>"),
    (A, P + 'declare namespace q="urn:q"; <q:r p:k="1" k="2" xmlns:z="urn:z"/>'),
    (A, f"{P}<r>{{/s/b}}<p:x>{{/s/b}}</p:x></r>"),
    (A, 'declare default element namespace "urn:a"; <r>{/*:s/*:b}<x/></r>'),
    (A, '<r xmlns="urn:a">{for $b in /*:s/*:b return <y>{$b}</y>}<x/></r>'),
    (A, '<r xmlns="urn:a">{/*:s}</r>'),
    (A, '<r xmlns="urn:a"><x xmlns=""><y>{/s/b}</y></x></r>'),
    (A, 'let $x := <x><y/></x> return <r xmlns="urn:a" xmlns:p="urn:p">{$x}</r>'),
    (A, '<r xmlns:p="urn:p">{attribute p:k {count(/s/b)}, for $b in /s/b return (<p:x>{$b/@k}</p:x>, element z {1})}</r>'),  # noqa: E501
    (A, f'{P}<r>{{attribute p:k {{1}}, for $b in /s/b return <p:x p:n="{{$b}}">{{$b/@k}}</p:x>}}</r>'),
    (A, f'{P}element {{"p:c"}} {{attribute {{"p:d"}} {{1}}, for $b in /s/b return element p:e {{$b}}}}'),
    (A, 'declare default element namespace "p"; <r>{element a {attribute b {1}}, element {"c"} {()}}</r>'),
    (A, '<r xmlns:x="x">{for $b in /s/b let $f := <f>{$b/text()}</f> return (<x:a>{$f}</x:a>, $f)}</r>'),
    (A, P + 'declare function local:f($x) { <p:f>{$x}</p:f> }; <r xmlns="d">{for $b in //*:b return local:f(<y>{$b}</y>)}</r>'),  # noqa: E501
    (A, '<a xmlns:p="p"><p:b xmlns:p="p">{/s/b}</p:b></a>'),
    (A, '<r xmlns:b="urn:b" xmlns:a="urn:a" xmlns="urn:d" z="1"><b:x xmlns:c="urn:c" xmlns:b="urn:bb">{//*:b}</b:x></r>'),  # noqa: E501
    (A, '<r xmlns="v"><p:c xmlns:p="p" xmlns=""><d>{//b/text()}</d></p:c></r>'),
    (A, '<a xmlns="u" xmlns:p="u" p:x="{1}" y="2"><p:b/><b/></a>'),
    (A, '<a xmlns:b="&amp;&quot;x  y{{"/>'),
    (A, '<a xml:id="x" xml:lang="{count(/s/b)}" xsi:nil="true"><xs:y/></a>'),
    (A, 'declare default element namespace "urn:x"; declare namespace p="urn:x"; <p:a><b>{/*:s/*:b}</b></p:a>'),
    (A, '<r xmlns:p="urn:p">t{for $b in /s/b return (<p:x>{$b/@k}</p:x>, "u")}</r>'),
    (SPACED, "/*"),
    (SPACED, "<r>{/*}</r>"),
    (SPACED, "<r>{/*/*}</r>"),
    (SPACED, '<r xmlns:p="urn:p" xmlns="urn:a">{/*/*}</r>'),
    (SPACED, '<r xmlns:p="urn:x">{for $x in /*/* return <i>{$x}</i>}</r>'),
    (SPACED, '<r xmlns="v">{/*}</r>'),
    (SPACED, '<r xmlns="v">{for $x in /*/* return <p:i xmlns:p="i">{$x/@*, $x/*}</p:i>}</r>'),
    (SPACED, "for $x in /* return <r>{$x/@*, $x/*}</r>"),
    (MIXED, "<r>{/s/*}</r>"),
    (MIXED, "/s/*"),
    (MIXED, '<r xmlns="v">{//*:b}</r>'),
    (MIXED, 'for $x in /s/*:a return <r xmlns:p="urn:x">{$x/@*, $x}</r>'),
    (MIXED, 'for $x in /s/*:a return <p:r xmlns:p="urn:x">{$x/@*, <p:y/>}</p:r>'),
    (MIXED, 'declare namespace q="urn:p"; for $a in /s/a return <q:m q:n="{$a/@q:k}">{$a}</q:m>'),
    (MIXED, "<r>{/s/@xml:lang, /s/b}</r>"),
]  # fmt: skip

UPDATES = [
    "insert node <b k='3'><c/>3</b> as first into /*",
    "insert node <p:b xmlns:p='urn:new' p:k='4'><c xmlns='urn:a'/><p:c/></p:b> as last into /*",
    "insert node <e xmlns='urn:a' xmlns:z='urn:z'><z:i/><p:f xmlns:p='urn:p' xmlns=''><g/></p:f></e> after /*/*[1]",
    f"{P}insert node attribute p:n {{ '7' }} into /*/*[2]",
    "delete node /*/*[1]",
    "replace value of node /*/*[2] with '9'",
    f"{P}rename node /*/*[3] as 'p:b'",
    "replace node /*/*[1] with <b k='5'>5</b>",
]


@pytest.mark.parametrize(("text", "query"), QUERIES)
def test_views_with_namespaces_are_what_saxon_says(text, query):
    db = nl.Database()
    document = db.document("d", text)
    view = db.view("v", query, language="xquery")
    changes: list[XmlChange] = []
    view.subscribe(changes.append)
    for update in ("", *UPDATES):
        before, old = document.xml(), view.xml()
        changes.clear()
        if update:
            try:
                db.xquery(update)
            except nl.ChangeError:  # a node that it needs is gone, or a prefix stands for something else
                assert document.xml() == before
                continue
        assert says_what_it_holds(db, document), update
        assert view.xml() == saxon(query, document.xml()), update
        view.verify(maps=True)
        for change in changes:
            assert applied(old, change.to_xml_patch(), change.is_rooted) == view.xml(), change.to_xml_patch()
            assert updated(old, change.to_updates(), change.is_rooted) == view.xml(), change.to_updates()
        assert changes or old == view.xml()


def says_what_it_holds(db, document) -> bool:
    """Whether the text of a document is read as the names that it has, with what each sees."""
    store = document._store()
    entries = [
        (kind, expanded(name), _plain(kind, value), visible(store, key))
        for key, kind, name, value in store.scan()
    ]
    other = nl.Database().document("d", document.xml())._store()
    return entries == [
        (kind, expanded(name), _plain(kind, value), visible(other, key))
        for key, kind, name, value in other.scan()
    ]


def _plain(kind, value):
    return {expanded(n): v for n, v in value if not is_declaration(n)} if kind == "e" else value


def test_a_node_without_a_namespace_stays_without_one():
    db = nl.Database()
    document = db.document("d", '<s xmlns="urn:a"><t/></s>')
    root = document.at("/*")

    db.xquery("insert node <x><y/></x> into /*")
    root.insert("<p:u xmlns:p='p'><v/></p:u>", "first")
    root.insert("<w xmlns='urn:a'/>", "first")

    assert document.xml() == (
        '<s xmlns="urn:a"><w/><p:u xmlns="" xmlns:p="p"><v/></p:u><t/><x xmlns=""><y/></x></s>'
    )
    assert says_what_it_holds(db, document)


def test_a_new_name_keeps_the_namespace_or_is_refused():
    db = nl.Database()
    document = db.document("d", '<s xmlns="urn:a"><p:t xmlns:p="urn:p" p:k="1"/></s>')
    document.at("/*").rename("r")
    document.at("/*/*").rename("u")
    document.at("declare namespace p = 'urn:p'; /*/*/@p:k").rename("m")
    before = document.xml()

    assert before == '<r xmlns="urn:a"><p:u xmlns:p="urn:p" p:m="1"/></r>'
    for update in (
        'rename node /* as "t"',
        "declare namespace p = 'urn:x'; rename node /*/* as 'p:u'",
        "declare namespace p = 'urn:x'; insert node attribute p:m { 1 } into /*/*",
    ):
        with pytest.raises(nl.ChangeError, match="XUDY0023"):
            db.xquery(update)
    with pytest.raises(nl.ChangeError, match="declares a namespace"):
        document.at("/*").set("xmlns", "urn:b")
    assert document.xml() == before
    db.xquery('declare default element namespace "urn:a"; rename node /* as "t"')
    assert document.xml() == before.replace("r", "t", 1).replace("</r>", "</t>")
    assert says_what_it_holds(db, document)


@pytest.mark.parametrize(
    ("query", "words"),
    {
        '<a xmlns="u{1}"/>': "XQST0022",
        '<a xmlns:xml="u"/>': "XQST0070",
        '<a xmlns:xmlns="u"/>': "XQST0070",
        '<a xmlns:p="http://www.w3.org/XML/1998/namespace"/>': "XQST0070",
        '<a xmlns:p=""/>': "XQST0085",
        '<a xmlns:p="u" xmlns:p="v"/>': "XQST0071",
        '<a xmlns:p="u" xmlns:q="u" p:x="1" q:x="2"/>': "XQST0040",
        "<xmlns:a/>": "XQDY0044",
        "<p:a/>": "XPST0081",
        'declare namespace p = ""; <p:a/>': "XPST0081",
        "<r>{attribute xmlns {1}}</r>": "XQDY0044",
        '<p:a xmlns:p="x" xmlns:q="x"></q:a>': "XQST0118",
        'declare namespace p = "u"; declare namespace p = "v"; 1': "XQST0033",
        'declare namespace xml = "u"; 1': "XQST0070",
        '<a k="{1}" xmlns:p="u"/>': "after an attribute with braces",
        f"{P}<r>{{if (/s/b) then attribute p:k {{1}} else ()}}</r>": "may be missing, and with it its namespace",
        P + 'declare function local:f() { attribute p:f {1} }; <r xmlns:p="d">{local:f()}</r>': "two namespaces",
    }.items(),
)  # fmt: skip
def test_namespaces_that_are_refused(query, words):
    db = nl.Database()
    db.document("d", A)
    with pytest.raises(nl.QueryError, match=words):
        db.view("v", query, language="xquery")
