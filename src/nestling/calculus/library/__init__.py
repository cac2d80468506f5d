"""The functions of SQL that need no thought of their own: one entry for each, in one table.

An entry says what a function takes and gives, what it means in Python, and how Spark's SQL computes it. From it come
the function of the calculus, that of the SQL front end and the text on Spark; tests compare both meanings on a grid.
"""

from __future__ import annotations

from nestling.calculus.library.clocks import CLOCKS
from nestling.calculus.library.documents import DOCUMENTS
from nestling.calculus.library.entry import LEAST, MOST, LibraryEntry
from nestling.calculus.library.moments import MOMENTS
from nestling.calculus.library.numbers import NUMBERS
from nestling.calculus.library.series import SERIES
from nestling.calculus.library.texts import TEXTS
from nestling.calculus.library.variants import VARIANTS

LIBRARY: dict[str, LibraryEntry] = {
    found.name: found for found in (*TEXTS, *NUMBERS, *MOMENTS, *CLOCKS, *DOCUMENTS, *VARIANTS, *SERIES)
}

__all__ = ["LEAST", "LIBRARY", "MOST", "LibraryEntry"]
