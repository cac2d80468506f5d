"""What is refused: by name, with line, caret, advice and the code that XQuery has."""

import pytest

import nestling as nl
from nestling.frontend.xquery import translate

REFUSED = {
    "for $x in /a retun $x": "expected return (XPST0003)",
    "<a>{1</a>": "expected } (XPST0003)",
    "<a></b>": "expected </a> (XQST0118)",
    "<a x='1' x='2'/>": "the attribute x is there twice (XQST0040)",
    "<a>}</a>": "} stands alone",
    "<a>&x;</a>": "& begins a reference",
    "<p:a/>": "the prefix p is not declared (XPST0081)",
    "/a/following::b": "the axis following is not supported (XPST0010)",
    "//a/..": "the parent may be the document",
    "/a/b/ancestor::node()": "ancestor::node() may be the document",
    "/a/b/data(.)": "a call of data as a step is not supported",
    "switch (1) default return 3": "expected case",
    "typeswitch (1) case xs:integer return 2 default return 3": "typeswitch is not supported",
    "try { 1 } catch * { 2 }": "try is not supported",
    "for $x in /a order by $x group by $k := $x/b return $k": "order by before group by is not supported",
    "for $x in /a group by $k := $x/b collation 'c' return 1": "texts are compared by code points (XQST0076)",
    "for $x in /a count $i return 1": "count is not supported",
    "xs:date('2000-01-01') - xs:date('1999-01-01')": "- takes numbers, not a date (XPTY0004)",
    "xs:date('2000-01-01') = 'x'": "date and string are not compared (XPTY0004)",
    "if (xs:date('2000-01-01')) then 1 else 2": "a date is no condition (FORG0006)",
    "min(for $x in /a return number($x))": "min of number(…) is not supported",
    "string-join(/a, /b)": "string-join takes a literal separator here",
    "string-join(/a, ',') = 'x'": "string-join is written, and not compared",
    "for $x in /a order by $x collation 'c' return 1": "texts are compared by code points (XQST0076)",
    "import module namespace m = 'm'; 1": "modules are not supported",
    "declare variable $x external; $x": "an external variable has no value here",
    "declare function f() { 1 }; 1": "a declared function is in the namespace local (XQST0045)",
    "1 +": "expected an expression",
    "(: open": "a comment is not closed",
    "'open": "a text is not closed",
    "3x": "a number runs into a name",
    "p:x": "the prefix p is not declared (XPST0081)",
    "$x": "$x is not bound (XPST0008)",
    "doc('other')/a": "there is no document 'other' (FODC0002)",
    "replace(/a, 'x', 'y')": "the function replace is not supported (XPST0017)",
    "declare function local:f($x) { local:f($x) }; local:f(1)": "local:f calls itself",
    "declare function local:f($x) { $x }; local:f()": "local:f takes 1 arguments (XPST0017)",
    "delete node /a": "a view changes nothing (XUST0001)",
    "for $x in (<a/>) return $x/b": "a path into a constructed node is not supported",
    "(1)/a": "a path leads from nodes (XPTY0019)",
    "count(/a/@*)": "@* is copied, and nothing else",
    "//a[b]//c[2]": "a position after // is not supported here",
    "//descendant::a[2]": "descendant after // is not supported",
    "/a/b[position() = last() - 1]/c": "position() here is not supported",
    "/a[1 + 1]": "a position is a literal number here",
    "for $x at $i in (/a, /b) return $i": "at counts the nodes of one path",
    "1 to 5000": "this range is not supported",
    "'a' + 1": "+ takes numbers, not a string (XPTY0004)",
    "/a/b eq 3": "untyped",
    "distinct-values((1, 'a'))": "distinct values of several types are not supported",
    "<a>{'x'}{attribute k { 1 }}</a>": "the attribute k comes after content (XQTY0024)",
    "<a k='1'>{attribute k { 1 }}</a>": "there may be two attributes k (XQDY0025)",
    "1 instance of xs:integer": "instance of is not supported",
    "element { $x } { 1 }": "a name that is computed from data is not supported (XQDY0074)",
    "<a>{/a/b/@*}{1}</a>": "@* of the query's own element is not supported",
    "for $x in /a/b return <y k='1'>{$x/@*}</y>": "there may be two attributes of a name (XQDY0025)",
    "declare namespace p = 'u'; for $x in /a return <y>{$x/@p:k}</y>": "an attribute with a namespace is not copied",
    "map { 'a': 1 }": "map {…} is not supported",
    "function($x) { $x }": "not supported",
    "zero-or-one((1, 2))": "has several items",
    "/a[count(b)]": "a position is a literal number here",
    "if (distinct-values(//a)) then 1 else 2": "several values are no condition (FORG0006)",
    "": "expected an expression",
}


@pytest.mark.parametrize("query", REFUSED)
def test_a_refusal_says_what_and_where(query):
    with pytest.raises(nl.QueryError) as raised:
        translate(query, ["d"])
    assert REFUSED[query].replace("untyped", "not compared") in str(raised.value)
    assert raised.value.at is not None
    assert "^" in str(raised.value)
    assert raised.value.hint, "it says what to write instead"


def test_nesting_has_an_end():
    with pytest.raises(nl.QueryError, match="nested too deeply"):
        translate("(" * 500 + "1" + ")" * 500, ["d"])
    with pytest.raises(nl.QueryError, match="nested too deeply"):
        translate("<a>" * 500 + "</a>" * 500, ["d"])


def test_which_document_must_be_clear():
    with pytest.raises(nl.QueryError, match="which document"):
        translate("/a", ["d", "e"])
    assert translate("/a", ["d", "e"], "e").tables[0].document == "e"
    assert translate('doc("d")/a', ["d", "e"]).tables[0].document == "d"


@pytest.mark.parametrize("query", [3, None, b"/a", lambda x: x])
def test_a_query_is_a_text(query):
    db = nl.Database()
    db.document("d", "<a/>")
    with pytest.raises(nl.QueryError):
        db.view("v", query, language="xquery")


def test_a_refused_view_leaves_nothing():
    db = nl.Database()
    db.document("d", "<s><p>x</p></s>")
    before = dict(db._state.tables), dict(db._state.views)
    for query in ("<r>{/s/q[}</r>", "sum(/s/p)", "zero-or-one((/s, /s))"):
        with pytest.raises(nl.QueryError):
            db.view("v", query, language="xquery")
        assert (dict(db._state.tables), dict(db._state.views)) == before
        assert db.views == {}
