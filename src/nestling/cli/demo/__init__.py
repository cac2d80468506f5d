"""``nestling demo``: a guided run on real-looking data, every change beside a recomputation of its view."""

from __future__ import annotations

from rich.table import Table

from nestling.cli.demo.growth import CHANGES, growth_table
from nestling.cli.demo.movies import growing as growing_movies
from nestling.cli.demo.movies import movies
from nestling.cli.demo.shop import growing as growing_shop
from nestling.cli.demo.shop import shop
from nestling.cli.demo.show import heading, steps_table
from nestling.cli.terminal import answers

EXPLANATION = (
    ("change", "from the call until the subscriber has what changed in the view"),
    (
        "recomputed",
        "the whole view anew by the reference evaluator, which is slow and obvious on purpose; its answer "
        "was compared with the view after every step",
    ),
    ("in Python", "the same function, run by Python on lists of the rows"),
)


def demo() -> None:
    """Show movies, then a shop, then what everything took."""
    console = answers()
    console.print("[bold]Nestling[/]: views of nested data that stay fresh while their tables change.")
    steps = [*movies(console), *shop(console)]
    heading(console, 3, "The cost of a change")
    console.print(steps_table(steps))
    console.print(growth_table([growing_movies(), growing_shop()]))
    console.print(_explanation())
    console.print(
        "\nCPU time, all of it measured in this run: the steps once each, in the second table the median of "
        f"{CHANGES} changes. A recomputation grows with the tables, a change with what it changes.\n"
        "\nNext: [bold]nestling explain[/] shows how a view is kept, and README.md is a tour of the library."
    )


def _explanation() -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for name, text in EXPLANATION:
        table.add_row(f"[bold]{name}", text)
    return table
