"""ORDER BY and LIMIT: a view is a bag, and a bag has no order."""

from __future__ import annotations

from typing import Any

from nestling.frontend.sql.context import Env


def refuse_order(node: Any, env: Env) -> None:
    """Refuse what orders or cuts the rows of a query."""
    for key in ("offset", "limit"):
        if node.args.get(key) is not None:
            raise env.error(
                node.args[key],
                f"{key.upper()} is not supported yet",
                "keep all rows, or take min(…) or max(…)",
            )
    if node.args.get("order") is not None:
        raise env.error(
            node.args["order"],
            "a view has no order: ORDER BY says nothing",
            "drop it, and sort what you read",
        )
