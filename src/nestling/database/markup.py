"""HTML by function calls: text is escaped unless it is markup already."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape


class Html(str):
    """Markup, as against text."""

    __slots__ = ()


def tag(name: str, *children: str, **attributes: str) -> Html:
    """``<name attributes>children</name>``.

    >>> tag("p", "1 < 2 ", tag("b", "yes"), class_="note")
    '<p class="note">1 &lt; 2 <b>yes</b></p>'
    """
    opened = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"' for key, value in attributes.items()
    )
    return Html(f"<{name}{opened}>{join(children)}</{name}>")


def join(parts: Iterable[str], between: str = "") -> Html:
    """Markup and text, one after the other."""
    return Html(_safe(between).join(map(_safe, parts)))


def _safe(part: str) -> str:
    return part if isinstance(part, Html) else escape(part)


CALCULUS = re.compile(
    r"(?P<text>'[^'\n]*')|(?P<delta>[Δδ][\w.]+)"
    r"|(?P<word>\b(?:for|in|union|where|let|fold|group|by|as|sng|flatten|on|times|with|if|then|each|answer|Sum)\b)"
)
PYTHON = re.compile(
    r"(?P<note>#[^\n]*)|(?P<text>\"\"\".*?\"\"\"|'[^'\n]*')"
    r"|(?P<word>\b(?:def|for|in|if|elif|else|return|yield|not|and|or|is|del|lambda|None|True|False)\b)",
    re.DOTALL,
)


def code(text: str, language: re.Pattern[str] = CALCULUS) -> Html:
    """A block of code, its words marked."""
    parts: list[str] = []
    at = 0
    for found in language.finditer(text):
        parts += [text[at : found.start()], tag("i", found.group(), class_=found.lastgroup or "")]
        at = found.end()
    return tag("pre", tag("code", *parts, text[at:]))
