"""What is stored of a view: what is estimated of it, which way is chosen, and what stays put together."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import nestling as nl
from benchmarks.workloads.long_texts import JOINS
from nestling.calculus.build import const
from nestling.calculus.evaluate import evaluate
from nestling.calculus.parse import parse
from nestling.calculus.terms import Var
from nestling.calculus.types import INT, Bag, record
from nestling.engine.local.engine import LocalEngine
from nestling.program.flat import Atom, Monomial, Pointwise, Query
from nestling.program.meaning import meaning
from nestling.program.signs import is_nonnegative
from nestling.program.statements import TableDecl
from nestling.transform.cost.sizes import Sizes
from nestling.transform.cost.statistics import ASSUMED, ENOUGH, FEW, ROWS, VALUES, Statistics
from nestling.transform.cost.work import Estimate
from nestling.transform.lower.view import CannotLower
from nestling.transform.viewlet import compile_views, reading
from nestling.transform.viewlet.choose import COST, KEYS, KNOB, MEMORY, Choice, Memory, Way, choose, cost_of
from nestling.transform.viewlet.compile import CannotCompile
from nestling.transform.viewlet.drafts import drafts_over
from nestling.transform.viewlet.storing import BY_KEYS, Rule, Storing, storing
from nestling.values.bag import ZBag
from tests.engines.worlds import WORLDS, flat_view
from tests.strategies import queries

R = TableDecl("R", tuple(Var(f"R.{name}", INT) for name in "abc"))
rows = st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=ENOUGH, max_size=ENOUGH + 20)


def counted(tables: dict[str, list[Any]]) -> Statistics:
    return Statistics(
        {name: len(rows) for name, rows in tables.items()}, {},
        lambda name, places: len({tuple(row[i] for i in places) for row in tables[name]}),
    )  # fmt: skip


# estimates


@given(rows, st.lists(st.sampled_from([0, 1, 2]), min_size=1, unique=True).map(sorted))
def test_a_projection_has_as_many_entries_as_there_are_values(drawn, places):
    """Of one table, what was counted is what there is."""
    table = Counter(drawn)
    sizes = Sizes({"R": R}, counted({"R": list(table)}))
    if len(table) < ENOUGH:
        sizes = Sizes({"R": R}, Statistics({"R": ENOUGH}, {}, counted({"R": list(table)}).count))
    variables = [Var(name, INT) for name in "xyz"]
    keys = tuple(variables[i] for i in places)
    query = Query(keys, (Monomial(keys, (const(1),), (Atom("R", tuple(variables)),)),))
    if len(places) < 3:
        assert sizes.entries(query) == len(meaning(query, {"R": dict(table)}))
        assert sizes.slice(query, tuple(range(len(places)))) == 1.0


def test_what_is_assumed_of_an_empty_table():
    keyed = TableDecl("K", R.columns, (0, 1), (((2,), "P"),))
    assert ASSUMED.size(R) == ROWS
    assert ASSUMED.slice(R, ()) == ROWS
    assert ASSUMED.slice(R, (2,)) == ROWS / VALUES
    assert ASSUMED.slice(R, (1, 2)) == ROWS / VALUES**2
    assert ASSUMED.slice(keyed, (0, 1)) == 1
    assert ASSUMED.slice(keyed, (0,)) == FEW
    assert ASSUMED.slice(keyed, (2,)) == FEW
    assert not counted({"R": [(1, 2, 3)] * (ENOUGH - 1)}).is_counted("R")


# choices


def related(M):
    return [
        (m.name, [n.name for n in M if n.name != m.name and (n.gen == m.gen or n.dir == m.dir)]) for m in M
    ]


def films(n: int, **options: Any) -> nl.Database:
    db = nl.Database(**options)
    db.table("M", {"name": str, "gen": str, "dir": str}, key="name")
    db.insert("M", [(f"m{i}", f"g{i % 6}", f"d{i // 5}") for i in range(n)])
    return db


def shop() -> nl.Database:
    """Lines of orders of customers, which refer to parts: as many foreign keys as a warehouse has."""
    db = nl.Database()
    db.table("C", {"ck": int, "region": int}, key="ck")
    db.table("P", {"pk": int, "kind": int}, key="pk")
    db.table("B", {"ok": int, "ck": int}, key="ok", references={"ck": "C"})
    line = {"ok": int, "nr": int, "pk": int, "qty": int}
    db.table("L", line, key=("ok", "nr"), references={"ok": "B", "pk": "P"})
    return db


def sold(C, B, L, P):
    return [
        (region, kind, sum(
            li.qty for c in C if c.region == region for o in B if o.ck == c.ck
            for li in L if li.ok == o.ok for p in P if p.pk == li.pk and p.kind == kind
        ))
        for region, kind in {
            (c.region, p.kind) for c in C for o in B if o.ck == c.ck
            for li in L if li.ok == o.ok for p in P if p.pk == li.pk
        }
    ]  # fmt: skip


def choice_of(db: nl.Database, name: str, **options: Any) -> Choice:
    decision = db._state.views.decisions[name]
    return choose(decision.view, drafts_over(db._state.declarations()), decision.statistics, **options)


@pytest.mark.parametrize("n", [0, 1_000])
def test_related_is_put_together_from_slices(n):
    """Stored whole, a movie costs its genre; put together, nothing but its row."""
    db = films(n)
    db.view(related)
    decision = db._state.views.decisions["related"]
    assert (decision.storing, decision.code) == (BY_KEYS, KEYS)
    tables, full = db._state.declarations(), storing("full", decision.view)
    apart, whole = (cost_of(decision.view, tables, decision.statistics, way) for way in (BY_KEYS, full))
    assert apart.change < 10
    assert whole.change > 100
    assert whole.bytes > 50 * apart.bytes
    assert whole.read < apart.read


def test_a_foreign_key_is_followed_and_not_stored():
    """Where a slice has few rows a map saves little on one event, and costs its upkeep on all others."""
    db = shop()
    db.view(sold)
    decision = db._state.views.decisions["sold"]
    assert decision.code == COST
    assert decision.storing is not None
    assert decision.storing.rule == "slices"
    by_keys = compile_views(db._state.declarations(), {"v": decision.view}, store={"v": BY_KEYS})
    assert len(db._state.engine.program.maps) < len(by_keys.maps)


def test_rows_that_were_counted_are_a_reason():
    """With the rows there, every way is open: the partners of a change are read from their tables."""
    db = shop()
    db.insert("C", [(i, i % 5) for i in range(50)])
    db.insert("P", [(i, i % 10) for i in range(100)])
    db.insert("B", [(i, i % 50) for i in range(200)])
    db.insert("L", [(i // 4, i % 4, i % 100, 1) for i in range(800)])
    view = db.view(sold)
    decision = db._state.views.decisions["sold"]
    assert decision.code == COST
    assert decision.storing is not None
    assert decision.storing.rule in ("none", "slices")
    assert decision.statistics.rows == {"C": 50, "P": 100, "B": 200, "L": 800}
    other = db.view("other", sold, store="full")
    db.delete("L", [(0, 0, 0, 1)])
    assert view.bag() == other.bag()
    assert sum(row[2] for row in view) == 799


def test_a_knob_is_obeyed():
    db = films(200)
    for knob in ("full", "counts"):
        db.view(knob, related, store=knob)
        decision = db._state.views.decisions[knob]
        assert (decision.storing, decision.code) == (storing(decision.knob, decision.view), KNOB)


def test_a_budget_leaves_what_fits():
    db = films(500)
    db.view("v", related, store="full")
    ways = {way.storing: way for way in choice_of(db, "v", knob="full", every=True).considered}
    sizes = {kind: way.cost.bytes for kind, way in ways.items() if way.cost}
    full = storing("full", db._state.views.decisions["v"].view)
    assert choice_of(db, "v", knob="full", memory=Memory(sizes[full])).code == KNOB
    less = choice_of(db, "v", knob="full", memory=Memory(sizes[full] - 1))
    assert less.code == MEMORY
    assert less.chosen is not None
    assert less.chosen.storing != full
    least = min(sizes.values())
    assert choice_of(db, "v", knob="full", memory=Memory(least)).chosen is not None
    nothing = choice_of(db, "v", knob="full", memory=Memory(least - 1))
    assert (nothing.chosen, nothing.code) == (None, MEMORY)
    assert f"{least:,} bytes" in nothing.why
    assert choice_of(db, "v", knob="full", memory=Memory(least, scale=1.1)).chosen is None


@st.composite
def statistics(draw: Any, tables: dict[str, TableDecl]) -> Statistics:
    """Counts of rows and, made up once per place, of values; some tables may be empty."""
    rows = {name: draw(st.sampled_from([0, 5, ENOUGH, 3_000, 200_000])) for name in tables}
    shares = draw(st.lists(st.floats(0.0001, 1.0), min_size=7, max_size=7))

    def count(table: str, places: tuple[int, ...]) -> int:
        share = shares[(len(table) + sum(places)) % len(shares)]
        return max(1, round(rows[table] * share))

    return Statistics(rows, {}, count)


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
@given(data=st.data())
def test_no_way_that_fits_dominates_the_one_that_is_chosen(world, data):
    """No other way costs at most as much of a change, a read and bytes, and less of one of them."""
    query = data.draw(queries("full", schema=world.schema, fuel=4))
    drawn = data.draw(statistics(world.tables))
    try:
        view = flat_view(query)
        found = choose(view, drafts_over(world.tables), drawn)
        if data.draw(st.booleans()):
            sizes = [way.cost.bytes for way in found.considered if way.cost]
            found = choose(
                view, drafts_over(world.tables), drawn, memory=Memory(data.draw(st.sampled_from(sizes)))
            )
    except (CannotLower, CannotCompile):
        assume(False)
    assert found.chosen is not None
    fitting = [
        way
        for way in found.considered
        if way.cost and (not found.memory or way.cost.bytes <= found.memory.bytes)
    ]
    assert not [way for way in fitting if way.dominates(found.chosen)]


def test_a_way_dominates_another_by_its_columns():
    def way(change: float, read: float, size: int) -> Way:
        return Way(BY_KEYS, Estimate(change, read, 1, size, {}))

    one = way(15.5, 90.0, 47)
    assert one.dominates(way(31.3, 90.0, 174))
    assert not way(31.3, 90.0, 174).dominates(one)
    assert not one.dominates(one)
    assert not one.dominates(way(31.3, 80.0, 174))
    assert not one.dominates(Way(BY_KEYS, refused="no program"))


# labels in use


def test_rows_that_cancel_still_hold_their_label():
    """⟨2, l⟩ once and ⟨0, l⟩ minus once: counted by multiplicity the label would be out of use."""
    pair = Bag(record(a=INT, b=INT))
    catalog = {"R": pair, "S": pair, "T": pair}
    body = "sng⟨a: x.a, cs: bag_1(for z in T where z.a == x.b union sng(z.b))⟩"
    query = parse(f"for x in (R ⊎ ⊖S) union {body}", catalog)
    tables = {name: TableDecl(name, tuple(Var(f"{name}.{c}", INT) for c in "ab")) for name in catalog}
    engine = LocalEngine(compile_views(tables, {"v": flat_view(query)}, store={"v": "full"}))
    stored = {name: ZBag() for name in catalog}
    for table, row, times in [
        ("T", (5, 9), 1), ("R", (2, 5), 1), ("S", (0, 5), 1), ("T", (5, 8), 1), ("R", (2, 5), -1), ("S", (0, 5), -1),
    ]:  # fmt: skip
        engine.apply(table, row, times)
        stored[table] += ZBag([(row, times)])
        assert engine.read("v") == evaluate(query, stored)
    assert not any(engine.cells(name) for name, decl in engine.program.maps.items() if decl.role == "bags")


@pytest.mark.parametrize("operator", ["min", "max", "restrict"])
@pytest.mark.parametrize("signs", [(1, -1), (-1, -1), (1, 1)])
def test_an_operator_may_answer_less_than_zero_where_an_argument_is(operator, signs):
    x, y, z = (Var(name, INT) for name in "xyz")
    args = [
        Monomial((x,), tuple(const(sign if i == j else 0) for j in range(2)), (Atom("R", (x, y, z)),))
        for i, sign in enumerate(signs)
    ]
    counts = Pointwise(operator, Query((x,), tuple(args), 2), (x,))
    query = Query((x,), (Monomial((x,), (const(1),), (counts,)),))
    assert is_nonnegative(query) == (signs == (1, 1))
    found = meaning(query, {"R": {(1, 2, 3): 1}})
    assert not is_nonnegative(query) or found[(1,)][0] >= 0
    assert (operator, signs) != ("min", (1, -1)) or found == {(1,): (-1,)}


# what cannot be stored as asked for


def nearest(S, T):
    return [
        (s.a, [t.b for t in T if t.a == s.a if t.b > min(u.b for u in T if u.a == t.a)
               if t.b < max(u.b for u in T if u.a == t.a)])
        for s in S
    ]  # fmt: skip


def numbers(**options: Any) -> tuple[nl.Database, Any]:
    db = nl.Database()
    db.table("S", {"a": int})
    db.table("T", {"a": int, "b": int})
    return db, db.view("v", nearest, **options)


def test_a_definition_that_cannot_be_restricted_stays_put_together():
    """min and max of one bag in one product have no program of their own; read by label they have."""
    db, view = numbers(store="full")
    [note] = db._state.engine.program.views["v"].notes
    assert (note.part, note.code) == ("inner bag 1", "TWICE")
    assert {decl.role for decl in db._state.engine.program.maps.values()} == {"rows", "lift"}
    db.insert("S", [(1,), (2,)])
    db.insert("T", [(1, 1), (1, 2), (1, 3), (2, 1)])
    assert sorted(view) == [(1, [2]), (2, [])]
    db.delete("T", [(1, 3)])
    assert sorted(view) == [(1, []), (2, [])]
    view.verify()


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("kind", JOINS)
def test_a_rule_that_cannot_differ_from_declared_keys_does_not(kind, keyed):
    """What is not compiled, because it must come to the same, comes to the same."""
    schemas, text = JOINS[kind](4)
    db = nl.Database()
    for name, schema in schemas.items():
        db.table(name, schema, key=next(iter(schema)) if keyed else ())
    db.view("v", text)
    tables, decision = db._state.declarations(), db._state.views["v"].decision
    assert decision is not None
    drafts = drafts_over(tables)
    by_keys = compile_views(tables, {"v": decision.view}, None, {"v": BY_KEYS}, drafts)
    differently = drafts.differently

    others: set[Rule] = {"slices", "every"}
    rules = others - differently
    for rule in rules:
        assert compile_views(tables, {"v": decision.view}, None, {"v": Storing(rule)}) == by_keys
    assert "every" in (differently if keyed else rules)


def test_many_aggregates_in_a_row_are_not_stored_set_by_set():
    """The row is read from the map of its group instead, and it is said."""
    db = nl.Database()
    db.table("T", {"k": int, "a": int})
    sums = ", ".join(f"sum(a * {i + 2}) AS s{i}" for i in range(8))
    view = db.view("v", f"SELECT k, {sums} FROM T GROUP BY k", store="full")
    [note] = db._state.engine.program.views["v"].notes
    assert (note.part, note.code) == ("rows", "CAP")
    db.insert("T", [(1, 1), (1, 2), (2, 5)])
    db.delete("T", [(1, 1)])
    assert sorted(view) == [(k, *((i + 2) * a for i in range(8))) for k, a in [(1, 2), (2, 5)]]
    view.verify()


def test_beyond_the_cap_only_the_part_is_read_from_tables(monkeypatch):
    """One map for a sum is allowed: the join of the rows is read from tables, the sum beside it is kept."""
    monkeypatch.setattr(reading, "MOST_MAPS", 1)
    db = nl.Database()
    db.table("S", {"a": int, "b": int})
    db.table("T", {"a": int, "b": int})
    view = db.view("v", lambda S, T: [(s.b, t.b, sum(u.b for u in T)) for s in S for t in T if s.a == t.a])
    [note] = db._state.engine.program.views["v"].notes
    assert (note.part, note.code) == ("rows", "CAP")
    assert "more than 40 maps" in note.why
    assert [decl.role for decl in db._state.engine.program.maps.values()] == ["lift"]
    db.insert("S", [(1, 5), (2, 6)])
    db.insert("T", [(1, 7), (1, 8)])
    assert sorted(view) == [(5, 7, 15), (5, 8, 15)]
    view.verify()
    shown = view.explain()
    assert "! CAP: rows not as asked for: it would take more than 40 maps" in shown


def test_beyond_the_cap_for_every_way_it_is_evaluated(monkeypatch):
    monkeypatch.setattr(reading, "MOST_MAPS", 0)
    with pytest.warns(nl.EvaluatedOnRead, match="more than 40 maps"):
        db, view = numbers()
    assert not db._state.views.maintained
    assert db._state.views.on_read["v"].reason == "it would take more than 40 maps"
    assert "on every read, because it would take more than 40 maps (CAP)" in view.explain()
    db.insert("S", [(1,)])
    assert list(view) == [(1, [])]


def test_storings_are_told_apart_by_what_they_store():
    assert Storing("keys", statistics=Statistics({"R": 1})) == BY_KEYS
    assert Storing("keys", rows=True) != BY_KEYS
