"""The examples of the papers that state results, exactly as stated.

[K] Koch, Lupei, Tannen: Incremental View Maintenance for Collection Programming, PODS 2016.
[GL] Griffin, Libkin: Incremental Maintenance of Views with Duplicates, SIGMOD 1995.
"""

from collections.abc import Mapping

import pytest

from nestling.calculus.evaluate import evaluate, look_up
from nestling.calculus.parse import parse, parse_type
from nestling.calculus.show import show
from nestling.calculus.terms import DictLit, Expr
from nestling.calculus.traverse import relations
from nestling.calculus.types import Bag, Type
from nestling.transform.classify import Verdict, classify
from nestling.transform.normalize import normalize
from nestling.transform.shred import Shredded, dictionaries, shred, unshred
from nestling.transform.theory.cost import (
    BagCost,
    Symbolic,
    cost,
    less,
    show_cost,
    size,
    symbolic_size,
    tcost,
)
from nestling.transform.theory.cost.cardinality import plus, times
from nestling.transform.theory.degree import TOP, degree
from nestling.transform.theory.delta import delta
from nestling.transform.theory.flags import infer_flags
from nestling.values.bag import ZBag
from nestling.values.label import Label


def catalog(**types: str) -> dict[str, Bag]:
    return {name: bag(parse_type(text)) for name, text in types.items()}


def bag(type_: Type) -> Bag:
    assert isinstance(type_, Bag)
    return type_


# [K] section 2: the motivating example


MOVIES = catalog(M="Bag(⟨name: str, gen: str, dir: str⟩)")
RELATED = parse(
    """
    for m in M union sng⟨
      name: m.name,
      related: bag_1(for m2 in M
                     where m.name != m2.name and (m.gen == m2.gen or m.dir == m2.dir)
                     union sng(m2.name))⟩
    """,
    MOVIES,
)
M = ZBag.of(("Drive", "Drama", "Refn"), ("Skyfall", "Action", "Mendes"), ("Rush", "Action", "Howard"))
JARHEAD = ZBag.of(("Jarhead", "Drama", "Mendes"))
BEFORE: dict[str, tuple[str, ...]] = {"Drive": (), "Skyfall": ("Rush",), "Rush": ("Skyfall",)}
AFTER: dict[str, tuple[str, ...]] = {
    "Drive": ("Jarhead",),
    "Skyfall": ("Rush", "Jarhead"),
    "Rush": ("Skyfall",),
    "Jarhead": ("Drive", "Skyfall"),
}
STATES = [pytest.param(M, BEFORE, id="M"), pytest.param(M + JARHEAD, AFTER, id="M ⊎ ΔM")]
U = frozenset("M")


def table(rows: Mapping[str, tuple[str, ...]]) -> ZBag:
    return ZBag.of(*((name, ZBag.of(*inner)) for name, inner in rows.items()))


@pytest.fixture(scope="module")
def shredded() -> Shredded:
    return shred(infer_flags(normalize(RELATED)))


@pytest.fixture(scope="module")
def definition(shredded) -> DictLit:
    (_, found), *more = dictionaries(shredded.context)
    assert isinstance(found, DictLit)
    assert not more
    return found


@pytest.mark.parametrize(("movies", "expected"), STATES)
def test_example_1_related(movies, expected):
    assert evaluate(RELATED, {"M": movies}) == table(expected)


def test_example_1_by_its_delta():
    change = evaluate(delta(RELATED, U), {"M": M, "ΔM": JARHEAD})

    assert table(BEFORE) + change == table(AFTER)
    assert change.negative() == table({"Drive": (), "Skyfall": ("Rush",)})


@pytest.mark.parametrize(("movies", "expected"), STATES)
def test_section_2_2_tables(shredded, definition, movies, expected):
    """related^F lists ⟨name, ⟨ι, m⟩⟩ and related^Γ maps each label to its bag."""
    labels = {name: Label(1, (name, gen, dir_)) for name, gen, dir_ in movies}

    assert evaluate(shredded.flat, {"M": movies}) == ZBag.of(*labels.items())
    for name, label in labels.items():
        assert look_up(definition, label, {"M": movies}) == ZBag.of(*expected[name])


@pytest.mark.parametrize(("movies", "expected"), STATES)
def test_section_2_2_related_is_recovered(shredded, movies, expected):
    """related = for r in related^F union sng⟨r.1, related^Γ(r.2)⟩"""
    assert evaluate(unshred(shredded), {"M": movies}) == table(expected)


def test_section_2_2_queries_as_printed(shredded, definition):
    assert show(shredded.flat) == ("for m in M union sng⟨name: m.name, related: inL_1(m.name, m.gen, m.dir)⟩")
    assert show(definition.body) == (
        "for m2 in M where m_name != m2.name and (m_gen == m2.gen or m_dir == m2.dir) union\n  sng(m2.name)"
    )


def test_section_2_2_deltas_as_printed(shredded, definition):
    assert show(delta(shredded.flat, U)) == (
        "for m in ΔM union sng⟨name: m.name, related: inL_1(m.name, m.gen, m.dir)⟩"
    )
    assert show(delta(definition.body, U)) == (
        "for m2 in ΔM where m_name != m2.name and (m_gen == m2.gen or m_dir == m2.dir) union\n  sng(m2.name)"
    )


def test_related_is_maintained_by_its_parts(shredded, definition):
    """Labels in use gain what δ(related^Γ) says; the new label is initialised on the new state."""
    state = {"M": M, "ΔM": JARHEAD}
    change = delta(definition.body, U)
    rows: dict[str, ZBag | None] = {}
    for name, label in evaluate(shredded.flat, state):
        old = look_up(definition, label, state)
        assert old is not None
        env = {param.name: value for param, value in zip(definition.params, label.environment, strict=True)}
        rows[name] = old + evaluate(change, state, env)
    for name, label in evaluate(delta(shredded.flat, U), state):
        rows[name] = look_up(definition, label, {"M": M + JARHEAD})

    assert rows == {name: ZBag.of(*inner) for name, inner in AFTER.items()}


def test_degrees_of_related(shredded, definition):
    """related is not polynomial; both its parts are of degree 1, and their deltas read no input."""
    assert degree(RELATED) == TOP
    assert [degree(part) for part in (shredded.flat, definition.body)] == [1, 1]
    assert [degree(delta(part, U)) for part in (shredded.flat, definition.body)] == [0, 0]
    assert classify(infer_flags(normalize(RELATED))).verdict is Verdict.EFFICIENT


# [K] section 4


def test_examples_2_and_3_filter():
    """δ(filter_p) = for x in ΔR where p(x) union sng(x)"""
    query = parse("for x in R where x < 3 union sng(x)", catalog(R="Bag(int)"))

    assert show(delta(query, frozenset("R"))) == "for x in ΔR where x < 3 union sng(x)"


def test_example_4_higher_order_deltas():
    """h = flatten(R) × flatten(R), of degree 2; δ(h) of degree 1; δ²(h) of degree 0"""
    query = parse("⟨a: flatten(R) × b: flatten(R)⟩", catalog(R="Bag(Bag(int))"))
    first = delta(query, frozenset("R"))
    second = delta(first, frozenset("R"), order=2)

    assert [degree(each) for each in (query, first, second)] == [2, 1, 0]
    assert show(first).split("\n⊎ ") == [
        "⟨a: flatten(ΔR) × b: flatten(ΔR)⟩",
        "⟨a: flatten(ΔR) × b: flatten(R)⟩",
        "⟨a: flatten(R) × b: flatten(ΔR)⟩",
    ]
    assert show(second) == ("⟨a: flatten(ΔR) × b: flatten(Δ2R)⟩ ⊎ ⟨a: flatten(Δ2R) × b: flatten(ΔR)⟩")
    assert not relations(second)


def test_example_4_recursive_maintenance():
    """H₀ := H₀ ⊎ H₁[U] and H₁[ΔR] := H₁[ΔR] ⊎ δ²(h)[ΔR, U]"""
    query = parse("⟨a: flatten(R) × b: flatten(R)⟩", catalog(R="Bag(Bag(int))"))
    first = delta(query, frozenset("R"))
    second = delta(first, frozenset("R"), order=2)
    old, now, later = ZBag.of(ZBag.of(1), ZBag.of(2, 2)), ZBag.of(ZBag.of(3)), ZBag({ZBag.of(1): -1})
    new = old + now

    h0 = evaluate(query, {"R": old}) + evaluate(first, {"R": old, "ΔR": now})
    h1 = evaluate(first, {"R": old, "ΔR": later}) + evaluate(second, {"ΔR": later, "Δ2R": now})

    assert h0 == evaluate(query, {"R": new})
    assert h1 == evaluate(first, {"R": new, "ΔR": later})
    assert h0 + h1 == evaluate(query, {"R": new + later})


def test_section_1_cost_of_a_nested_bag():
    """{{a}, {b}, {c, d}} has cost 3{2}: three elements, of at most two."""
    value = ZBag.of(ZBag.of("a"), ZBag.of("b"), ZBag.of("c", "d"))

    assert show_cost(size(value, parse_type("Bag(Bag(str))"))) == "3{2{1}}"


def test_example_5_size():
    value = ZBag.of(("Comedy", ZBag.of("Carnage")), ("Animation", ZBag.of("Up", "Shrek", "Cars")))

    assert show_cost(size(value, parse_type("Bag(⟨genre: str, movies: Bag(str)⟩)"))) == "2{⟨1, 3{1}⟩}"


def test_example_6_cost():
    """C[related] = |M|{⟨1, |M|{1}⟩}, time |M|·(1 + |M|)"""
    n = Symbolic.size_of("M")
    estimate = cost(RELATED, {"M": symbolic_size("M", MOVIES["M"])})

    assert show_cost(estimate) == "|M|{⟨1, |M|{1}⟩}"
    assert tcost(estimate) == times(n, plus(1, n))


def test_section_4_2_filter_is_efficiently_incrementalizable():
    """C[filter_p[R]] = C[R], so C[ΔR] ≺ C[R] implies C[filter_p[ΔR]] ≺ C[filter_p[R]]"""
    query = parse("for x in R where x < 3 union sng(x)", catalog(R="Bag(int)"))
    known = {"R": BagCost(5, size(0, parse_type("int"))), "ΔR": BagCost(2, size(0, parse_type("int")))}

    assert cost(query, known) == known["R"]
    assert less(cost(delta(query, frozenset("R")), known), cost(query, known))


# [GL] section 1: parts received and not yet paid for

SHOP = catalog(
    S1="Bag(⟨pid: str, cost: int, date: str⟩)",
    S2="Bag(⟨pid: str, cost: int, date: str⟩)",
    Paid="Bag(⟨pid: str, cost: int, s: int⟩)",
    Unpaid="Bag(⟨pid: str, cost: int⟩)",
)
FIGURE_1 = {
    "S1": ZBag.of(("P1", 1200, "09/12"), ("P2", 2100, "08/27"), ("P3", 1300, "09/11"), ("P4", 1400, "08/25")),
    "S2": ZBag.of(("P1", 1200, "09/05"), ("P4", 1400, "08/24"), ("P5", 4000, "09/03")),
    "Paid": ZBag.of(("P1", 1200, 1), ("P5", 4000, 2)),
}
UNPAID_THEN = ZBag.of(("P1", 1200), ("P2", 2100), ("P3", 1300), ("P4", 1400), ("P4", 1400))
CHANGE = ZBag([(("P5", 4000, 2), -1), (("P3", 1300, 1), 1)])

V1 = "(for x in S1 union sng⟨pid: x.pid, cost: x.cost⟩) ⊎ for x in S2 union sng⟨pid: x.pid, cost: x.cost⟩"
V2 = "for x in Paid union sng⟨pid: x.pid, cost: x.cost⟩"
UNPAID = parse(f"monus({V1}, {V2})", SHOP)
UNPAID_AS_SETS = parse(f"monus(distinct({V1}), distinct({V2}))", SHOP)


def owe(unpaid: Expr) -> Expr:
    """TOTAL(Π_cost(unpaid))"""
    return parse(f"fold n := sum(for u in {show(unpaid)} union sng(u.cost)) in sng(n)", SHOP)


def test_figure_1_unpaid():
    assert evaluate(UNPAID, FIGURE_1) == UNPAID_THEN


def test_owe_is_7400():
    assert evaluate(owe(UNPAID), FIGURE_1) == ZBag.of(7400)


def test_owe_under_set_semantics_is_4800():
    assert evaluate(owe(UNPAID_AS_SETS), FIGURE_1) == ZBag.of(4800)


def test_changes_of_unpaid():
    """∇Unpaid = {⟨P3, 1300⟩}, △Unpaid = {⟨P5, 4000⟩}"""
    change = evaluate(delta(UNPAID, frozenset({"Paid"})), {**FIGURE_1, "ΔPaid": CHANGE})

    assert change.negative() == ZBag.of(("P3", 1300))
    assert change.positive() == ZBag.of(("P5", 4000))


def test_owe_is_10100_afterwards():
    """Owe' = (Owe − TOTAL(∇Unpaid)) + TOTAL(△Unpaid)"""
    state = {**FIGURE_1, "ΔPaid": CHANGE}
    change = evaluate(delta(owe(UNPAID), frozenset({"Paid"})), state)

    assert ZBag.of(7400) + change == ZBag.of(10100)
    assert 7400 - 1300 + 4000 == 10100
    assert evaluate(owe(UNPAID), {**FIGURE_1, "Paid": FIGURE_1["Paid"] + CHANGE}) == ZBag.of(10100)
