"""Direct constructors: markup inside a query, read where it stands."""

from __future__ import annotations

from typing import TypeAlias

from nestling.frontend.xquery.steps import PathParser
from nestling.frontend.xquery.syntax import CommentExpr, ElementExpr, SequenceExpr, Syntax

Part: TypeAlias = "str | Syntax"


def element(parser: PathParser) -> ElementExpr:
    """``<name a="…">…</name>``"""
    with parser.deeper():
        return _element(parser)


def _element(parser: PathParser) -> ElementExpr:
    begun = parser.i
    parser.need("<")
    name = _plain(parser, parser.name())
    attributes: dict[str, tuple[Part, ...]] = {}
    while not parser.sees("/>") and not parser.sees(">"):
        place = parser.i
        each = _plain(parser, parser.name())
        if each in attributes:
            raise parser.error(f"the attribute {each} is there twice", "write it once", "XQST0040", place)
        parser.need("=")
        parser.space()
        attributes[each] = _value(parser)
    if parser.eat("/>"):
        return ElementExpr(name, tuple(attributes.items()), (), begun)
    parser.need(">")
    content = _content(parser, name, begun)
    return ElementExpr(name, tuple(attributes.items()), content, begun)


def _plain(parser: PathParser, name: str) -> str:
    if ":" in name or name == "xmlns":
        raise parser.error(
            f"{name}: a constructor with a namespace is not supported",
            "write names without a prefix",
            at=parser.i,
        )
    return name


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
            parts.append(_comment(parser))
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


def _comment(parser: PathParser) -> CommentExpr:
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
