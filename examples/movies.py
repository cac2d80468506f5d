"""Each movie with the movies of its genre or its director, kept fresh.

Run it with ``python examples/movies.py``, or let Nestling feed it from files:
``nestling run examples/movies.py --changes examples/data/movies --out out``.
"""

import json
from pathlib import Path

import nestling as nl

db = nl.Database()
M = db.table("M", {"name": str, "gen": str, "dir": str}, key="name")


def is_related(m, m2):
    return m.name != m2.name and (m.gen == m2.gen or m.dir == m2.dir)


@db.view
def related(M):
    return [(m.name, [m2.name for m2 in M if is_related(m, m2)]) for m in M]


@db.view
def directors(M):
    return [(d, sum(1 for m in M if m.dir == d)) for d in {m.dir for m in M}]


def show(title):
    print(title)
    for name, others in sorted(related):
        print(f"  {name:16} {', '.join(others) or '—'}")


def main():
    data = Path(__file__).parent / "data" / "movies" / "M.jsonl"
    db.insert("M", [json.loads(line) for line in data.read_text(encoding="utf-8").splitlines()])
    show("related")

    db.insert("M", [{"name": "Jarhead", "gen": "Drama", "dir": "Mendes"}])
    show("\nJarhead arrives")

    db.update("M", key="Drive", set={"gen": "Crime"})
    show("\nDrive becomes a crime film")

    print("\nmovies by director:", dict(sorted(directors)))
    db.verify()


if __name__ == "__main__":
    main()
