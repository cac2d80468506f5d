"""Text that others bring, as it may stand in generated Python and in Spark SQL: a name, a literal or a remark.

A name, a value or a query comes from a user, a file, a lake or a line of JSON, and nobody has looked at it. It enters
generated text through a function of this module and in no other way; ``tests/architecture`` looks for other ways.

Law: whatever ``text`` is, generated text has the same structure as with an ordinary word in its place. ``identifier``
yields one word, and different ones for different names; ``literal`` yields one literal, of that value; ``remark``
yields part of one line, which ends neither a comment nor a docstring; ``sql_name`` and ``sql_text`` yield one token.
"""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from hashlib import blake2b
from typing import Any

#: The longest word that ``identifier`` spells out; of a longer one it writes the beginning and a digest.
LONGEST = 64
#: The longest remark.
LONGEST_REMARK = 400

#: Signs that Python takes in a word and reads as themselves: for a dot, for a space, and around the number of a sign.
_DOT, _SPACE, _SIGN = "·", "‿", "⁀"

#: What generated Python makes new words of old ones with: a name that looks like such a word is spelled otherwise.
_JOINT = re.compile(r"_by_[0-9]|_sorted_(?:[0-9]|\Z)|_batch\Z")


# -- Python


@lru_cache(maxsize=1 << 14)
def identifier(name: str) -> str:
    """``name`` as part of a Python word: behind a prefix, or where it is known to start with a letter.

    Law: different names have different words, of a bounded length, that Python reads as they are written: it takes
    ``ﬁ`` for ``fi``. No index of one source is called like another source, which is why ``orders_by_1`` is odd.

    >>> identifier("orders_items"), identifier("orders.items"), identifier("watch v")
    ('orders_items', 'orders·items', 'watch‿v')
    >>> identifier("x = 1"), identifier("orders_by_1")
    ('x‿⁀3d⁀‿1', 'orders⁀5f⁀by⁀5f⁀1')
    """
    spelled = "_" if _JOINT.search(name) else ""
    word = "".join(_spelled(sign, spelled) for sign in name)
    if len(word) <= LONGEST:
        return word
    # Longer than every word that is spelled out, so it is none of them.
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()
    return f"{word[: LONGEST // 2]}{_SIGN}{digest}"


def _spelled(sign: str, also: str) -> str:
    if sign.isascii() and (sign.isalnum() or sign == "_") and sign not in also:
        return sign
    return {".": _DOT, " ": _SPACE}.get(sign) or f"{_SIGN}{ord(sign):x}{_SIGN}"


class Words:
    """Python words for the variables of one function, none of which is ``taken`` or ``reserved`` for all functions.

    >>> words = Words(["row"])
    >>> (
    ...     words.fresh("m.name"),
    ...     words.fresh("m_name"),
    ...     words.fresh("row"),
    ...     words.fresh("class"),
    ...     words.fresh("é"),
    ... )
    ('m_name', 'm_name_', 'row_', 'v_class', 'v__')
    """

    def __init__(self, taken: Iterable[str] = (), reserved: frozenset[str] = frozenset()) -> None:
        self._taken, self._reserved = set(taken), reserved
        self._last: dict[str, int] = {}

    def fresh(self, like: str) -> str:
        """A word that nothing else has, as much ``like`` that name as may be."""
        # ASCII only: Python reads some letters as others, and two words would be one.
        plain = "".join(
            sign if sign.isascii() and (sign.isalnum() or sign == "_") else "_" for sign in like[:LONGEST]
        )
        # ``_`` is what nobody reads, and what begins with two of them may mean something to Python.
        if not plain.isidentifier() or keyword.iskeyword(plain) or plain == "_" or plain.startswith("__"):
            plain = f"v_{plain}"
        word = plain
        while word in self._taken or word in self._reserved:
            number = self._last[plain] = self._last.get(plain, 0) + 1
            word = f"{plain}_{number if number > 1 else ''}"
        self._taken.add(word)
        return word


def is_attribute(name: str) -> bool:
    """Whether ``row.name`` can be written, and is read as it is written."""
    usable = name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("_")
    return usable and unicodedata.normalize("NFKC", name) == name


def literal(value: Any) -> str:  # noqa: C901 - one arm per type
    """A constant as Python writes it: a literal, or a call of a class that generated code knows by its name.

    >>> literal("it's"), literal(date(2024, 2, 29)), literal(Decimal("1.50"))
    ('"it\\'s"', 'date(2024, 2, 29)', "Decimal('1.50')")
    """
    match value:
        case None | bool():
            return "None" if value is None else "True" if value else "False"
        case int():
            # Python writes no more than some thousand digits in tens.
            return int.__repr__(value) if value.bit_length() < 4096 else hex(value)
        case float():
            return float.__repr__(value)
        case str():
            return str.__repr__(value)
        case bytes():
            return bytes.__repr__(value)
        case Decimal():
            return Decimal.__repr__(value)
        case datetime() if value.tzinfo is None:
            parts = (
                value.year,
                value.month,
                value.day,
                value.hour,
                value.minute,
                value.second,
                value.microsecond,
            )
            return f"datetime({', '.join(map(str, parts))}{', fold=1' * value.fold})"
        case date() if not isinstance(value, datetime):
            return f"date({value.year}, {value.month}, {value.day})"
        case time() if value.tzinfo is None:
            return f"time({value.hour}, {value.minute}, {value.second}, {value.microsecond})"
        case timedelta():
            return f"timedelta({value.days}, {value.seconds}, {value.microseconds})"
    raise TypeError(f"no literal of {type(value).__name__}")


def remark(text: str) -> str:
    """``text`` for a comment or a docstring of one line: what cannot be seen is a blank, and all else is cut.

    >>> remark("two\\nlines, a \\\\ and a " + 3 * '"')
    "two lines, a / and a '''"
    """
    seen = "".join(sign if sign.isprintable() else " " for sign in text[: 4 * LONGEST_REMARK])
    line = " ".join(seen.split()).replace("\\", "/").replace('"', "'")
    return line if len(line) <= LONGEST_REMARK else f"{line[: LONGEST_REMARK - 1]}…"


# -- Spark SQL


def sql_name(name: str) -> str:
    """``name`` as a word of SQL. Our sessions do not substitute ``${…}``, which Spark would do inside the quotes too.

    >>> sql_name("unit price"), sql_name("a`b")
    ('`unit price`', '`a``b`')
    """
    return "`" + name.replace("`", "``") + "`"


def sql_text(text: str) -> str:
    """A string literal. Only what has no other meaning anywhere stands for itself; lone surrogates have none at all.

    >>> sql_text("unit price"), sql_text("it's")
    ("'unit price'", "'it\\\\u0027s'")
    """
    return "'" + "".join(map(_escaped, text)) + "'"


def _escaped(sign: str) -> str:
    if (sign.isascii() and sign.isalnum()) or sign in " _.-:;()+":
        return sign
    code = ord(sign)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def plain_sql_text(text: str) -> str:
    """A string literal for our own reader of SQL, which knows two escapes."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def is_utf8(text: str) -> bool:
    """Whether ``text`` can leave Python: a lone surrogate is half a character, and nothing else knows it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
