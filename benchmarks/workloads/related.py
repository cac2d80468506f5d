"""The movies related to each movie, by genre or director: the example of Koch, Lupei and Tannen (2016).

``n`` movies are live. The twelve genres follow Zipf's law, so the largest holds a third of all movies; there
is a director for every five movies. After loading, movies come and go at random.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from typing import Any, ClassVar

from . import workload
from .workload import Event, Row, Tables, Trigger, group, grows, run, take

SCHEMA: workload.Schema = {"M": {"name": str, "gen": str, "dir": str}}
KEYS: workload.Keys = {"M": "name"}


def is_related(m, m2):
    """Another movie of the same genre or director."""
    return m.name != m2.name and (m.gen == m2.gen or m.dir == m2.dir)


def related(M):
    """For each movie the names of the movies related to it."""
    return [(m.name, [m2.name for m2 in M if is_related(m, m2)]) for m in M]


VIEWS: dict[str, workload.View] = {"related": related}


GENRES = (
    *("Drama", "Comedy", "Action", "Horror", "Thriller", "Adventure"),
    *("Romance", "Musical", "Western", "Documentary", "Concert", "Noir"),
)
WEIGHTS = tuple(accumulate(1 / rank for rank in range(1, len(GENRES) + 1)))
FILMS = 5  # of a director, on average


@dataclass(frozen=True)
class Size:
    """How many movies are live, and how many changes follow."""

    n: int = 10_000
    changes: int = 100_000
    seed: int = 1


def load(size: Size) -> Iterator[Event]:
    """The first ``n`` movies."""
    for movie in _first(size, Random(size.seed)):
        yield "M", movie, +1


def events(size: Size) -> Iterator[Event]:
    """New movies and, as often, the end of a random one."""
    rng = Random(size.seed)
    live = _first(size, rng)
    for number in range(size.n, size.n + size.changes):
        if grows(rng, len(live), size.n):
            live.append(_movie(rng, number, size.n))
            yield "M", live[-1], +1
        else:
            yield "M", take(rng, live), -1


def _first(size: Size, rng: Random) -> list[Row]:
    return [_movie(rng, number, size.n) for number in range(size.n)]


def _movie(rng: Random, number: int, n: int) -> Row:
    (genre,) = rng.choices(GENRES, cum_weights=WEIGHTS)
    return (f"movie {number}", genre, f"director {rng.randrange(max(1, n // FILMS))}")


class Related:
    """Factorised by the two halves of the condition: names by genre and names by director.

    A change touches one entry of each dictionary, however many inner bags it changes; an inner bag is put
    together when it is read. Relies on the key: names are distinct, so sets do.
    """

    __slots__ = ("directors", "genres", "movies", "on")

    def __init__(self) -> None:
        self.movies: dict[str, Row] = {}
        self.genres: dict[str, set[str]] = {}
        self.directors: dict[str, set[str]] = {}
        self.on: dict[str, Trigger] = {"M": self.movie}

    def movie(self, row: Row, sign: int) -> None:
        if sign > 0:
            self._insert(row)
        else:
            self._delete(row)

    def _insert(self, row: Row) -> None:
        name, gen, dir_ = row
        self.movies[name] = row
        names = self.genres.get(gen)
        if names is None:
            self.genres[gen] = {name}
        else:
            names.add(name)
        names = self.directors.get(dir_)
        if names is None:
            self.directors[dir_] = {name}
        else:
            names.add(name)

    def _delete(self, row: Row) -> None:
        name, gen, dir_ = row
        del self.movies[name]
        names = self.genres[gen]
        names.remove(name)
        if not names:
            del self.genres[gen]
        names = self.directors[dir_]
        names.remove(name)
        if not names:
            del self.directors[dir_]

    def inner(self, row: Row) -> list[str]:
        """The names related to one movie: the read of one key."""
        name, gen, dir_ = row
        names = list(self.genres[gen] | self.directors[dir_])
        names.remove(name)
        return names

    def result(self) -> list[Any]:
        return [(name, self.inner(row)) for name, row in self.movies.items()]


class RelatedAsBag:
    """The same for any bag, also without a key: names with their number, by genre, by director, and by both.

    The inner bag of a movie is *genre* ⊎ *director* ⊖ *both*, without the movie itself.
    """

    __slots__ = ("both", "directors", "genres", "movies", "on")

    def __init__(self) -> None:
        self.movies: dict[Row, int] = {}
        self.genres: dict[str, dict[str, int]] = {}
        self.directors: dict[str, dict[str, int]] = {}
        self.both: dict[tuple[str, str], dict[str, int]] = {}
        self.on: dict[str, Trigger] = {"M": self.movie}

    def movie(self, row: Row, sign: int) -> None:
        name, gen, dir_ = row
        times = self.movies.get(row, 0) + sign
        if times:
            self.movies[row] = times
        else:
            del self.movies[row]
        _add(self.genres, gen, name, sign)
        _add(self.directors, dir_, name, sign)
        _add(self.both, (gen, dir_), name, sign)

    def inner(self, row: Row) -> list[str]:
        """The names related to one movie: the read of one key."""
        name, gen, dir_ = row
        both = self.both[gen, dir_]
        names = [other for other, times in self.genres[gen].items() if other != name for _ in range(times)]
        for other, times in self.directors[dir_].items():
            if other != name and (more := times - both.get(other, 0)):
                names += [other] * more
        return names

    def result(self) -> list[Any]:
        return [(row[0], self.inner(row)) for row, times in self.movies.items() for _ in range(times)]


def _add(bags: dict[Any, dict[str, int]], label: Any, element: str, times: int) -> None:
    bag = bags.get(label)
    if bag is None:
        bags[label] = {element: times}
        return
    total = bag.get(element, 0) + times
    if total:
        bag[element] = total
    else:
        del bag[element]
        if not bag:
            del bags[label]


class HandWritten(workload.HandWritten):
    """The factorised view."""

    PARTS: ClassVar = {"related": Related}


VARIANTS: dict[str, dict[str, Any]] = {"related": {"as bag": RelatedAsBag}}


def recompute_related(M):
    """``related`` with the candidates of each movie from two hash indexes, instead of all pairs."""
    genres, directors = group(M, "gen"), group(M, "dir")
    return [
        (
            m.name,
            [m2.name for m2 in genres[m.gen] if m2.name != m.name]
            + [m2.name for m2 in directors[m.dir] if m2.name != m.name and m2.gen != m.gen],
        )
        for m in M
    ]


RECOMPUTE: dict[str, workload.View] = {"related": recompute_related}


def recompute(tables: Tables) -> dict[str, list[Any]]:
    """All views from scratch."""
    return {view: run(compute, tables) for view, compute in RECOMPUTE.items()}
