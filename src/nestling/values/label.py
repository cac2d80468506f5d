"""Labels: names of inner bags.

A label is a site and an environment. The site says which definition the label has: the number of a
singleton construct in a query, or the path of a nested column in a relation. The environment holds the
values the definition depends on: for a query the scalars it captures, for an input the enclosing keys
or a surrogate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Label:
    """``⟨site, environment⟩``; equal labels name the same bag."""

    site: int | str
    environment: tuple[Any, ...] = ()

    def __repr__(self) -> str:
        inner = ", ".join(map(repr, self.environment))
        return f"⟨{self.site}{', ' if inner else ''}{inner}⟩"
