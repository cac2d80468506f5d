"""How recursions are defined, with the views that read them, and forgotten with the last of these.

A recursion has a name of ours, after that in the text. A view that says the same reads the one that is there. It is
stored by itself before the view is, and what nobody reads is swept away: after a definition, and after one that failed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from typing import Any

from nestling.calculus.fixpoint import Fixpoint
from nestling.calculus.terms import Expr, Relation
from nestling.calculus.traverse import map_children, relations
from nestling.database.definer import Definer
from nestling.database.definitions import ViewDef
from nestling.database.inline import inline_views
from nestling.database.recursion import RECURSION, check_steady, recursion, recursions_of
from nestling.database.row_state import RowState
from nestling.database.state import State
from nestling.errors import QueryError
from nestling.frontend.view_query import ViewQuery
from nestling.transform.normalize import normalize

ON_SPARK = "maintain it embedded, nl.Database(path); on Spark write the steps out as views over views"


class Recursing(Definer):
    """A database whose views may read themselves."""

    @contextmanager
    def _sweeping(self) -> Iterator[None]:
        """A block in which definitions change; recursions that nobody reads afterwards are forgotten."""
        try:
            yield
        finally:
            if isinstance(self._state, RowState) and self._state.recursions:
                self._sweep()

    def _recurring(self, found: ViewQuery) -> ViewQuery:
        """``found`` over recursions that are there; those that were not, are defined."""
        if not found.fixpoints:
            return found
        if not isinstance(self._state, RowState):
            text = found.fixpoints[0].name.removeprefix(RECURSION)
            raise QueryError(f"the recursion {text} is not maintained on Spark", hint=ON_SPARK)
        names: dict[str, Fixpoint] = {}
        for fixpoint in found.fixpoints:
            query = _over(fixpoint.query, names)
            read = relations(query) & self._state.definitions.keys()
            query = inline_views(query, self._state.definitions)
            known = self._known(replace(fixpoint, query=query, reads_views=read))
            names[fixpoint.name] = known
            if known.name not in self._state.recursions:
                self._define_recursion(known)
        return replace(found, expr=_over(found.expr, names), fixpoints=())

    def _check_steady(self, view: ViewDef, strict: bool | None) -> None:
        """Refuse with ``strict=True`` a recursion that some change computes anew."""
        if strict and isinstance(self._state, RowState):
            check_steady(self._state.recursions, view.name, relations(view.query))

    def _known(self, fixpoint: Fixpoint) -> Fixpoint:
        """The same under its own name: that of one that says the same, or one that is free."""
        taken, text = self._state.recursions, fixpoint.name.removeprefix(RECURSION).partition(" ")[0]
        for number in count():
            name = f"{RECURSION}{text}{f' {number + 1}' if number else ''}"
            own = replace(
                fixpoint,
                name=name,
                query=_over(fixpoint.query, {fixpoint.name: replace(fixpoint, name=name)}),
            )
            own = replace(own, query=normalize(own.query))
            if name not in taken or taken[name].fixpoint == own:
                return own
        raise AssertionError

    def _define_recursion(self, fixpoint: Fixpoint) -> None:
        state = self._state
        made = recursion(fixpoint, state.tables, state.engines)
        rows = made.start(state.engine.table)

        def define() -> None:
            state.add_table(made.table)
            state.recursions = {**state.recursions, made.name: made}
            state.engine.load_table(made.name, rows)

        self._redefine(define, lambda file: file.redefine([("recursion", fixpoint)], [], state))

    def _sweep(self) -> None:
        state = self._state
        read = {name for view in state.definitions.values() for name in relations(view.query)}
        kept = {each.name for each in recursions_of(state.recursions, read)}
        gone = [name for name in state.recursions if name not in kept]
        if not gone:
            return

        def forget() -> None:
            state.recursions = {name: each for name, each in state.recursions.items() if name in kept}
            for name in gone:
                state.drop_table(name)

        self._redefine(forget, lambda file: file.redefine([], [("recursion", name) for name in gone], state))


def check_unread(state: State, name: str, what: str) -> None:
    """Refuse to change a table or a view that a recursion reads."""
    for each in getattr(state, "recursions", {}).values():
        if name in each.fixpoint.reads or name in each.fixpoint.reads_views:
            readers = [
                view.name
                for view in state.definitions.values()
                if each in recursions_of(state.recursions, relations(view.query))  # type: ignore[attr-defined]
            ]
            raise QueryError(
                f"{name} is read by the recursion {each.text} of {', '.join(readers)}, and cannot be {what}",
                hint="drop these first, and define them again",
            )


def _over(expr: Expr, names: dict[str, Fixpoint]) -> Any:
    """``expr`` over the fixpoints under their own names."""

    def replaced(node: Any) -> Any:
        if isinstance(node, Relation) and node.name in names:
            return names[node.name].relation
        return map_children(node, replaced)

    return replaced(expr)
