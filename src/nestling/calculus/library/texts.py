"""Functions of texts, with Spark's meaning."""

from __future__ import annotations

import base64
import hashlib
import re
import zlib
from functools import lru_cache

from nestling.calculus.library.entry import LibraryEntry, entry

_MASK = (1 << 64) - 1


_COMPLEMENT = str.maketrans("0123456789", "9876543210")


def sortable(number: int) -> str:
    """A text for each number, ordered as numbers are.

    >>> sorted([5, -12, 40, -3], key=sortable)
    [-12, -3, 5, 40]
    """
    digits = str(abs(number))
    if number >= 0:
        return f"1{len(digits):04d}{digits}"
    return f"0{9999 - len(digits)}{digits.translate(_COMPLEMENT)}"


def split_part(text: str, by: str, number: int) -> str:
    """The part of that number, from the end where it is negative; nothing where there is none.

    >>> split_part("a.b.c", ".", 2), split_part("a.b.c", ".", -1), split_part("a", ".", 3)
    ('b', 'c', '')
    """
    if number == 0:
        raise ValueError("parts are counted from 1")
    parts = text.split(by) if by else [text]
    at = number - 1 if number > 0 else len(parts) + number
    return parts[at] if 0 <= at < len(parts) else ""


def locate(part: str, text: str, start: int) -> int:
    """Where ``part`` stands in ``text`` from ``start`` on, counted from 1; 0 where it does not."""
    if start < 1:
        return 0
    return 1 if not part else text.find(part, start - 1) + 1


def first_code(text: str) -> int:
    """The code of the first sign; 0 of nothing."""
    return ord(text[0]) if text else 0


def sign_of(code: int) -> str:
    """The sign of the last eight bits of ``code``; nothing of a negative one."""
    return "" if code < 0 else chr(code & 255)


def capitalized(text: str) -> str:
    """Every word, by the spaces between them, with a capital and small letters."""
    return " ".join(word[:1].title() + word[1:] for word in text.lower().split(" "))


def padded_left(text: str, length: int, pad: str) -> str:
    """``length`` signs, filled up at the left, or cut."""
    return _padding(text, length, pad) + text[: max(0, length)]


def padded_right(text: str, length: int, pad: str) -> str:
    """``length`` signs, filled up at the right, or cut."""
    return text[: max(0, length)] + _padding(text, length, pad)


def _padding(text: str, length: int, pad: str) -> str:
    missing = length - len(text)
    if length > 1 << 20:
        raise ValueError(f"{length} signs are too many")
    return (pad * missing)[:missing] if pad and missing > 0 else ""


def repeated(text: str, times: int) -> str:
    """``text`` so many times."""
    if len(text) * times > 1 << 20:
        raise ValueError(f"a text of {len(text) * times} signs is too long")
    return text * max(0, times)


def translated(text: str, signs: str, others: str) -> str:
    """Every one of ``signs`` in ``text`` as that of ``others`` at its place; those without one are left out."""
    table: dict[int, str] = {}
    for i, sign in enumerate(signs):
        table.setdefault(ord(sign), others[i] if i < len(others) else "")
    return text.translate(table)


def before_sign(text: str, sign: str, count: int) -> str:
    """What stands before the ``count``-th ``sign``, or behind it, counted from the end, where that is negative.

    >>> before_sign("www.apache.org", ".", 2), before_sign("www.apache.org", ".", -2)
    ('www.apache', 'apache.org')
    """
    if not sign or not count:
        return ""
    if count > 0:
        at = -1
        for _ in range(min(count, len(text) + 1)):
            at = text.find(sign, at + 1)
            if at < 0:
                return text
        return text[:at]
    at = len(text) - len(sign) + 1
    for _ in range(min(-count, len(text) + 1)):
        at = text.rfind(sign, 0, max(0, at - 1 + len(sign)))
        if at < 0:
            return text
    return text[at + len(sign) :]


def distance(left: str, right: str) -> int:
    """How many signs must be changed, put in or left out (Levenshtein)."""
    row = list(range(len(right) + 1))
    for i, sign in enumerate(left, 1):
        last, row[0] = row[0], i
        for j, other in enumerate(right, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (sign != other))
    return row[-1]


def hexadecimal(value: int | str) -> str:
    """The bytes of a text, or the 64 bits of a number, by sixteens."""
    return value.encode().hex().upper() if isinstance(value, str) else f"{value & _MASK:X}"


def binary(value: int) -> str:
    """The 64 bits of a number, without leading zeros."""
    return f"{value & _MASK:b}"


def hashed(text: str, bits: int) -> str | None:
    """The hash of the SHA-2 family with so many bits; none of another number."""
    name = {0: "sha256", 224: "sha224", 256: "sha256", 384: "sha384", 512: "sha512"}.get(bits)
    return None if name is None else hashlib.new(name, text.encode()).hexdigest()


def place_in_set(text: str, words: str) -> int:
    """The place of ``text`` among words parted by commas, from 1; 0 where it is none of them."""
    found = words.split(",")
    return found.index(text) + 1 if "," not in text and text in found else 0


@lru_cache(1024)
def compiled(pattern: str) -> re.Pattern[str]:
    """``pattern``, one of ``standard.java_pattern``."""
    try:
        return re.compile(pattern, re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{pattern!r} is no pattern: {error}") from None


@lru_cache(1024)
def template(text: str) -> str:
    r"""What Java puts in the place of a match, as Python writes it: ``$1`` is a group, a ``\`` takes a sign as it is.

    >>> print(template("<$1>"))
    <\g<1>>
    """
    parts = re.findall(r"\\.|\$[0-9]|[^\\$]", text, re.DOTALL)
    if "".join(parts) != text:
        raise ValueError(f"{text!r} puts nothing in the place of a match: a $ stands before a number")
    return "".join(rf"\g<{part[1]}>" if part[0] == "$" else part[-1].replace("\\", r"\\") for part in parts)


def replaced(text: str, pattern: str, by: str) -> str:
    """``text`` with ``by`` for every match of ``pattern``."""
    try:
        return compiled(pattern).sub(template(by), text)
    except (re.error, IndexError) as error:
        raise ValueError(f"{by!r} names no group of {pattern!r}: {error}") from None


def extracted(text: str, pattern: str, group: int) -> str:
    """The group of the first match; nothing where there is none."""
    found = compiled(pattern)
    if not 0 <= group <= found.groups:
        raise ValueError(f"{pattern!r} has no group {group}")
    match = found.search(text)
    return (match[group] or "") if match else ""


def matches_in(text: str, pattern: str) -> int:
    """How many matches there are."""
    return sum(1 for _ in compiled(pattern).finditer(text))


def first_match(text: str, pattern: str) -> str | None:
    """The first match, if there is one and it is not empty."""
    found = compiled(pattern).search(text)
    return (found[0] or None) if found else None


def place_of_match(text: str, pattern: str) -> int:
    """Where the first match begins, from 1; 0 where there is none."""
    found = compiled(pattern).search(text)
    return found.start() + 1 if found else 0


_BYTES = "CAST({0} AS BINARY)"

TEXTS: tuple[LibraryEntry, ...] = (
    entry("split_part", "str str int32", "str", split_part, holds="{2} <> 0", decides=(2,)),
    entry("locate", "str str int32", "int", locate, "CASE WHEN {2} < 1 THEN 0 ELSE locate({0}, {1}, {2}) END",
          defaults=(1,)),
    entry("sortable", "int", "str", sortable,
          "CASE WHEN {0} >= 0 THEN"
          " concat('1', lpad(CAST(length(CAST({0} AS STRING)) AS STRING), 4, '0'), CAST({0} AS STRING))"
          " ELSE concat('0', CAST(10000 - length(CAST({0} AS STRING)) AS STRING),"
          " translate(substr(CAST({0} AS STRING), 2), '0123456789', '9876543210')) END"),
    entry("ascii", "str", "int", first_code),
    entry("chr", "int", "str", sign_of),
    entry("initcap", "str", "str", capitalized),
    entry("reverse", "str", "str", lambda text: text[::-1]),
    entry("repeat", "str int32", "str", repeated, holds="length({0}) * CAST({1} AS BIGINT) <= 1048576"),
    entry("space", "int32", "str", lambda times: repeated(" ", times), holds="{0} <= 1048576"),
    entry("lpad", "str int32 str", "str", padded_left, defaults=(" ",), holds="{1} <= 1048576", decides=(1,)),
    entry("rpad", "str int32 str", "str", padded_right, defaults=(" ",), holds="{1} <= 1048576", decides=(1,)),
    entry("translate", "str str str", "str", translated),
    entry("substring_index", "str str int32", "str", before_sign),
    entry("levenshtein", "str str", "int", distance),
    entry("hex", "int|str", "str", hexadecimal),
    entry("bin", "int", "str", binary),
    entry("md5", "str", "str", lambda text: hashlib.md5(text.encode(), usedforsecurity=False).hexdigest(),
          f"md5({_BYTES})"),
    entry("sha1", "str", "str", lambda text: hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest(),
          f"sha1({_BYTES})"),
    entry("sha2", "str int32", "str?", hashed, f"sha2({_BYTES}, {{1}})"),
    entry("crc32", "str", "int", lambda text: zlib.crc32(text.encode()), f"crc32({_BYTES})"),
    entry("base64", "str", "str", lambda text: base64.b64encode(text.encode()).decode(), f"base64({_BYTES})"),
    entry("to_bytes", "str", "bytes", lambda text: text.encode(), _BYTES),
    entry("from_bytes", "bytes", "str", lambda data: data.decode(), "CAST({0} AS STRING)", partial=True,
          holds="is_valid_utf8(CAST({0} AS STRING))"),
    entry("bit_length", "str", "int", lambda text: 8 * len(text.encode())),
    entry("octet_length", "str", "int", lambda text: len(text.encode())),
    entry("find_in_set", "str str", "int", place_in_set),
    entry("regexp_replace", "str str str", "str", replaced, fixed=(1, 2), partial=True),
    entry("regexp_extract", "str str int32", "str", extracted, defaults=(1,), fixed=(1, 2), partial=True),
    entry("regexp_count", "str str", "int", matches_in, fixed=(1,), partial=True),
    entry("regexp_substr", "str str", "str?", first_match, fixed=(1,), partial=True),
    entry("regexp_instr", "str str", "int", place_of_match, fixed=(1,), partial=True),
)  # fmt: skip
