"""What the embedded engine writes: the indexes it keeps, the terms it computes, and the changes it logs."""

import ast
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from nestling.calculus.build import call, const
from nestling.calculus.evaluate import evaluate_term
from nestling.calculus.functions import FUNCTIONS
from nestling.calculus.terms import Const, Var
from nestling.calculus.types import BOOL, INT, STR, nullable
from nestling.calculus.typing import term_type
from nestling.database.change import Change
from nestling.database.database import Database
from nestling.engine.local.engine import LocalEngine
from nestling.engine.python.terms import Scope, namespace, python, truth
from nestling.errors import NoValue
from nestling.values.bag import EMPTY, ZBag
from tests.database.moves import move
from tests.draws import draws
from tests.engines.terms import VARS, applicable, environments, scalar, terms
from tests.engines.worlds import KEYED, embedded
from tests.strategies import queries

#: What it is about is in its title.
pytestmark = pytest.mark.in_python

# programs


def is_related(m, m2):
    return m.name != m2.name and (m.gen == m2.gen or m.dir == m2.dir)


def related(M):
    return [(m.name, [m2.name for m2 in M if is_related(m, m2)]) for m in M]


def movies() -> Database:
    db = Database()
    db.table("M", {"name": str, "gen": str, "dir": str}, key="name")
    return db


def function(source: str, name: str) -> str:
    """The text of one generated function."""
    found = [
        node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and node.name == name
    ]
    return ast.get_source_segment(source, found[0]) or ""


def test_related_stores_the_table_and_its_indexes_alone():
    """Read by genre and by director; nothing else is kept, and a row costs its own writes."""
    db = movies()
    db.view(related)
    engine = db._state.engine

    assert not engine.program.maps
    assert embedded(engine).stores["M"].patterns == {(1,), (2,)}
    assert db._state.statements_of("M") == 0


def test_related_is_watched_by_three_slices():
    """The change of an inner bag is found by genre, by director, and by both: [a ∨ b] = [a] + [b] − [a][b]."""
    db = movies()
    db.view(related).subscribe(lambda change: None)
    engine = db._state.engine
    trigger = function(embedded(engine).source, "on_M")

    assert set(re.findall(r"\w+_by_\w+", embedded(engine).source)) == {"T_M_by_1", "T_M_by_2", "T_M_by_1_2"}
    assert embedded(engine).stores["M"].patterns == {(1,), (2,), (1, 2)}
    assert {decl.role for decl in engine.program.maps.values()} == {"watch"}
    # No loop goes through the table: each starts from a slice.
    assert "T_M.values()" not in trigger
    assert "T_M.items()" not in trigger
    assert db._state.statements_of("M") <= 10


def test_statements_do_not_grow_with_the_rows():
    db = movies()
    db.view(related).subscribe(lambda change: None)
    few = db.insert("M", [("a", "g", "d")])
    db.insert("M", [(f"b{i}", f"g{i}", f"d{i}") for i in range(100)])
    many = db.insert("M", [("c", "g", "d")])

    assert few.events == many.events == 1
    assert few.statements == many.statements


def test_a_group_by_is_kept_by_its_key():
    """One map of sums, found by whole keys: a row costs the same however many there are."""
    db = Database()
    db.table("o", {"id": int, "c": str, "q": int}, key="id")
    db.view("v", lambda o: [(c, sum(x.q for x in o if x.c == c)) for c in {x.c for x in o}])
    trigger = function(embedded(db._state.engine).source, "on_o")

    assert not db._state.views.on_read
    assert "for " not in re.sub(r"#.*", "", trigger)


def test_generated_source_is_the_same_every_time():
    """Names and order depend on the definitions alone, so that two runs can be compared."""
    sources = set()
    for _ in range(2):
        db = movies()
        db.view(related)
        db.view("names", lambda M: [(g, [m.name for m in M if m.gen == g]) for g in {m.gen for m in M}])
        sources.add(embedded(db._state.engine).source)

    assert len(sources) == 1


def shop() -> Database:
    db = Database()
    db.table("products", {"id": int, "name": str, "cost": int}, key="id")
    db.table(
        "sold", {"id": int, "product": int, "quantity": int}, key="id", references={"product": "products"}
    )
    return db


def test_a_function_is_written_when_it_is_asked_for():
    """Rows that come need no code for rows that go through another table, change, or are read."""
    db = shop()
    db.view("v", "select s.id, p.cost from sold s join products p on p.id = s.product", store="full")
    program = db._state.engine.program
    engine = LocalEngine(program)
    assert not engine.functions.written
    engine.triggers["products"]((1, "tea", 5), 1)
    engine.triggers["sold"]((1, 1, 2), 1)
    assert engine.functions.written.keys() == {"on_products", "on_sold"}
    assert engine.read("v") == ZBag({(1, 5): 1})
    with pytest.raises(KeyError):
        engine.triggers["nothing"]


def test_a_function_is_the_same_whenever_it_is_written():
    """In any order, alone or among all: what was written before leaves nothing behind."""
    db = shop()
    db.view("v", "select s.id, p.cost from sold s join products p on p.id = s.product", store="full")
    db.view("w", "select product, count(*) as n, max(quantity) as most from sold group by product")
    program = db._state.engine.program
    once, turned = LocalEngine(program), LocalEngine(program)
    for name in reversed(list(turned.functions.drafts)):
        turned.functions.function(name)
    assert len(turned.functions.drafts) > 8
    assert turned.source == once.source


def test_what_a_function_calls_is_there_with_it():
    """A batch of a table that passes nothing on calls the trigger of one row; readers and tables in many threads."""
    db = shop()
    db.view("v", "select s.id, p.cost from sold s join products p on p.id = s.product", store="full")
    engine = LocalEngine(db._state.engine.program)
    engine.batches["products"]([((1, "tea", 5), 1), ((2, "oil", 6), 1)])
    with ThreadPoolExecutor(8) as threads:
        read = list(threads.map(lambda _: engine.read("v"), range(8)))
    assert read == [ZBag()] * 8


def test_what_a_kept_reference_leads_to_is_taken_without_a_test():
    """By subscript, the shortest way; a partner that is declared by nothing is asked for first."""
    kept, free = shop(), shop()
    kept.view("v", "select s.id, p.cost from sold s join products p on p.id = s.product", store="full")
    free.view("v", "select s.id, p.cost from sold s join products p on p.id = s.quantity", store="full")
    texts = [function(embedded(db._state.engine).source, "on_sold") for db in (kept, free)]

    assert ["T_products[sold_product][2]" in text for text in texts] == [True, False]
    assert ["T_products.get(" in text for text in texts] == [False, True]


def test_a_referred_row_that_is_missing_joins_with_nothing():
    """A trigger that meets a child without its parent adds nothing for it, and fails at nothing."""
    db = shop()
    db.view("v", "select s.id, p.cost from sold s join products p on p.id = s.product", store="full")
    engine = embedded(db._state.engine)
    engine.triggers["sold"]((1, 7, 2), 1)

    assert not engine.read("v")
    assert engine.stored["sold"]


def test_a_group_that_is_read_by_part_of_its_key_is_kept_once():
    """Its count and its sum stand in one cell of one slice: a row of the view needs no second look."""
    db = shop()
    view = db.view(
        "v",
        "select p.name, g.quantity, g.n from products p "
        "join (select product, quantity, count(*) as n from sold group by product, quantity) g on g.product = p.id",
    )
    engine = embedded(db._state.engine)
    (group,) = engine.program.maps

    assert engine.stores[group].slices
    assert engine.stores[group].dictionaries == [engine.stores[group].slices]
    db.insert("products", [(1, "tea", 4)])
    db.insert("sold", [(1, 1, 2), (2, 1, 2), (3, 1, 5)])
    db.delete("sold", key=3)
    assert view.rows() == [("tea", 2, 2)]


# terms


def computed(text, scope, env):
    names = {scope.name(var): env[var.name] for var in VARS}
    return eval(text, {**namespace(), **names})


X, M, FLAG = Var("int", INT), Var("int?", nullable(INT)), Var("bool?", nullable(BOOL))
ENV = {var.name: None for var in VARS} | {"int": 0}
UNDEFINED = call("==", call("//", const(1), X), const(1))


@given(terms(), environments())
@example(Const("datetime.date", STR), ENV)
@example(call("+", Const("it's \\ datetime.x\n", STR), const("")), ENV)
@example(call("and", call("!=", X, const(0)), UNDEFINED), ENV)
@example(call("or", call("==", X, const(0)), UNDEFINED), ENV)
@example(call("and", call("=", M, X), UNDEFINED), ENV | {"int": 1, "int?": 2})
@example(call("if", call("=", M, X), const(1), call("//", const(1), call("+", X, const(1)))), ENV)
@example(call("-", const(1), call("-", const(2), const(3))), ENV)
@example(call("not", call("==", call("not", call("<", X, const(1))), call("<", X, const(2)))), ENV)
def test_a_term_as_python_means_what_it_means(term, env):
    """eval(python(t)) = [[t]], and undefined where [[t]] is; values of the same type"""
    scope = Scope()
    text = python(term, scope)
    try:
        expected = evaluate_term(term, env)
    except NoValue as error:
        with pytest.raises(type(error)):
            computed(text, scope, env)
        return
    found = computed(text, scope, env)

    # As text, so that 1 is not True, and NaN is itself.
    assert repr(found) == repr(expected)


@given(terms(2), terms(2), st.sampled_from(["=", "<", "!="]), environments())
def test_a_condition_as_python_is_true_where_it_is(left, right, operator, env):
    """a null is not true"""
    term = call(operator, left, right)
    assume(FUNCTIONS[operator] in applicable((scalar(term_type(left)), scalar(term_type(right)))))
    try:
        expected = evaluate_term(term, env) is True
    except NoValue:
        assume(False)
    scope = Scope()

    assert bool(computed(truth(term, scope), scope, env)) == expected


def test_names_of_variables_are_kept_apart():
    """Names that Python does not allow, or that are taken, are changed, and no two become one."""
    scope = Scope(["row"])
    names = [scope.name(Var(name, INT)) for name in ("a b", "a_b", "class", "row", "1", "", "é")]

    assert len(set(names)) == len(names)
    assert all(name.isidentifier() for name in names)
    assert "row" not in names and "class" not in names


# changes


def database() -> Database:
    db = Database()
    for name, table in KEYED.definitions.items():
        db.table(name, table.record, table.key)
    return db


@given(data=st.data())
def test_a_change_leads_from_one_answer_to_the_next(data):
    """the change of a commit, taken from the answer after it, gives the answer before it; ∇ ⊆ old, ∇ ∩ △ = ∅"""
    db = database()
    negation = data.draw(st.booleans())
    query = data.draw(queries("full", KEYED.schema.nested, fuel=3, schema=KEYED.schema, negation=negation))
    view = db.view("v", query, strict=False)
    heard: list[Change] = []
    view.subscribe(heard.append)
    for _ in range(3):
        before = view.bag()
        with db.transaction() as change:
            for _ in range(data.draw(st.integers(1, 3))):
                move(data.draw, db, change)
        after = view.bag()
        if not heard:
            assert after == before
            continue
        (told,) = heard
        heard.clear()
        assert told.before(after) == before
        assert told.version == db.version
        if not negation:
            assert all(before[row] >= times for row, times in told.rows.negative().items())
        assert all(inner.elements for inner in told.inner)


def test_changes_are_told_inside_rows():
    """A row that stays is not told whole: only what came to and went from its inner bag."""
    db = movies()
    view = db.view(related)
    heard: list[Change] = []
    view.subscribe(heard.append)
    db.insert("M", [("Drive", "Drama", "Refn"), ("Rush", "Action", "Howard")])
    db.insert("M", [("Jarhead", "Drama", "Mendes")])

    change = heard[-1]
    assert change.rows == ZBag.of(("Jarhead", ZBag.of("Drive")))
    (inner,) = change.inner
    assert (inner.key, inner.path, inner.inserted, inner.deleted) == (("Drive",), ("_1",), ["Jarhead"], [])
    assert inner.row == ("Drive", ["Jarhead"])


def test_a_row_that_comes_again_and_changes_inside():
    """The rows of one group share their inner bag: another row of it changes them all."""
    db = movies()
    view = db.view("v", lambda M: [(m.gen, [n.name for n in M if n.gen == m.gen]) for m in M])
    heard: list[Change] = []
    view.subscribe(heard.append)
    db.insert("M", [("a", "Drama", "x")])
    db.insert("M", [("b", "Drama", "x")])

    assert heard[-1].rows == ZBag([(("Drama", ZBag.of("a")), -1), (("Drama", ZBag.of("a", "b")), 2)])
    assert heard[-1].inner == ()


def test_a_view_of_bags_tells_its_rows():
    """The rows are bags themselves: there is no column to name them by."""
    db = Database()
    db.table("t", {"a": int, "items": list[int]}, key="a")
    view = db.view("v", lambda t: [[i for i in x.items if i > 0] for x in t])
    heard: list[Change] = []
    view.subscribe(heard.append)
    db.insert("t", [(1, []), (2, [5])])

    assert heard[-1].rows == ZBag.of(EMPTY, ZBag.of(5))

    db.table("t").at(1).items.insert([7])
    (inner,) = heard[-1].inner
    assert (inner.path, inner.inserted) == (("*",), [7])


def test_copies_of_an_element_change_together():
    """An inner bag inside an element that is there twice, in a row that is there twice."""
    db = Database()
    db.table("t", "a INT, rows ARRAY<STRUCT<b: INT, items: ARRAY<INT>>>")
    view = db.view("v", lambda t: [(x.a, [(r.b, [y.a for y in t if y.a == r.b]) for r in x.rows]) for x in t])
    heard: list[Change] = []
    view.subscribe(heard.append)
    db.apply({"t": ZBag([((1, ZBag([((2, EMPTY), 2)])), 2)])})
    before = view.bag()
    db.insert("t", [(2, [])])

    assert heard[-1].before(view.bag()) == before
    (inner,) = heard[-1].inner
    assert (inner.path, inner.within, inner.elements) == (("_1", "_1"), (2,), ZBag.of(2))


def test_the_law_is_not_about_nothing():
    """Many of the random views are logged, and many of their changes are inside rows."""
    logged = 0
    drawn = draws(queries("full", KEYED.schema.nested, fuel=3, schema=KEYED.schema), 60)
    for query in drawn:
        db = database()
        db.view("v", query, strict=False).subscribe(lambda change: None)
        logged += bool(db._state.views.watched["v"])

    assert logged >= 0.5 * len(drawn)
