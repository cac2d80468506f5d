"""SQL text to a syntax tree, and places in the tree back to places in the text.

The parser is sqlglot's for Spark, with its table of functions emptied: a call stays the call that was written,
where sqlglot would put what it takes for its equal in other dialects. What the tree does not hold cannot be
refused, so every word and literal of the text must be found in the tree again.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import Any

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokens import TokenType

from nestling.errors import QueryError, Span

_COMPARES = (
    TokenType.EQ, TokenType.NEQ, TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE, TokenType.LIKE,
    TokenType.ILIKE,
)  # fmt: skip


def _quantified(parser: Any) -> Any:
    """``any(…)`` is an aggregate, but for ``= ANY (…)``."""
    word, before = parser._prev, parser._tokens[parser._index - 2] if parser._index > 1 else None
    if before is not None and before.token_type in _COMPARES:
        return Spark.Parser.NO_PAREN_FUNCTION_PARSERS["ANY"](parser)
    found = exp.Anonymous(this=word.text, expressions=parser._parse_wrapped_csv(parser._parse_assignment))
    return found.update_positions(word)


#: Calls with a syntax of their own.
_SPECIAL = ("CAST", "TRY_CAST", "EXTRACT", "SUBSTRING", "SUBSTR", "TRIM")


def _mark(parser: Any, name: str) -> Any:
    """The mark of a parameter, which knows its place."""
    found = exp.Placeholder(this=name) if name else exp.Placeholder()
    found.meta.update(start=parser._prev.start, end=parser._prev.end)
    return found


_PARSER: Any = type(
    "FaithfulParser",
    (Spark.Parser,),
    {
        "FUNCTIONS": {},
        "COLON_IS_VARIANT_EXTRACT": True,
        "COLON_CHAIN_IS_SINGLE_EXTRACT": False,
        "FUNCTION_PARSERS": {name: Spark.Parser.FUNCTION_PARSERS[name] for name in _SPECIAL},
        "NO_PAREN_FUNCTIONS": {},
        "ARRAY_CONSTRUCTORS": {},  # array(a, b)[0] is an element
        "NO_PAREN_FUNCTION_PARSERS": {
            **{name: Spark.Parser.NO_PAREN_FUNCTION_PARSERS[name] for name in ("CASE", "IF")},
            "ANY": _quantified,
        },
        "PLACEHOLDER_PARSERS": {
            TokenType.PLACEHOLDER: lambda parser: _mark(parser, ""),
            TokenType.COLON: lambda parser: (
                _mark(parser, parser._prev.text)
                if parser._match_set(parser.COLON_PLACEHOLDER_TOKENS)
                else None
            ),
        },
    },
)
#: Digits of a number; Python reads 4,300.
_LONGEST = 4_000
_LITERALS = (TokenType.STRING, TokenType.NUMBER, TokenType.IDENTIFIER)


class Text:
    """The text of a query and the places of its parts."""

    def __init__(self, text: str) -> None:
        self.text = text

    def statements(self) -> list[Any]:
        """The syntax trees of the statements, none of them empty."""
        dialect = Spark()
        try:
            tokens = dialect.tokenize(self.text)
            self._check_numbers(tokens)
            _call_windows(tokens)
            found = [tree for tree in _PARSER(dialect=dialect).parse(tokens, self.text) if tree is not None]
        except ParseError as error:
            raise self._unread(error) from None
        except TokenError:
            raise QueryError("a quote or comment is not closed in the SQL text") from None
        self._check_complete(tokens, found)
        return found

    def _unread(self, error: ParseError) -> QueryError:
        first = error.errors[0] if error.errors else {}
        line, end, length = first.get("line"), first.get("col"), len(first.get("highlight") or "")
        what = (first.get("description") or "it ends too early").partition(" but got <")[0].rstrip(".")
        at = self._line(line, max(0, end - max(1, length)), length) if line and end is not None else None
        return QueryError(f"this is no SQL that can be read: {what[:1].lower()}{what[1:]}", at=at)

    def _check_numbers(self, tokens: list[Any]) -> None:
        """Refuse a number that Python would not read."""
        for token in tokens:
            if token.token_type is TokenType.NUMBER and len(token.text) > _LONGEST:
                raise QueryError(
                    f"a number of {len(token.text)} digits is too long",
                    at=self._between(token.start, token.end),
                    hint="ints have 64 bits, decimals 38 digits",
                )

    def _check_complete(self, tokens: list[Any], trees: list[Any]) -> None:
        """Refuse a text of which the parser dropped a part."""
        held = Counter(_words(trees))
        for i, token in enumerate(tokens):
            if _is_length(tokens, i):
                continue  # the tree has STRING for VARCHAR(5), and so has Spark for a cast
            if token.token_type in (*_LITERALS, TokenType.VAR):
                word = token.text.upper()
                if not held[word]:
                    raise QueryError(
                        f"{token.text} is not understood in this place",
                        at=self._between(token.start, token.end),
                        hint="write it as Spark's SQL does, or leave it out",
                    )
                held[word] -= 1

    def span(self, node: Any) -> Span | None:
        """The place of ``node``: from its first to its last word."""
        places = [part.meta for part in node.walk() if "start" in part.meta]
        if not places:
            return self.span(node.parent) if node.parent is not None else None
        start, end = min(place["start"] for place in places), max(place["end"] for place in places)
        return self._between(start, self._closed(start, end) if isinstance(node, exp.Func) else end)

    def _closed(self, start: int, end: int) -> int:
        """Where the brackets of a call end, which no word of the tree stands for."""
        left = self.text.count("(", start, end + 1) - self.text.count(")", start, end + 1)
        while left > 0 and (found := re.compile(r"\s*\)").match(self.text, end + 1)):
            left, end = left - 1, found.end() - 1
        return end

    def _between(self, start: int, end: int) -> Span:
        first = self.text.rfind("\n", 0, start) + 1
        line = self.text.count("\n", 0, start) + 1
        return self._line(line, start - first, end - start + 1)

    def _line(self, line: int, column: int, length: int) -> Span:
        lines = self.text.split("\n")
        shown = lines[min(line, len(lines)) - 1]
        return Span(line, column, shown, max(1, min(length, len(shown) - column)))


def _call_windows(tokens: list[Any]) -> None:
    """``window(…)`` is a call; WINDOW with a name behind it is a clause."""
    for token, after in pairwise(tokens):
        if token.token_type is TokenType.WINDOW and after.token_type in (TokenType.L_PAREN, TokenType.DOT):
            token.token_type = TokenType.VAR


def _is_length(tokens: list[Any], i: int) -> bool:
    """Whether the token is the length of a VARCHAR or CHAR."""
    words = [token.text.upper() for token in tokens[max(0, i - 2) : i]]
    return tokens[i].token_type is TokenType.NUMBER and words in (
        ["VARCHAR", "("],
        ["CHAR", "("],
        ["CHARACTER", "("],
    )


def _words(trees: list[Any]) -> list[str]:
    """The words and literals that the trees hold, each as often as it occurs."""
    found = []
    for tree in trees:
        for node in tree.walk():
            if isinstance(node, exp.Literal | exp.Identifier | exp.Anonymous | exp.Var | exp.RawString):
                found.append(str(node.this).upper())
            elif "start" in node.meta:
                found.append(str(node.name or node.key).upper())
            if isinstance(node, exp.JSONPathSubscript):
                found.append(str(node.this))
            if isinstance(node, exp.Cast):
                found += _WORDS_OF_CAST
            if isinstance(node, exp.Interval) and isinstance(node.unit, exp.Var):
                found.append(f"{node.this.name} {node.unit.this}".upper())  # INTERVAL '2 weeks', in two parts
            texts = [part for part in node.args.values() if isinstance(part, str)]
            found += [word for text in texts for word in (text.upper(), *text.upper().split()[:-1])]
            found += _WORDS.get(type(node), ())
    return found


#: Words that the tree keeps as a type of node.
_WORDS_OF_CAST: list[str] = ["CAST", "TRY_CAST"]
_WORDS: dict[Any, tuple[str, ...]] = {
    exp.Substring: ("SUBSTRING", "SUBSTR"),
    exp.Trim: ("TRIM",),
    exp.Extract: ("EXTRACT",),
    exp.If: ("IF",),
    exp.WithinGroup: ("WITHIN", "GROUP"),
    exp.Create: ("IF",),
    exp.Alter: ("ADD", "COLUMN", "COLUMNS", "TYPE", "TO", "RENAME"),
    exp.Drop: ("IF", "MATERIALIZED"),
    exp.MaterializedProperty: ("MATERIALIZED",),
    exp.When: ("MATCHED", "BY", "SOURCE", "TARGET"),
    exp.IntervalSpan: ("TO",),
    exp.IgnoreNulls: ("IGNORE", "NULLS"),
    exp.RespectNulls: ("RESPECT", "NULLS"),
    exp.Ordered: ("NULLS", "FIRST", "LAST"),
}
