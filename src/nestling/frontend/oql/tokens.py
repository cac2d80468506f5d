"""OQL text to tokens, and offsets in the text to places that can be shown.

There are no reserved words here: whether ``order`` is a keyword or a variable is for the parser to say. A name between
backquotes is a name, whatever it is made of; a backquote in it is written twice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from nestling.errors import QueryError, Span
from nestling.frontend.oql.tree import Place

_TOKEN = re.compile(
    r"""(?P<blank>\s+|//[^\n]*|--[^\n]*|/\*.*?\*/)
    |(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
    |(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')
    |(?P<word>[^\W\d]\w*)
    |(?P<name>`(?:[^`]|``)+`)
    |(?P<sign>\.\.|->|<=|>=|<>|!=|\|\||[-+*/(),.:;=<>\[\]])""",
    re.DOTALL | re.VERBOSE,
)
#: Digits of a number; Python reads 4,300.
LONGEST = 4_000
_WRONG = {
    "$": ("a view has no parameters", "write the value"),
    '"': ("this string is not closed", 'end it with "'),
    "'": ("this string is not closed", "end it with '; a quote inside is written twice"),
    "`": ("this name is not closed", "end it with `; a backquote inside is written twice"),
    "/": ("this comment is not closed", "end it with */"),
    "&": ("there is no & in OQL", "write and"),
    "|": ("there is no | in OQL", "write or, or || to join strings"),
    "%": ("there is no % in OQL", "write mod"),
    "{": ("there are no braces in OQL", "write set(…), bag(…) or list(…)"),
}


@dataclass(frozen=True, slots=True)
class OqlToken:
    """A number, a string, a word or a sign, as it is written, or a name without its quotes.

    The end is an empty sign.
    """

    kind: str
    text: str
    start: int
    end: int

    def is_word(self, *words: str) -> bool:
        return self.kind == "word" and self.text.lower() in words

    @property
    def is_named(self) -> bool:
        """Whether it may be a name, be it that of an attribute."""
        return self.kind in ("word", "name")

    def is_sign(self, *signs: str) -> bool:
        return self.kind == "sign" and self.text in signs


def tokens(text: str) -> list[OqlToken]:
    """The tokens of ``text``, and the end.

    >>> [token.text for token in tokens("c.name like 'A*' -- those with A")]
    ['c', '.', 'name', 'like', "'A*'", '']
    >>> [token.text for token in tokens("c.`group by`")]
    ['c', '.', 'group by', '']
    """
    found, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or (text.startswith("/*", at) and match.lastgroup == "sign"):
            what, hint = _WRONG.get(text[at], (f"{text[at]!r} is no sign of OQL", "leave it out"))
            raise QueryError(what, at=span(text, (at, at + 1)), hint=hint)
        if match.lastgroup == "number" and len(match.group()) > LONGEST:
            what = f"a number of {len(match.group())} digits is too long"
            raise QueryError(what, at=span(text, (at, match.end())), hint="ints have 64 bits")
        if match.lastgroup != "blank":
            written = match.group()
            is_name = match.lastgroup == "name"
            shown = written[1:-1].replace("``", "`") if is_name else written
            found.append(OqlToken(str(match.lastgroup), shown, at, match.end()))
        at = match.end()
    return [*found, OqlToken("sign", "", len(text), len(text))]


def is_word(name: str) -> bool:
    """Whether ``name`` is a word as it stands."""
    found = _TOKEN.fullmatch(name)
    return found is not None and found.lastgroup == "word"


def span(text: str, place: Place) -> Span:
    """The line that ``place`` begins in, and where in it."""
    start, end = place
    first = text.rfind("\n", 0, start) + 1
    shown = text[first:].split("\n", 1)[0]
    length = max(1, min(end, first + len(shown)) - start)
    return Span(text.count("\n", 0, start) + 1, start - first, shown, length)
