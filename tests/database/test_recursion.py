"""Views that read themselves: whatever happens to their tables, they are the least fixpoint of their query."""

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nestling as nl
from nestling.database import native
from nestling.database.bulk import EMBEDDED
from nestling.database.recursion import Recursion
from nestling.errors import ChangeError, ConstraintError, NestlingError, QueryError
from nestling.values.bag import EMPTY, ZBag

Edge = tuple[int | None, int | None]
Graph = Counter[Edge]

CLOSURE = "WITH RECURSIVE t(a, b) AS (SELECT a, b FROM e UNION SELECT t.a, e.b FROM t JOIN e ON t.b = e.a) "
REACHED = "WITH RECURSIVE t(x) AS (SELECT x FROM r UNION SELECT e.b FROM t JOIN e ON t.x = e.a WHERE e.b IS NOT NULL) "
DEEP = (
    "WITH RECURSIVE t(x, d) AS (SELECT x, 0 FROM r UNION ALL"
    " SELECT e.b, t.d + 1 FROM t JOIN e ON t.x = e.a WHERE t.d < 3) "
)
BLOCKED = (
    "WITH RECURSIVE t(x) AS (SELECT x FROM r UNION SELECT e.b FROM t JOIN e ON t.x = e.a"
    " WHERE NOT EXISTS (SELECT 1 FROM r q WHERE q.x = e.b AND q.x > 2)) "
)
TWICE = (
    "WITH RECURSIVE t(x) AS (SELECT x FROM r UNION SELECT e.b FROM t, e WHERE t.x = e.a"
    " UNION SELECT e.a FROM t, e WHERE t.x = e.b) "
)
PATHS = (
    "WITH RECURSIVE t(x, p) AS (SELECT x, CAST(x AS STRING) FROM r UNION"
    " SELECT e.b, t.p || '/' || CAST(e.b AS STRING) FROM t JOIN e ON t.x = e.a"
    " WHERE length(t.p) < 6 AND e.b IS NOT NULL) "
)


# -- what they mean, in Python


def closure(e: Graph, r: list[int]) -> Counter[Any]:
    return Counter(
        set(_until(set(e), lambda t: {(a, d) for a, b in t for c, d in e if b is not None and b == c}))
    )


def reached(e: Graph, r: list[int]) -> Counter[Any]:
    return Counter(
        _until({(x,) for x in r}, lambda t: {(b,) for (x,) in t for a, b in e if a == x and b is not None})
    )


def blocked(e: Graph, r: list[int]) -> Counter[Any]:
    shut = {x for x in r if x > 2}
    ways = {(a, b) for a, b in e if a is not None and b not in shut}
    return Counter(_until({(x,) for x in r}, lambda t: {(b,) for (x,) in t for a, b in ways if a == x}))


def both_ways(e: Graph, r: list[int]) -> Counter[Any]:
    pairs = {*e, *((b, a) for a, b in e)}
    return Counter(
        _until(
            {(x,) for x in r}, lambda t: {(b,) for (x,) in t for a, b in pairs if x is not None and a == x}
        )
    )


def paths(e: Graph, r: list[int]) -> Counter[Any]:
    def step(t: set[Any]) -> set[Any]:
        return {(b, f"{p}/{b}") for x, p in t if len(p) < 6 for a, b in e if a == x and b is not None}

    return Counter(_until({(x, str(x)) for x in r}, step))


def deep(e: Graph, r: list[int]) -> Counter[Any]:
    found: Counter[Any] = Counter()
    level: Counter[Any] = Counter((x, 0) for x in r)
    while level:
        found += level
        after: Counter[Any] = Counter()
        for (x, d), times in level.items():
            for (a, b), more in e.items():
                if d < 3 and x is not None and a == x:
                    after[b, d + 1] += times * more
        level = after
    return found


def _until(found: set[Any], step: Callable[[set[Any]], set[Any]]) -> set[Any]:
    while not (new := step(found)) <= found:
        found = found | new
    return found


MEANINGS = {
    "closure": (CLOSURE, closure),
    "reached": (REACHED, reached),
    "deep": (DEEP, deep),
    "blocked": (BLOCKED, blocked),
    "both": (TWICE, both_ways),
    "paths": (PATHS, paths),
}
#: What is opened is in Python at first; ``graph`` says what comes then.
pytestmark = pytest.mark.in_python
ENGINES = [EMBEDDED, native.NATIVE] if native.available() else [EMBEDDED]


def bag(counts: Counter[Any]) -> ZBag:
    return ZBag(counts.items())


nodes = st.integers(0, 4)
edges = st.tuples(st.one_of(st.none(), nodes), st.one_of(st.none(), nodes))
steps = st.lists(st.tuples(st.sampled_from("+-u"), edges, edges), min_size=1, max_size=4)


def graph(engines: Any = EMBEDDED, path: Path | None = None) -> nl.Database:
    db = nl.Database(path)
    db._state.engines = engines
    db.table("e", "a INT NULL, b INT NULL")
    db.table("r", "x INT")
    return db


class Model:
    """A database and what it should hold."""

    def __init__(self, db: nl.Database) -> None:
        self.db, self.e, self.r = db, Counter[Edge](), list[int]()

    def change(self, actions: Iterable[tuple[str, Edge, Edge]]) -> None:
        with self.db.transaction() as t:
            for what, one, other in actions:
                if what == "+":
                    t.insert("e", [one])
                    self.e[one] += 1
                elif self.e[one] > 0:
                    t.delete("e", [one])
                    self.e[one] -= 1
                    if what == "u":
                        t.insert("e", [other])
                        self.e[other] += 1
        self.e = +self.e

    def roots(self, roots: list[int]) -> None:
        self.db.sync("r", [(x,) for x in roots])
        self.r = roots


@pytest.mark.parametrize("engines", ENGINES, ids=lambda e: "native" if e is not EMBEDDED else "python")
@given(
    name=st.sampled_from(sorted(MEANINGS)),
    refresh=st.sampled_from(("eager", "lazy", "hybrid")),
    store=st.sampled_from(("full", "auto", "counts", "none")),
    late=st.booleans(),
    script=st.lists(st.one_of(steps, st.lists(nodes, max_size=3)), max_size=6),
)
def test_it_is_the_least_fixpoint_after_every_change(
    engines: Any, name: str, refresh: str, store: str, late: bool, script: list[Any]
) -> None:
    text, meaning = MEANINGS[name]
    model = Model(graph(engines))
    db = model.db
    if late:
        model.roots([0, 1])
        model.change([("+", (0, 1), (0, 0)), ("+", (1, 0), (0, 0)), ("+", (1, 2), (0, 0))])
    view = db.view("v", text + "SELECT * FROM t", refresh=refresh, store=store)
    count = db.view("c", "SELECT count(*) AS n FROM v", refresh=refresh)
    told: list[Any] = []
    view.subscribe(told.append)
    known = view.bag()
    for part in script:
        if part and isinstance(part[0], tuple):
            model.change(part)
        else:
            model.roots(part)
        assert view.bag() == bag(meaning(model.e, model.r))
        assert list(count) == [(sum(meaning(model.e, model.r).values()),)]
        assert known + sum((change.rows for change in told), EMPTY) == view.bag()
    db.verify(maps=True)


@given(script=st.lists(steps, max_size=5))
def test_a_bag_counts_ways_where_there_is_no_cycle(script: list[Any]) -> None:
    db = graph()
    text = (
        "WITH RECURSIVE t(a, b) AS (SELECT a, b FROM e UNION ALL SELECT t.a, e.b FROM t JOIN e ON t.b = e.a) "
    )
    view = db.view("v", text + "SELECT * FROM t")
    e = Counter[Edge]()
    for part in script:
        for what, one, _ in part:
            before = view.bag()
            try:
                if what == "+":
                    db.insert("e", [one])
                    e[one] += 1
                elif e[one]:
                    db.delete("e", [one])
                    e[one] -= 1
            except ChangeError as error:
                assert _has_cycle(Counter({**e, one: 1}))
                assert "would not end" in str(error)
                assert view.bag() == before
            else:
                assert not _has_cycle(+e)
                assert view.bag() == bag(_ways(+e))
    db.verify(maps=True)


def _has_cycle(e: Graph) -> bool:
    return any(a == b and a is not None for a, b in closure(e, []))


def _ways(e: Graph) -> Counter[Any]:
    found, level = Counter[Any](), Counter(e)
    while level:
        found += level
        after: Counter[Any] = Counter()
        for (a, b), times in level.items():
            for (c, d), more in e.items():
                if b is not None and b == c:
                    after[a, d] += times * more
        level = after
    return found


# -- all or nothing


def filled(path: Path | None = None) -> nl.Database:
    db = graph(path=path)
    db.insert("r", [(0,)])
    db.insert("e", [(0, 1), (1, 2), (2, 0), (2, 3)])
    db.view("v", CLOSURE + "SELECT * FROM t")
    db.view("d", DEEP + "SELECT * FROM t", refresh="lazy")
    return db


def state_of(db: nl.Database) -> Any:
    return db.views["v"].bag(), db.views["d"].bag(), sorted(map(str, db.tables["e"])), db.version


@pytest.mark.parametrize("number", range(12))
@pytest.mark.parametrize("kind", [KeyboardInterrupt, MemoryError])
def test_what_cuts_it_off_leaves_everything_as_it_was(
    monkeypatch: pytest.MonkeyPatch, number: int, kind: type[BaseException]
) -> None:
    db = filled()
    db.insert("e", [(9, 9)])
    before = state_of(db)
    run, calls = Recursion._run, iter(range(100))

    def broken(self: Recursion, events: Any) -> None:
        if next(calls) == number:
            raise kind
        run(self, events)
        if next(calls) == number:
            raise kind

    with monkeypatch.context() as patch:
        patch.setattr(Recursion, "_run", broken)
        with pytest.raises(kind), db.transaction() as t:
            t.delete("e", [(1, 2)])
            t.insert("e", [(3, 4), (4, 0)])
            raise kind  # where the loop was shorter
    assert state_of(db) == before
    db.verify(maps=True)
    db.delete("e", [(1, 2)])
    db.insert("e", [(3, 4)])
    db.verify(maps=True)


def test_a_transaction_reads_its_own_changes_and_takes_them_back():
    db = filled()
    before = state_of(db)
    with pytest.raises(RuntimeError), db.transaction() as t:
        t.insert("e", [(3, 4)])
        assert (0, 4) in db.views["v"].bag()
        t.delete("e", [(2, 0)])
        assert (1, 1) not in db.views["v"].bag()
        assert db.views["d"].bag()[3, 3] == 1
        with pytest.raises(ChangeError):
            t.delete("e", [(77, 77)])
        raise RuntimeError
    assert state_of(db) == before
    with db.transaction() as t:
        t.insert("e", [(3, 4)])
        assert (0, 4) in db.views["v"].bag()
        t.delete("e", [(2, 0)])
    assert (1, 1) not in db.views["v"].bag()
    db.verify(maps=True)


def test_a_refused_change_is_undone_here_too():
    db = filled()
    db.constraint("no_loop", CLOSURE + "SELECT * FROM t WHERE a = 9 AND b = 9")
    with pytest.raises(ConstraintError):
        db.insert("e", [(9, 9)])
    db.insert("e", [(9, 0)])
    assert db.views["v"].bag()[9, 3] == 1
    db.verify(maps=True)


def test_it_is_what_it_was_after_a_reopening(tmp_path: Path):
    path = tmp_path / "graph.nest"
    with filled(path) as db:
        db.insert("e", [(3, 4)])
        wanted = state_of(db)
    for _ in range(2):
        with nl.Database(path) as db:
            assert state_of(db) == wanted
            assert sorted(db.views) == ["d", "v"]
            db.view("v", CLOSURE + "SELECT * FROM t")  # the same
            db.verify(maps=True)
            db.delete("e", [(2, 3)])
            assert (0, 4) not in db.views["v"].bag()
            db.insert("e", [(2, 3)])
            db.verify(maps=True)
            wanted = (*wanted[:3], db.version)
    with nl.Database(path) as db:
        db.backup(tmp_path / "copy.nest")
        db.drop("v")
        db.drop("d")
        assert not db._state.recursions
        db.drop("e")
    with nl.Database(path) as db:
        assert set(db._state.tables) == {"r"}
    with nl.Database(tmp_path / "copy.nest") as db:
        assert (0, 4) in db.views["v"].bag()
        db.verify(maps=True)


def test_who_follows_a_file_has_it_from_there(tmp_path: Path):
    path = tmp_path / "graph.nest"
    filled(path).close()
    with nl.Database(path, readonly=True) as follower:
        heard: list[Any] = []
        follower.views["v"].subscribe(heard.append)
        writer = "import nestling as nl, sys; nl.Database(sys.argv[1]).delete('e', [(2, 3)])"
        subprocess.run([sys.executable, "-c", writer, str(path)], check=True, timeout=60)
        assert (0, 3) not in follower.views["v"].bag()
        assert heard[0].rows[0, 3] == -1
        follower.verify()


def test_a_database_in_memory_is_copied_with_its_recursions(tmp_path: Path):
    db = filled()
    db.backup(tmp_path / "copy.nest")
    with nl.Database(tmp_path / "copy.nest") as copy:
        assert copy.views["v"].bag() == db.views["v"].bag()
        copy.delete("e", [(1, 2)])
        copy.verify(maps=True)


def test_views_that_say_the_same_share_a_recursion():
    db = filled()
    db.view("w", CLOSURE + "SELECT a FROM t WHERE b = 3")
    assert len(db._state.recursions) == 2
    db.drop("v")
    db.insert("e", [(7, 0)])
    assert db.views["w"].bag()[(7,)] == 1
    db.drop("w")
    assert len(db._state.recursions) == 1


def test_a_recursion_reads_a_recursion_and_views():
    db = graph()
    db.view("far", "SELECT a, b FROM e WHERE b > 0")
    both = CLOSURE.rstrip() + (
        ", u(x) AS (SELECT x FROM r UNION SELECT t.b FROM u JOIN t ON t.a = u.x JOIN far ON far.b = t.b) "
    )
    view = db.view("v", both + "SELECT x FROM u")
    db.insert("r", [(0,)])
    db.insert("e", [(0, 0), (0, 1), (1, 2)])
    assert sorted(view) == [(0,), (1,), (2,)]
    db.delete("e", [(0, 1)])
    assert sorted(view) == [(0,)]
    db.verify(maps=True)
    with pytest.raises(QueryError, match="far is read by the recursion u of v"):
        db.view("far", "SELECT a, b FROM e", replace=True)
    with pytest.raises(QueryError, match="e is read by the recursion t of v, and cannot be renamed"):
        db.rename("e", "edges")
    with pytest.raises(QueryError, match="cannot be changed"):
        db.table("e").add_column("x", int, 0)


def test_a_tree_of_nested_parts():
    """Inner bags are followed element by element."""
    db = nl.Database()
    db.table("parts", "id STRING, made_of ARRAY<STRUCT<part: STRING, n: INT>>", key="id")
    text = (
        "WITH RECURSIVE needs(whole, part, n) AS ("
        " SELECT p.id, m.part, m.n FROM parts p LATERAL VIEW explode(p.made_of) x AS m"
        " UNION ALL"
        " SELECT needs.whole, m.part, needs.n * m.n FROM needs JOIN parts p ON p.id = needs.part"
        " LATERAL VIEW explode(p.made_of) x AS m) "
    )
    view = db.view("total", text + "SELECT whole, part, sum(n) AS n FROM needs GROUP BY whole, part")
    wheel = [{"part": "spoke", "n": 32}, {"part": "rim", "n": 1}]
    db.insert("parts", [("bike", [{"part": "wheel", "n": 2}, {"part": "frame", "n": 1}]), ("wheel", wheel)])
    assert ("bike", "spoke", 64) in list(view)
    db.table("parts").at("wheel").made_of.insert([{"part": "nipple", "n": 32}])
    assert ("bike", "nipple", 64) in list(view)
    db.table("parts").at("bike").made_of.delete([{"part": "wheel", "n": 2}])
    assert sorted(row[1] for row in view if row[0] == "bike") == ["frame"]
    db.verify(maps=True)


def test_a_manager_who_is_referred_to_changes():
    db = nl.Database()
    db.table("staff", "id INT, boss INT NULL", key="id", references={"boss": "staff"})
    text = (
        "WITH RECURSIVE under(boss, id) AS (SELECT boss, id FROM staff WHERE boss IS NOT NULL"
        " UNION SELECT under.boss, s.id FROM under JOIN staff s ON s.boss = under.id) "
    )
    view = db.view("under", text + "SELECT boss, id FROM under")
    db.insert("staff", [(1, None), (2, 1), (3, 2), (4, 3), (5, 1)])
    assert sorted(view) == [(1, 2), (1, 3), (1, 4), (1, 5), (2, 3), (2, 4), (3, 4)]
    db.update("staff", key=3, set={"boss": 5})
    assert sorted(view) == [(1, 2), (1, 3), (1, 4), (1, 5), (3, 4), (5, 3), (5, 4)]
    db.verify(maps=True)


def test_a_step_that_never_ends_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("nestling.database.recursion.MOST_ROUNDS", 50)
    db = graph()
    view = db.view(
        "v",
        "WITH RECURSIVE t(x, d) AS (SELECT x, 0 FROM r UNION SELECT e.b, t.d + 1 FROM t JOIN e ON t.x = e.a)"
        " SELECT * FROM t",
    )
    db.insert("r", [(0,)])
    db.insert("e", list(pairwise(range(20))))
    with pytest.raises(ChangeError, match="does not end within 50 rounds"):
        db.insert("e", [(19, 0)])
    assert len(view) == 20
    db.verify(maps=True)
    with pytest.raises(ChangeError, match="does not end"):
        db.view("w", "WITH RECURSIVE t(n) AS (SELECT 0 UNION SELECT n + 1 FROM t) SELECT * FROM t")
    assert len(db._state.recursions) == 1


def test_a_value_that_is_not_there_is_refused():
    db = graph()
    text = "WITH RECURSIVE t(x) AS (SELECT x FROM r UNION SELECT 8 DIV (x - 2) FROM t WHERE x > 1 AND x < 9) "
    view = db.view("v", text + "SELECT x FROM t")
    db.insert("r", [(4,)])
    assert sorted(view) == [(4,)]
    with pytest.raises(ChangeError, match="could not be computed"):
        db.insert("r", [(2,)])
    assert sorted(view) == [(4,)]
    db.insert("r", [(3,)])
    assert sorted(view) == [(1,), (3,), (4,), (8,)]


def test_what_it_costs_is_said():
    db = filled()
    told = db.views["v"].explain()
    assert "the recursion t by UNION is kept as a table of" in told
    assert "reads e\n" in told
    page = db.views["v"].explain(format="html")
    picture = page[page.index("<svg") : page.index("</svg>")]
    assert ">e</text>" in picture and ">t, recursive</text>" in picture and "§" not in picture
    db.view("b", BLOCKED + "SELECT x FROM t")
    assert "a change of r computes it anew" in db.views["b"].explain().replace("\n    ", " ")
    with pytest.raises(QueryError, match="a change of r computes the recursion t anew"):
        db.view("s", BLOCKED + "SELECT x FROM t WHERE x > 7", strict=True)
    db.view("s", CLOSURE + "SELECT a FROM t WHERE b > 7", strict=True)


def test_it_is_asked_once():
    db = filled()
    assert len(db.sql(CLOSURE + "SELECT * FROM t")) == len(db.views["v"])
    assert db.sql("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4) SELECT * FROM n") == [
        (1,), (2,), (3,), (4,)
    ]  # fmt: skip
    db.sql("CREATE VIEW twice AS " + CLOSURE + "SELECT a AS x FROM t")
    assert "twice" in db.views
    with pytest.raises(QueryError, match="rows are changed by the recursion t"):
        db.sql("INSERT INTO r " + REACHED + "SELECT x FROM t")
    with pytest.raises(NestlingError, match="does not end"):
        db.sql("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT * FROM n")
