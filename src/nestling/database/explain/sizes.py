"""Sizes and numbers as people say them."""

from __future__ import annotations


def size_text(size: float) -> str:
    """Bytes as people say them.

    >>> size_text(900), size_text(12_345), size_text(3_400_000)
    ('900 B', '12.3 kB', '3.4 MB')
    """
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} GB"


def number_text(number: float) -> str:
    """A number of which three digits matter.

    >>> number_text(0.5), number_text(58.87), number_text(12345.6)
    ('0.5', '58.9', '12,346')
    """
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"
