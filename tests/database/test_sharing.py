"""Declaring and dropping cost what is declared or dropped: all else that is stored stays where it is."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nestling as nl
from nestling.database.bulk import identity
from nestling.engine.local.engine import LocalEngine
from nestling.engine.local.functions import Generated
from tests.engines.worlds import agrees_with_its_indexes, embedded

#: Which dictionary is which says what was copied.
pytestmark = pytest.mark.in_python


def shop(**options: Any) -> nl.Database:
    db = nl.Database(**options)
    db.table("goods", {"id": int, "kind": str, "price": int}, key="id")
    db.table("sales", {"good": int, "day": int, "n": int, "notes": list[str]})
    db.insert("goods", [(i, f"k{i % 3}", i) for i in range(1, 20)])
    db.insert("sales", [(1 + i % 19, i % 5, i, [f"n{i}"] * (i % 3)) for i in range(60)])
    return db


def by_kind(goods):
    return [(k, sum(g.price for g in goods if g.kind == k)) for k in {g.kind for g in goods}]


def by_day(goods, sales):
    return [(s.day, g.kind, s.n, s.notes) for s in sales for g in goods if g.id == s.good]


def ratio(goods):
    return [(g.id, 100 // (g.price - 7)) for g in goods]


def sold(goods, sales):
    return [(g.kind, sum(s.n for s in sales if s.good == g.id)) for g in goods]


def stored(engine: LocalEngine) -> dict[str, int]:
    """Which object each dictionary is."""
    return {
        word: id(engine.names[word])
        for store in embedded(engine).stores.values()
        for word in store.dictionaries
    }


def test_one_definition_after_another_comes_to_what_each_would_by_itself():
    """What was found for the one before serves it, until rows come; the program is the same but for variables."""
    made = []
    for is_between in (False, True):
        db = shop()
        for query in (by_kind, by_day, sold):
            db.view(query)
            assert db._state.compiled.drafts is not None
            if is_between:
                db.insert("goods", [(50, "k1", 3)])
                db.delete("goods", [(50, "k1", 3)])
                assert db._state.compiled.drafts is None
        made.append(db._state.engine.program)
        db.verify(maps=True)
    assert made[0].triggers == made[1].triggers
    assert made[0].updates == made[1].updates
    kept, anew = ({name: identity(decl) for name, decl in program.maps.items()} for program in made)
    assert kept == anew


def still_right(db: nl.Database) -> None:
    """After more changes as well."""
    agrees_with_its_indexes(db._state.engine)
    db.insert("goods", [(100, "k9", 50)])
    db.insert("sales", [(100, 1, 5, ["x", "y"]), (100, 1, 5, ["x", "y"])])
    db.delete("sales", where=lambda s: s.good == 3)
    agrees_with_its_indexes(db._state.engine)
    db.verify(maps=True)


def test_what_is_there_is_not_copied():
    db = shop()
    db.view(by_kind)
    before = stored(embedded(db._state.engine))
    db.view(by_day)
    db.table("other", {"a": int})
    after = stored(embedded(db._state.engine))
    assert before.items() <= after.items()
    assert len(after) > len(before)
    still_right(db)


def test_tables_declared_one_after_the_other_make_one_engine(monkeypatch):
    db, made = shop(), list[int]()
    db.view(by_kind)
    filled = db._state.engines.filled

    def counted(program: Any, old: Any) -> Any:
        made.append(len(program.tables))
        return filled(program, old)

    monkeypatch.setattr(db._state, "engines", replace(db._state.engines, filled=counted))
    before = stored(embedded(db._state.engine))
    for i in range(20):
        db.table(f"t{i}", {"id": int}, key="id")
    with pytest.raises(nl.QueryError):
        db.table("t3", {"id": str}, key="id")
    assert not made
    db.insert("t7", [(1,)])
    assert len(made) == 1
    assert before.items() <= stored(embedded(db._state.engine)).items()
    assert (db.tables["t7"].rows(), db.tables["t8"].rows()) == ([(1,)], [])
    db.verify(maps=True)


@pytest.mark.parametrize("then", ["refused", "dropped", "view"])
def test_what_is_defined_after_tables_that_nobody_used(then):
    db = shop()
    view = db.view(by_kind)
    db.table("late", {"id": int, "good": int}, key="id")
    match then:
        case "refused":
            with pytest.raises(nl.QueryError):
                db.view(ratio)
        case "dropped":
            db.drop("late")
            assert "late" not in db.tables
            return
        case "view":
            db.view(
                "lates", lambda late, goods: [(x.id, g.kind) for x in late for g in goods if g.id == x.good]
            )
            db.insert("late", [(1, 2)])
            assert db.views["lates"].rows() == [(1, "k2")]
    db.insert("late", [(7, 3)])
    db.insert("goods", [(100, "k0", 5)])
    assert (7, 3) in db.tables["late"].rows()
    assert view.rows()
    db.verify(maps=True)


def test_what_is_dropped_leaves_the_rest():
    db = shop()
    db.view(by_day)
    db.view(by_kind)
    tables = {
        word: at for word, at in stored(embedded(db._state.engine)).items() if word in ("T_goods", "T_sales")
    }
    db.drop("by_day")
    assert tables.items() <= stored(embedded(db._state.engine)).items()
    still_right(db)


def test_a_view_that_is_refused_leaves_all_as_it_was():
    db = shop()
    db.view(by_kind)
    db.view(by_day)
    engine, before = db._state.engine, stored(embedded(db._state.engine))
    with pytest.raises(nl.QueryError, match="cannot be computed from the rows in its tables"):
        db.view(ratio)
    assert db._state.engine is engine
    assert stored(embedded(engine)) == before
    still_right(db)


def test_a_definition_that_the_file_refuses_leaves_all_as_it_was(tmp_path, monkeypatch):
    db = shop(path=tmp_path / "shop.nest")
    db.view(by_kind)
    engine = db._state.engine

    def full(*_: Any) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(type(db._file), "define", full)
        with pytest.raises(OSError, match="no space"):
            db.view(by_day)
    assert db._state.engine is engine
    still_right(db)
    db.view(by_day)
    db.close()
    with nl.Database(tmp_path / "shop.nest") as again:
        again.verify(maps=True)


def per_day(sales):
    return [(d, max(s.n for s in sales if s.day == d)) for d in {s.day for s in sales}]


def dear(goods):
    return [g.id for g in goods if g.price > sum(h.price for h in goods if h.kind == g.kind) // 9]


def notes(sales):
    return [(s.good, n) for s in sales for n in s.notes]


POOL = {view.__name__: view for view in (by_kind, by_day, per_day, dear, notes)}


@given(st.lists(st.sampled_from([*POOL]), min_size=1, max_size=8), st.sampled_from(["eager", "hybrid"]))
def test_functions_that_are_kept_are_those_that_would_be_written(names, refresh):
    """Views come and go; after each the source is that of the program, written at once."""
    db = shop()
    for name in names:
        if name in db.views:
            db.drop(name)
        else:
            db.view(name, POOL[name], refresh=refresh)
        engine = db._state.engine
        assert embedded(engine).source == LocalEngine(engine.program).source
    still_right(db)


def all_written(db: nl.Database) -> dict[str, Generated]:
    """Every function, as if each had been asked for."""
    functions = embedded(db._state.engine).functions
    return {name: functions.function(name) for name in functions.drafts}


def test_what_no_new_view_touches_is_not_written_again():
    db = shop()
    db.view(by_kind)
    before = all_written(db)
    db.view(notes)
    db.table("other", {"a": int})
    after = all_written(db)
    kept = {name for name, function in before.items() if after[name] is function}
    assert {"on_goods", "on_goods_batch", "rows_of_by_kind"} <= kept
    assert after.keys() - before.keys() >= {"rows_of_notes", "on_other", "on_other_batch"}


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM base WHERE kind = 'k{i}'",
        "SELECT * FROM base WHERE total > {i}",
        "SELECT day, max(total) + {i} AS most FROM base GROUP BY day",
        "SELECT * FROM base ORDER BY total DESC LIMIT {i}",
    ],
)
def test_views_over_one_view_cost_it_once(text):
    """What the first over it adds is shared by the others: maps, and statements per change."""
    db = shop()
    db.view("base", "SELECT s.day, g.kind, sum(s.n) AS total FROM sales s JOIN goods g ON g.id = s.good "
                    "GROUP BY s.day, g.kind")  # fmt: skip
    for i in range(1, 9):
        db.view(f"over{i}", text.format(i=i))
        maps, statements = len(db._state.engine.program.maps), db._state.statements_of("sales")
        if i == 1:
            first = maps, statements
        assert (maps, statements) == first
    db.verify(maps=True)
