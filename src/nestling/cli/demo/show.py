"""How the demonstration shows views, changes and code."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console, RenderableType
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from nestling.cli.demo.measure import MeasuredChange
from nestling.cli.terminal import duration, ratio
from nestling.database.change import Change, InnerChange
from nestling.database.view import View

SHOWN = 6  # changed bags of one change


def heading(console: Console, number: int, title: str) -> None:
    """The title of a chapter."""
    console.print()
    console.rule(f"[bold]{number}  {title}", align="left", style="dim")


def code(text: str) -> RenderableType:
    """Python text."""
    return Panel(Syntax(text, "python", theme="ansi_dark", background_color="default"), border_style="dim")


def related_table(view: View, change: Change, title: str) -> Table:
    """The nested view, with what came and went since the step before."""
    table = Table(title=title, title_justify="left", title_style="")
    for column in ("movie", "related", "change"):
        table.add_column(column)
    news = {inner.key[0]: _difference(inner) for inner in change.inner}
    news |= {row[0]: Text("new row", "green") for row in change.inserted}
    for name, related in sorted(view.rows()):
        table.add_row(name, ", ".join(related) or "—", news.get(name, ""))
    for row in change.deleted:
        if row[0] not in news:
            table.add_row(Text(row[0], "dim strike"), "", Text("row is gone", "red"))
    return table


def _difference(inner: InnerChange) -> Text:
    parts = [(f"+ {element}", "green") for element in inner.inserted]
    parts += [(f"− {element}", "red") for element in inner.deleted]
    return Text("  ").join(Text(text, style) for text, style in parts)


def change_tree(change: Change, title: str) -> Tree:
    """What a subscriber is told, as it lies in the nested view."""
    tree = Tree(title, guide_style="dim")
    for sign, style, rows in (("−", "red", change.deleted), ("+", "green", change.inserted)):
        for row in rows:
            tree.add(Text(f"{sign} {_brief(row)}", style))
    for inner in change.inner[:SHOWN]:
        branch = tree.add(_path(inner))
        for sign, style, elements in (("−", "red", inner.deleted), ("+", "green", inner.inserted)):
            for element in elements:
                branch.add(Text(f"{sign} {_brief(element)}", style))
    if len(change.inner) > SHOWN:
        tree.add(Text(f"and {len(change.inner) - SHOWN} more", "dim"))
    return tree


def _path(inner: InnerChange) -> str:
    """The way to the bag: the row, then each field with the element it leads through."""
    elements = [f" {value}" for value in inner.within] + [""] * len(inner.path)
    steps = [f"{name}{element}" for name, element in zip(inner.path, elements, strict=False)]
    return " › ".join([", ".join(map(str, inner.key)), *steps])


def _brief(value: object) -> str:
    """A record as ``name=value``, inner bags by their size.

    >>> from nestling.frontend.schema.read import row_class
    >>> _brief(row_class(("id", "items"))(7, [1, 2]))
    'id=7, items=[2]'
    """
    if not isinstance(value, tuple):
        return str(value)
    names: Sequence[str] = getattr(value, "_fields", ())
    parts = zip(names, value, strict=True)
    return ", ".join(f"{n}=[{len(v)}]" if isinstance(v, list) else f"{n}={v}" for n, v in parts)


def steps_table(steps: Sequence[MeasuredChange]) -> Table:
    """Every step with its cost beside the recomputations."""
    table = Table(title="What each step took", title_justify="left", title_style="bold")
    table.add_column("step", justify="right")
    table.add_column("what changed")
    for column in ("change", "recomputed", "ratio", "in Python", "ratio"):
        table.add_column(column, justify="right", no_wrap=True)
    for number, step in enumerate(steps, 1):
        table.add_row(
            str(number), step.what, duration(step.change),
            duration(step.reference), ratio(step.reference, step.change),
            duration(step.python), ratio(step.python, step.change),
            end_section=number < len(steps) and steps[number].view != step.view,
        )  # fmt: skip
    return table
