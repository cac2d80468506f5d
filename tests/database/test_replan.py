"""How a view is stored follows its data: what it was declared over, what came later, and what a file remembers."""

from concurrent.futures import Future
from dataclasses import replace
from threading import Event
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nestling as nl
from nestling.database import planning, replan
from nestling.database.planning import MOVED
from nestling.database.replan import WAIT
from nestling.database.row_logs import RowLogging
from nestling.transform.cost.statistics import ENOUGH
from nestling.transform.viewlet.choose import COST, KNOB, MEMORY


@pytest.fixture
def soon(monkeypatch):
    """Few rows are worth deciding again, so that tests get by with few."""
    monkeypatch.setattr(replan, "PER_MAP", 1)
    monkeypatch.setattr(replan, "SPREAD", 1)


@pytest.fixture
def at_once(monkeypatch):
    """What is found in the background is there when the next commit asks."""

    def now(function: Any) -> Future[Any]:
        answer: Future[Any] = Future()
        answer.set_result(function())
        return answer

    monkeypatch.setattr(planning, "in_background", now)


class Held:
    """The background, in which nothing is done until somebody lets it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.gate, self.answers, self.start = Event(), list[Future[Any]](), planning.in_background
        monkeypatch.setattr(planning, "in_background", self.held)

    def held(self, function: Any) -> Future[Any]:
        def later() -> Any:
            assert self.gate.wait(60)
            return function()

        self.answers.append(self.start(later))
        return self.answers[-1]

    def release(self) -> None:
        """Let it be done, and wait for it."""
        self.gate.set()
        for answer in self.answers:
            answer.result(60)


@pytest.fixture
def held(monkeypatch):
    return Held(monkeypatch)


def stream(db: nl.Database, table: str, rows: Any) -> None:
    for row in rows:
        db.insert(table, [row])


def actors(first: int, n: int) -> list[tuple[str, str]]:
    return [(f"a{i}", f"d{i % 200}") for i in range(first, first + n)]


def related(M):
    return [
        (m.name, [n.name for n in M if n.name != m.name and (n.gen == m.gen or n.dir == m.dir)]) for m in M
    ]


def credits(M, A):
    return [(m.gen, a.name) for m in M for a in A if a.dir == m.dir]


def per_gen(M):
    return [(g, len([m for m in M if m.gen == g])) for g in {m.gen for m in M}]


def casts(M, A):
    return [(m.name, [a.name for a in A if a.dir == m.dir]) for m in M]


VIEWS = {view.__name__: view for view in (related, credits, per_gen, casts)}


def films(path: Any = None, **options: Any) -> nl.Database:
    db = nl.Database(path, **options)
    db.table("M", {"name": str, "gen": str, "dir": str}, key="name")
    db.table("A", {"name": str, "dir": str})
    return db


def load(db: nl.Database, n: int, gens: int = 6, dirs: int = 5, first: int = 0) -> None:
    """Films and actors, in one commit."""
    with db.transaction() as change:
        change.insert("M", [(f"m{i}", f"g{i % gens}", f"d{i % dirs}") for i in range(first, n)])
        change.insert("A", [(f"a{i}", f"d{i % dirs}") for i in range(first, n)])


def storings(db: nl.Database) -> dict[str, Any]:
    return {name: (d.storing, d.code) for name, d in db._state.views.decisions.items()}


def maps(db: nl.Database) -> set[Any]:
    return {(decl.query, decl.order) for decl in db._state.engine.program.maps.values()}


@given(
    n=st.sampled_from([ENOUGH, 250]), gens=st.integers(1, 60), dirs=st.integers(10, 200),
    name=st.sampled_from(["credits", "per_gen", "casts"]),
)  # fmt: skip
def test_after_a_load_a_view_is_stored_as_if_it_was_declared_then(n, gens, dirs, name):
    early, late = films(), films()
    early.view(name, VIEWS[name])
    # The load is worth it: what was compiled counts as little.
    decision = early._state.views.decisions[name]
    few = replace(decision, ways=())
    early._state.views = early._state.views.changed(name, decision=few)
    load(early, n, gens, dirs)
    load(late, n, gens, dirs)
    late.view(name, VIEWS[name])
    assert storings(early) == storings(late)
    assert maps(early) == maps(late)
    assert early.views[name].bag() == late.views[name].bag()


def test_what_was_counted_is_looked_at_again_when_it_has_moved(soon):
    db = films()
    view = db.view("gens", per_gen)
    assert "M: 1,000 rows, assumed" in view.explain()
    load(db, 200)
    assert db._state.views.decisions["gens"].statistics.rows == {"M": 200}
    assert "M: 200 rows" in view.explain()
    assert "counted at version 1" in view.explain()
    load(db, 200 * MOVED - 1, first=200)
    assert db._state.views.decisions["gens"].statistics.rows == {"M": 200}
    db.insert("M", [(f"last{i}", "g0", "d0") for i in range(ENOUGH)])
    assert db._state.views.decisions["gens"].statistics.rows == {"M": 200 * MOVED + ENOUGH - 1}
    assert "counted at version 3" in view.explain()
    db.delete("M", where=lambda m: m.dir != "d1" or m.gen != "g1")
    assert db._state.views.decisions["gens"].statistics.rows == {"M": 54}
    assert "M: 1,000 rows, assumed" in view.explain()
    view.verify(maps=True)


def test_between_moves_nothing_is_looked_at(soon, monkeypatch):
    db = films()
    db.view(per_gen)
    load(db, 400)
    looked: list[int] = []
    monkeypatch.setattr(replan, "_has_moved", lambda state, name: looked.append(1))
    for i in range(ENOUGH - 1):
        db.insert("M", [(f"n{i}", "g1", "d1")])
    assert not looked


def test_single_rows_decide_again_when_they_are_worth_it(at_once, monkeypatch):
    """So that a stream costs at most a quarter more than it would without."""
    monkeypatch.setattr(replan, "PER_MAP", ENOUGH + 1)
    db = films()
    db.view(per_gen)
    worth = replan.SPREAD * replan.worth(db._state.views.decisions["per_gen"])
    assert worth >= replan.SPREAD * replan.WAYS * replan.PER_MAP
    looked: list[int] = []
    asked = replan._question

    def noted(state: Any, name: str) -> Any:
        looked.append(len(db.tables["M"]))
        return asked(state, name)

    monkeypatch.setattr(replan, "_question", noted)
    for i in range(worth + ENOUGH):
        db.insert("M", [(f"m{i}", f"g{i % 7}", "d1")])
    assert len(looked) == 1
    assert worth <= looked[0] <= worth + ENOUGH


def test_a_load_in_one_commit_decides_sooner_than_rows_one_by_one(at_once, monkeypatch):
    monkeypatch.setattr(replan, "PER_MAP", ENOUGH + 1)
    loaded, fed = films(), films()
    for db in (loaded, fed):
        db.view(per_gen)
    worth = replan.worth(loaded._state.views.decisions["per_gen"])
    rows = [(f"m{i}", f"g{i % 7}", "d1") for i in range(worth)]
    loaded.insert("M", rows)
    for at in range(0, worth, ENOUGH):
        fed.insert("M", rows[at : at + ENOUGH])
    assert loaded._state.views.decisions["per_gen"].statistics.rows == {"M": worth}
    assert fed._state.views.decisions["per_gen"].statistics.rows == {"M": 0}


def test_a_small_commit_looks_at_one_view(soon, at_once, monkeypatch):
    """So that no commit takes longer than one view does."""
    db = films()
    for name, view in VIEWS.items():
        db.view(name, view)
    looked: list[str] = []
    asked = replan._question

    def noted(state: Any, name: str) -> Any:
        looked.append(name)
        return asked(state, name)

    monkeypatch.setattr(replan, "_question", noted)
    load(db, 120)
    assert len(looked) == 1
    for i in range(4 * WAIT):
        db.insert("A", [(f"n{i}", "d1")])
    assert sorted(looked) == sorted(VIEWS)
    db.verify(maps=True)


def test_what_was_asked_for_stays():
    db = films()
    db.view("v", related, store="full")
    before = db._state.views.decisions["v"]
    load(db, 300)
    assert db._state.views.decisions["v"] == before
    assert before.code == KNOB


@pytest.mark.parametrize("refresh", ["eager", "hybrid", "lazy"])
def test_a_watched_view_goes_on_telling_when_it_is_stored_otherwise(soon, refresh):
    db = films()
    view = db.view("credits", credits, refresh=refresh)
    heard: list[Any] = []
    view.subscribe(heard.append)
    before = maps(db) if refresh != "lazy" else set()
    load(db, 400, gens=40, dirs=200)
    assert db._state.views.decisions["credits"].code == COST
    assert refresh == "lazy" or maps(db) != before
    held = view.bag()
    db.insert("A", [("x", "d3")])
    assert heard[-1].before(view.bag()) == held
    assert held != view.bag()
    view.verify()


def test_what_was_decided_again_survives_reopening(soon, at_once, tmp_path):
    path = tmp_path / "films.nest"
    with films(path) as db:
        for name, view in VIEWS.items():
            db.view(name, view)
        load(db, 400, gens=40, dirs=200)
        for i in range(len(VIEWS) * WAIT):
            db.insert("A", [(f"n{i}", "d1")])
        found, kept = storings(db), maps(db)
        assert COST in {code for _, code in found.values()}
        answers = {name: view.bag() for name, view in db.views.items()}
    with nl.Database(path) as db:
        assert storings(db) == found
        assert maps(db) == kept
        assert {name: view.bag() for name, view in db.views.items()} == answers
        db.verify(maps=True)
        db.insert("A", [("x", "d3")])
        assert storings(db) == found


def test_a_view_that_fits_again_is_stored_again(soon):
    db = films(memory="20kB")
    view = db.view(related)
    with pytest.warns(nl.OverBudget):
        load(db, 600)
    assert db._state.views.decisions["related"].code == MEMORY
    assert db._state.views["related"].on_read is not None
    db.delete("M", where=lambda m: m.dir != "d0")
    db.delete("M", where=lambda m: m.gen != "g0")
    assert db._state.views["related"].on_read is None
    view.verify(maps=True)


def test_a_plan_found_in_the_background_is_that_of_the_rows_it_began_with(soon, held):
    db = films()
    db.view("casts", casts)
    before = db._state.views.decisions["casts"]
    stream(db, "M", [(f"m{i}", "g", f"d{i % 200}") for i in range(300)])
    assert len(held.answers) == 1
    assert isinstance(db._logging, RowLogging)
    under_way = db._logging.planning
    assert under_way is not None
    began = under_way.question.statistics.rows
    stream(db, "A", actors(0, 200))
    assert db._state.views.decisions["casts"] is before  # nobody waits for it
    held.release()
    stream(db, "A", actors(200, WAIT))
    assert db._state.views.decisions["casts"].statistics.rows == began
    late = films()
    late.insert("M", [(f"m{i}", "g", f"d{i % 200}") for i in range(began["M"])])
    late.view("casts", casts)
    assert storings(db) == storings(late)
    db.verify(maps=True)


@pytest.mark.parametrize(
    "meanwhile", ["another view", "another table", "dropped", "subscribed", "rolled back"]
)
def test_what_changes_while_a_plan_is_found_is_not_undone(soon, held, meanwhile):
    db = films()
    view = db.view("casts", casts)
    stream(db, "M", [(f"m{i}", "g", f"d{i % 200}") for i in range(300)])
    told: list[Any] = []
    match meanwhile:
        case "another view":
            db.view("gens", per_gen)
        case "another table":
            db.table("B", {"x": int})
        case "dropped":
            db.drop("casts")
        case "subscribed":
            view.subscribe(told.append)
        case "rolled back":
            with pytest.raises(RuntimeError), db.transaction() as change:
                change.insert("M", [("late", "g", "d0")])
                db.views["casts"].rows()
                raise RuntimeError
    held.release()
    stream(db, "A", actors(0, 300))
    db.verify(maps=True)
    assert len(told) == (300 if meanwhile == "subscribed" else 0)
    assert ("casts" in db.views) == (meanwhile != "dropped")
