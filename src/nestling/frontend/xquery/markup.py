"""Direct constructors: markup inside a query, read where it stands."""

from __future__ import annotations

from typing import TypeAlias

from nestling.frontend.xquery.steps import PathParser
from nestling.frontend.xquery.syntax import CommentExpr, ElementExpr, SequenceExpr, Syntax
from nestling.xml.entries import expanded, is_declaration

Part: TypeAlias = "str | Syntax"


def element(parser: PathParser) -> ElementExpr:
    """``<name a="…">…</name>``"""
    with parser.deeper():
        return _element(parser)


def _element(parser: PathParser) -> ElementExpr:
    begun, outside = parser.i, (parser.namespaces, parser.declared)
    parser.need("<")
    tag = parser.name()
    found: list[tuple[str, tuple[Part, ...], int]] = []
    spaces: dict[str, str] = {}
    while not parser.sees("/>") and not parser.sees(">"):
        place = parser.i
        each = parser.name()
        parser.need("=")
        parser.space()
        if is_declaration(each):
            if any(not isinstance(part, str) for _, parts, _ in found for part in parts):
                raise parser.error(
                    f"{each} after an attribute with braces is not supported", "declare it first", at=place
                )
            _declare(parser, each[6:], spaces, place)
        else:
            found.append((each, _value(parser), place))
    name = parser.qualified(tag, False, begun)
    attributes: dict[str, tuple[Part, ...]] = {}
    for each, parts, place in found:
        full = parser.qualified(each, True, place)
        if expanded(full) in map(expanded, attributes):
            raise parser.error(f"the attribute {each} is there twice", "write it once", "XQST0040", place)
        attributes[full] = parts
    namespaces = parser.own_spaces(name, *attributes)
    content: tuple[Part, ...] = ()
    if not parser.eat("/>"):
        parser.need(">")
        content = _content(parser, tag, begun)
    parser.namespaces, parser.declared = outside
    return ElementExpr(name, tuple(attributes.items()), content, namespaces, begun)


def _declare(parser: PathParser, prefix: str, spaces: dict[str, str], at: int) -> None:
    """``xmlns:prefix="uri"``, which holds in all of the element."""
    parts = _value(parser)
    if not all(isinstance(part, str) for part in parts):
        raise parser.error("the name of a namespace is a literal", "write it without braces", "XQST0022", at)
    uri = parser.space_declared(prefix, "".join(map(str, parts)), at)
    if prefix in spaces:
        raise parser.error(
            f"the prefix {prefix or 'xmlns'} is declared twice", "declare it once", "XQST0071", at
        )
    if prefix and not uri:
        raise parser.error(f"the prefix {prefix} stands for nothing", 'xmlns:p="urn:…"', "XQST0085", at)
    spaces[prefix] = uri
    parser.namespaces = parser.namespaces | {prefix: uri}
    if prefix != "xml":
        parser.declared = parser.declared | {prefix: uri}


def _value(parser: PathParser) -> tuple[Part, ...]:
    quote = parser.text[parser.i : parser.i + 1]
    if quote not in ("'", '"'):
        raise parser.error("expected the value of an attribute, between quotes")
    parser.i += 1
    begun = parser.i
    parts, text = list[Part](), list[str]()
    while True:
        sign = parser.text[parser.i : parser.i + 1]
        if not sign:
            raise parser.error("the value of an attribute is not closed", f"close it: {quote}", at=begun)
        if sign == quote and parser.text[parser.i + 1 : parser.i + 2] != quote:
            parser.i += 1
            _flush(parser, text, parts, begun, False)
            return tuple(parts)
        if sign == "<":
            raise parser.error("< in the value of an attribute", "write &lt;")
        if sign == quote:
            text.append(quote)
            parser.i += 2
        else:
            _sign(parser, sign, text, parts, False)


def _content(parser: PathParser, name: str, begun: int) -> tuple[Part, ...]:
    parts, text = list[Part](), list[str]()
    while not parser.text.startswith("</", parser.i):
        sign = parser.text[parser.i : parser.i + 1]
        if not sign:
            raise parser.error(f"<{name}> is not closed", f"close it: </{name}>", at=begun)
        if parser.text.startswith("<!--", parser.i):
            _flush(parser, text, parts, parser.i, True)
            parts.append(comment(parser))
        elif parser.text.startswith("<![CDATA[", parser.i):
            end = parser.text.find("]]>", parser.i)
            if end < 0:
                raise parser.error("CDATA is not closed", "close it: ]]>")
            _flush(parser, text, parts, parser.i, True)
            parts.append(parser.text[parser.i + 9 : end])
            parser.i = end + 3
        elif sign == "<":
            _flush(parser, text, parts, parser.i, True)
            if parser.text.startswith("<?", parser.i):
                raise parser.error(
                    "a processing instruction in a constructor is not supported", "leave it out"
                )
            parts.append(element(parser))
        else:
            _sign(parser, sign, text, parts, True)
    _flush(parser, text, parts, parser.i, True)
    parser.i += 2
    place = parser.i
    if parser.name() != name:
        raise parser.error(f"expected </{name}>", "close the element that is open", "XQST0118", place)
    parser.need(">")
    return tuple(parts)


def comment(parser: PathParser) -> CommentExpr:
    """``<!-- … -->``"""
    begun = parser.i
    end = parser.text.find("-->", begun)
    if end < 0:
        raise parser.error("a comment is not closed", "close it: -->")
    parser.i = end + 3
    return CommentExpr(parser.text[begun + 4 : end], begun)


def _sign(parser: PathParser, sign: str, text: list[str], parts: list[Part], is_content: bool) -> None:
    """One sign of literal text, or what braces enclose."""
    if parser.text.startswith((("{{", "}}")), parser.i):
        text.append(sign)
        parser.i += 2
    elif sign == "{":
        _flush(parser, text, parts, parser.i, is_content)
        parser.i += 1
        begun = parser.i
        parts.append(SequenceExpr((), begun) if parser.sees("}") else parser.expression())
        parser.need("}")
    elif sign == "}":
        raise parser.error("} stands alone", "write }}")
    else:
        text.append(sign)
        parser.i += 1


def _flush(parser: PathParser, text: list[str], parts: list[Part], at: int, is_content: bool) -> None:
    """End a run of literal text; between tags and braces, white space alone is no text."""
    whole = "".join(text)
    text.clear()
    if whole and not (is_content and not whole.strip(" \t\r\n")):
        parts.append(parser.resolved(whole.replace("\r\n", "\n"), at))
