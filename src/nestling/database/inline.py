"""Views over views: the inner view's query in the place of its name.

Law: a view over a view has the value that it would have over a table with the inner view's rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nestling.calculus.terms import Expr, Relation
from nestling.calculus.traverse import map_children
from nestling.database.definitions import ViewDef
from nestling.transform.normalize import normalize


def inline_views(query: Expr, views: Mapping[str, ViewDef]) -> Expr:
    """``query`` over tables alone; binders are renamed apart, since a view may be used twice."""

    def replaced(node: Any) -> Any:
        if isinstance(node, Relation) and node.name in views:
            return views[node.name].query
        return map_children(node, replaced)

    return normalize(replaced(query))
