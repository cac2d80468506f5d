"""Order keys: names of siblings that sort as the siblings stand, with room for one more between any two.

A sibling key is an integer part, whose first sign says how many digits follow (``a``: one, ``b``: two, …; below zero
``Z``: one, ``Y``: two, …), and a fraction that does not end in 0. Digits are ``0-9A-Za-z``, so that the order of
ASCII is theirs. A node's key joins the sibling keys from the root by ``.``, which sorts below every digit: the order
of keys is document order, an ancestor is a prefix up to a ``.``, and the subtree of ``k`` is the range from ``k`` to
``end_of(k)``.

Law: ``between(a, b)`` lies strictly between ``a`` and ``b``; appending and prepending keep keys as short as counting
does.
"""

from __future__ import annotations

from functools import lru_cache

DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_VALUE = {digit: value for value, digit in enumerate(DIGITS)}
_BASE = len(DIGITS)
FIRST = "a0"
#: A sibling key that is longer asks for new keys around it; and how long those may be.
LONGEST, RENEWED = 24, 12


def between(low: str | None, high: str | None) -> str:
    """A key after ``low`` and before ``high``; None is the end of the siblings on that side.

    >>> between(None, None), between("a0", None), between(None, "a0"), between("a0", "a1")
    ('a0', 'a1', 'Zz', 'a0V')
    """
    if low is None:
        if high is None:
            return FIRST
        whole = _whole(high)
        return whole if whole < high else _previous(whole)
    if high is None:
        return following(_whole(low))
    below, above = _whole(low), _whole(high)
    if below == above:
        return below + _middle(low[len(below) :], high[len(above) :])
    after = following(below)
    return after if after < high else below + _middle(low[len(below) :], None)


def spread(low: str | None, high: str | None, number: int) -> list[str]:
    """``number`` keys in order, strictly between ``low`` and ``high``.

    >>> spread("a0", "a1", 3)
    ['a0F', 'a0V', 'a0k']
    """
    if low is None or high is None:
        keys: list[str] = []
        for _ in range(number):
            low, high = (between(low, None), None) if high is None else (None, between(None, high))
            keys.append(low or high or FIRST)
        return keys if high is None else keys[::-1]
    if not number:
        return []
    middle, before = between(low, high), number // 2
    return [*spread(low, middle, before), middle, *spread(middle, high, number - before - 1)]


def parent_of(key: str) -> str:
    """The key of the parent; of the root element, the empty text, which is the document's."""
    return key[: key.rfind(".")] if "." in key else ""


def end_of(key: str) -> str:
    """The least text that sorts after the whole subtree of ``key``; of the document, after everything."""
    return key + "/" if key else "~"


def only(key: str) -> str:
    """The least text that sorts after the node at ``key`` itself: below its first child."""
    return key + "!"


def child_of(parent: str, part: str) -> str:
    """The key of the child that ``part`` names among the children of ``parent``."""
    return f"{parent}.{part}" if parent else part


def part_of(key: str) -> str:
    """The sibling key: what follows the key of the parent."""
    return key[key.rfind(".") + 1 :]


def cut(key: str, depth: int) -> str:
    """The ancestor-or-self of ``key`` at ``depth``; the root element is at 1."""
    return ".".join(key.split(".", depth)[:depth])


def depth_of(key: str) -> int:
    """How many steps lead from the document to ``key``."""
    return key.count(".") + 1 if key else 0


def _whole(key: str) -> str:
    head = key[0]
    return key[: ord(head) - ord("a") + 2 if head >= "a" else ord("Z") - ord(head) + 2]


@lru_cache(1 << 16)
def following(whole: str) -> str:
    """The next integer part: the key of a sibling that is appended."""
    head, digits = whole[0], list(whole[1:])
    for place in range(len(digits) - 1, -1, -1):
        value = _VALUE[digits[place]] + 1
        if value < _BASE:
            digits[place] = DIGITS[value]
            return head + "".join(digits)
        digits[place] = "0"
    return FIRST if head == "Z" else _all(chr(ord(head) + 1), "0")


def _previous(whole: str) -> str:
    head, digits = whole[0], list(whole[1:])
    for place in range(len(digits) - 1, -1, -1):
        value = _VALUE[digits[place]] - 1
        if value >= 0:
            digits[place] = DIGITS[value]
            return head + "".join(digits)
        digits[place] = "z"
    return "Zz" if head == "a" else _all(chr(ord(head) - 1), "z")


def _all(head: str, digit: str) -> str:
    return head + digit * (len(_whole(head + digit * _BASE)) - 1)


def _middle(low: str, high: str | None) -> str:
    """A fraction strictly between two, the upper of which may be 1; it does not end in 0."""
    found, place, is_open = "", 0, high is None
    while True:
        below = _VALUE[low[place]] if place < len(low) else 0
        above = _BASE if is_open or high is None else _VALUE[high[place]] if place < len(high) else 0
        if above - below > 1:
            return found + DIGITS[(below + above) // 2]
        found += DIGITS[below]
        is_open = is_open or above - below == 1
        place += 1
