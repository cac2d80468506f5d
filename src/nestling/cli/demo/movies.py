"""The first part: movies arrive and leave, and ``related`` stays fresh."""

from __future__ import annotations

from itertools import count
from typing import Any

from rich.console import Console

from nestling.cli.demo.films import CATALOGUE, FIRST, JARHEAD
from nestling.cli.demo.growth import Growth
from nestling.cli.demo.measure import MeasuredChange, MeasuredView
from nestling.cli.demo.show import code, heading, related_table
from nestling.cli.terminal import counted, progress
from nestling.database import Database

TEXT = """\
db.table("M", {"name": str, "gen": str, "dir": str}, key="name")

def is_related(m, m2):
    return m.name != m2.name and (m.gen == m2.gen or m.dir == m2.dir)

@db.view
def related(M):
    return [(m.name, [m2.name for m2 in M if is_related(m, m2)]) for m in M]"""


def is_related(m: Any, m2: Any) -> Any:
    return m.name != m2.name and (m.gen == m2.gen or m.dir == m2.dir)


def related(M: Any) -> Any:
    """Each movie with those of its genre or its director."""
    return [(m.name, [m2.name for m2 in M if is_related(m, m2)]) for m in M]


def movies(console: Console) -> list[MeasuredChange]:
    """Show the small table change by change, then the steps on the catalogue."""
    heading(console, 1, "Movies: a nested view stays fresh")
    console.print("Each movie with the movies of its genre or its director, as a Python comprehension:")
    console.print(code(TEXT))
    db = _database()
    stage = MeasuredView(db, db.views["related"], related, ("M",))
    _small(console, stage)
    _catalogue(console, stage)
    _trigger(console)
    return stage.steps


def _database() -> Database:
    db = Database()
    db.table("M", {"name": str, "gen": str, "dir": str}, key="name")
    db.view("related", related)
    return db


def _small(console: Console, stage: MeasuredView) -> None:
    db = stage.database
    db.insert("M", FIRST)
    console.print(related_table(stage.view, stage.heard[-1], "three movies"))
    db.insert("M", [JARHEAD])
    console.print(related_table(stage.view, stage.heard[-1], "Jarhead arrives: a drama by Mendes"))
    db.delete("M", key="Rush")
    console.print(related_table(stage.view, stage.heard[-1], "Rush leaves"))
    console.print("The last column is what a subscriber is told: elements, not whole rows.")


def _catalogue(console: Console, stage: MeasuredView) -> None:
    db = stage.database
    with progress("loading films", len(CATALOGUE)) as advance:
        for film in CATALOGUE:
            db.insert("M", [film])
            advance(1)
    console.print(f"\nNow with a catalogue of {len(db.table('M'))} films. Four changes, each of them timed:")
    rush = [film for film in FIRST if film[0] == "Rush"]
    changes = (
        ("Rush is back", lambda: db.insert("M", rush)),
        ("Drive becomes a crime film", lambda: db.update("M", key="Drive", set={"gen": "Crime"})),
        ("Jarhead leaves", lambda: db.delete("M", key="Jarhead")),
        ("all westerns leave", lambda: db.delete("M", where=lambda m: bool(m.gen == "Western"))),
    )
    for what, action in changes:
        told = stage.step(what, action)
        rows, lists = len(told.inserted) + len(told.deleted), len(told.inner)
        console.print(f"  • {what}: {counted(rows, 'row')} and {counted(lists, 'inner list')} changed")


def _trigger(console: Console) -> None:
    console.print(
        "\nThis is the code that Nestling generated for one movie that comes or goes. It has no loop:"
    )
    functions = _database()._state.described("related").functions("related", ["M"])
    console.print(code(dict(functions)["on_M"]))
    console.print(
        "So its cost does not depend on how many movies there are. The inner lists are put together from "
        "these indexes when they are read; with a subscriber, the trigger also visits the lists that change."
    )


def growing() -> Growth:
    """Ever more movies; one comes, its row is read, and it goes again."""
    db = _database()
    view = db.views["related"]

    def change() -> None:
        db.insert("M", [("one more", "genre 1", "director 1")])
        view["one more"]
        db.delete("M", key="one more")

    rows = ((f"movie {n}", f"genre {n % 12}", f"director {n % 97}") for n in count())
    what = "a movie comes, its row is read, it goes"
    return Growth(db, related, ("M",), "M", rows, (100, 500, 2_000), change, what)
