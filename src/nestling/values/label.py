"""Labels: names of inner bags.

A label is a site and an environment. The site says which definition the label has: the number of a
singleton construct in a query, or the path of a nested column in a relation. The environment holds the
values the definition depends on: for a query the scalars it captures, for an input the enclosing keys
or a surrogate.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Label(NamedTuple):
    """``⟨site, environment⟩``; equal labels name the same bag.

    A named tuple because labels are keys of every dictionary: a tuple hashes and compares in C.
    """

    site: int | str
    environment: tuple[Any, ...] = ()

    def __repr__(self) -> str:
        inner = ", ".join(map(repr, self.environment))
        return f"⟨{self.site}{', ' if inner else ''}{inner}⟩"
