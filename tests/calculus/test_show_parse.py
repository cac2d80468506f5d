"""The concrete syntax: what is written, what is read back, and what is said of a wrong query."""

from datetime import date, datetime, timedelta
from decimal import Decimal
from textwrap import dedent
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestling.calculus.parse import parse, parse_dictionary, parse_term, parse_type
from nestling.calculus.show import brief, show
from nestling.calculus.terms import (
    BagVar,
    Call,
    Const,
    DictEmpty,
    DictInput,
    DictLit,
    DictUnion,
    Empty,
    Field,
    For,
    Guard,
    InL,
    InputChange,
    Let,
    Lookup,
    Node,
    Product,
    Relation,
    Sing,
    SingBag,
    Tuple,
    Union,
    Var,
)
from nestling.calculus.types import (
    BOOL,
    FLOAT,
    INT,
    LABEL,
    STR,
    UNIT,
    Bag,
    Dict,
    Record,
    Scalar,
    nullable,
    record,
    show_type,
)
from nestling.calculus.typing import check
from nestling.errors import QueryError

MOVIE = record(name=STR, gen=STR, dir=STR)
ORDER = record(day=INT, items=Bag(record(pid=INT, qty=INT)))
CATALOG = {
    "M": Bag(MOVIE),
    "R": Bag(INT),
    "S": Bag(INT),
    "B": Bag(Bag(INT)),
    "O": Bag(record(id=INT, orders=Bag(ORDER))),
    "my table": Bag(INT),
}
M, R, S = (Relation(name, CATALOG[name]) for name in "MRS")
WIDTHS = (1, 20, 88, 1000)

RELATED = (
    "for m in M union sng⟨name: m.name, related: bag_1(for m2 in M where m.name != m2.name and"
    " (m.gen == m2.gen or m.dir == m2.dir) union sng(m2.name))⟩"
)

EXPRESSIONS = """
R
ΔR
Δ2R
`my table` ⊎ Δ`my table` ⊎ Δ3`my table`
let X := R in X ⊎ X
let X := (let Y := R in Y) in X
let ΔR := R in ΔR ⊎ Δ2R
∅[int]
∅[⟨a: int?, b: Opaque(Bag(Label)), c: Dict(⟨⟩)⟩]
∅![int]
sng(1)
sng⟨⟩
sng⟨a: 1, b: ⟨c: 'x'⟩⟩
sng(⟨a: 1⟩.a)
sng_1(R)
sng!_22(R)
[true]
[1 < 2]
for x in R union sng(x)
for x in R where x > 1 union sng(x)
for _ in [true] union R
for _ in [true] where false union R
for x in R where x > 1 union for _ in [x > 2] union sng(x)
for x in (for y in R union S) union sng(x)
for x in R ⊎ S union sng(x)
for x in R ⊎ (for y in R union S) union sng(x)
for x in R union for y in S union R ⊎ S
⟨a: R × b: M⟩
⟨a: R × b: (for x in R union S)⟩
⟨a: R ×⟩
⟨×⟩
⟨a: sng(1) × b: sng(2)⟩
⟨a: sng_1(R) × b: S⟩
sng⟨a: 1, b: bag_2(R)⟩
sng⟨b: bag!_2(R)⟩
⊎(R)
⊎(⊎(R))
⊎(R ⊎ S)
⊎(R) ⊎ S
R ⊎ S ⊎ R
(R ⊎ S) ⊎ R
R ⊎ (S ⊎ R)
(for x in R union S) ⊎ R
R ⊎ for x in R union S ⊎ R
(R ⊎ for x in R union S) ⊎ R
R ⊎ let X := R in X
⊖R
⊖⊖R ⊎ ⊖S
⊖(R ⊎ S)
⊖(for x in R union S)
⊖⊎(R)
flatten(B)
flatten(for x in R union sng_1(S))
distinct(R)
monus(R, S)
restrict(R, S, R ⊎ S)
fold x := sum(R) in sng(x)
fold x := count(for y in R union S) in for y in R where y < x union sng(y)
group x in M by k := x.gen as X union sng⟨k: k, n: bag_1(X)⟩
group x in M by k := ⟨g: x.gen, d: x.dir⟩ as X union sng(k)
group _ in R by _ := 1 as _ union S
O.orders(inL_1())
ΔO.orders(inL_1(1, 'x'))
Δ2O.orders.items(inL_1())
B.*(inL_2())
[⟨1⟩ ↦ R](inL_1())
[⟨1, m_name: str⟩ ↦ for x in M where x.name == m_name union sng(x)](inL_1('a'))
[][int](inL_2())
([⟨1⟩ ↦ R] ∪ [][int] ∪ B.*)(inL_1())
([⟨1⟩ ↦ R] ∪)(inL_1())
(([⟨1⟩ ↦ R] ∪ [⟨2⟩ ↦ R]) ∪ [][int])(inL_1())
for `for` in R where `for` > 1 union sng(`for`)
for `first name` in M union sng⟨`a b`: `first name`.name, in: 1, sng_1: 2⟩
for distinct in R union distinct(sng(distinct))
""".strip().splitlines()

TERMS = """
x
x.a
x.r.b
⟨a: 1, r: x.r⟩
⟨⟩
-1
1 - (-1)
(-1) - 1
-1 == 1
-1[int?]
1 + (-1[int?])
1[int?]
true[bool?]
'a'[str?]
1[float]
null[str]
1.5
1e+16
-1.5e-07
float('inf')
float('-inf')
'it\\'s "quoted"\\n\\\\'
"it's"
'π\\u2028\\ud800'
b'\\x00\\xff"'
true and false
decimal('1.20')
decimal('NaN')
date('2020-01-31')
datetime('2020-01-31T10:00:00')
datetime('2020-01-31T10:00:00.000001+02:00')
timedelta(1, 2, 3)
timedelta(-1, 2, 3)
x.a + 1 - 2 * 3 // 4 % 5 / 6
x.a - (1 - 2)
(x.a + 1) * 2
x.a * (2 * 3)
true or false and true
(true or false) and true
true or (false or true)
not true
not not true
not 1 == 2
(not true) == false
not (true and false)
not true and false
1 == 2 == true
1 = 2
true == (1 < 2)
if(true, 1, 2)
neg(x.a)
coalesce(null[int], 1)
inL_1(1, 'a')
inL_22()
""".strip().splitlines()

SCOPE = {"x": Var("x", record(a=INT, r=record(b=INT)))}


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expressions_are_read_and_written(text):
    expr = parse(text, CATALOG)

    check(expr)
    assert show(expr, 1000) == text
    assert all(parse(show(expr, width), CATALOG) == expr for width in WIDTHS)


@pytest.mark.parametrize("text", TERMS)
def test_terms_are_read_and_written(text):
    term = parse_term(text, SCOPE)

    assert show(term, 1000) == text
    assert all(show(parse_term(show(term, width), SCOPE), 1000) == text for width in WIDTHS)


def test_the_related_movies():
    m, m2 = Var("m", MOVIE), Var("m2", MOVIE)
    alike = [Call("==", (Field(m, name), Field(m2, name))) for name in ("gen", "dir")]
    other = Call("!=", (Field(m, "name"), Field(m2, "name")))
    test = Call("and", (other, Call("or", (alike[0], alike[1]))))
    related = For(m2, M, For(Var("_", UNIT), Guard(test), Sing(Field(m2, "name"))))
    query = For(m, M, Product((("name", Sing(Field(m, "name"))), ("related", SingBag(1, related)))))

    assert show(query, 1000) == RELATED
    assert parse(RELATED, CATALOG) == query
    assert all(parse(show(query, width), CATALOG) == query for width in WIDTHS)


LAID_OUT = {
    88: """
        for m in M union
          sng⟨
            name: m.name,
            related: bag_1(
              for m2 in M where m.name != m2.name and (m.gen == m2.gen or m.dir == m2.dir) union
                sng(m2.name)
            )
          ⟩
        """,
    60: """
        for m in M union
          sng⟨
            name: m.name,
            related: bag_1(
              for m2 in M
                where m.name != m2.name
                  and (m.gen == m2.gen or m.dir == m2.dir)
              union
                sng(m2.name)
            )
          ⟩
        """,
}


@pytest.mark.parametrize("width", LAID_OUT)
def test_a_long_query_is_laid_out(width):
    assert show(parse(RELATED, CATALOG), width) == dedent(LAID_OUT[width]).strip()


def test_binders_in_a_row_stand_flush():
    text = "let X := distinct(R) in fold n := count(X) in for x in X where x < n union sng(x) ⊎ ⊖(X ⊎ S)"

    assert (
        show(parse(text, CATALOG), 40)
        == dedent("""
        let X := distinct(R) in
        fold n := count(X) in
        for x in X where x < n union
          sng(x) ⊎ ⊖(X ⊎ S)
        """).strip()
    )


def test_a_loop_at_the_end_of_a_union_is_indented_behind_the_sign():
    text = "R ⊎ (for x in R union sng(x)) ⊎ for y in R where y != 1 union sng(y + 1)"

    assert (
        show(parse(text, CATALOG), 32)
        == dedent("""
        R
        ⊎ (for x in R union sng(x))
        ⊎ for y in R where y != 1 union
            sng(y + 1)
        """).strip()
    )


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        (True, BOOL),
        (-0.0, FLOAT),
        (2**70, INT),
        (-(2**70), nullable(INT)),
        (1, FLOAT),
        (1e300 * 1e10, FLOAT),
        (Decimal("-1.20"), Scalar("decimal")),
        (Decimal("1E+3"), nullable(Scalar("decimal"))),
        ("'\"\\\n`π\x00", STR),
        (b"'\"\\\n\x00\xff", Scalar("bytes")),
        (date(2020, 1, 31), nullable(Scalar("date"))),
        (datetime(2020, 1, 31, 10), Scalar("datetime")),
        (timedelta(days=-1, microseconds=5), Scalar("timedelta")),
        (None, nullable(STR)),
    ],
)
def test_constants_keep_value_and_type(value: Any, type_: Scalar):
    const = Const(value, type_)
    sum_ = Call("==", (const, const))

    assert parse_term(show(const)) == const
    assert parse_term(show(sum_, 1)) == sum_
    assert repr(parse_term(show(const))) == repr(const)


@given(st.text())
def test_any_name_can_be_written(name):
    """Names are read back, whatever they are made of."""
    row = Record(((name, INT), (name + "'", STR)))
    var = Var(name if name != "_" else "", row)
    query = For(var, Relation(name, Bag(row)), Sing(Tuple(((name, Field(var, name)),))))

    assert all(parse(show(query, width), {name: Bag(row)}) == query for width in WIDTHS)


@given(st.text())
def test_any_input_can_be_named(name):
    inner, expr = Bag(Bag(INT)), Union((Relation(name, Bag(INT)), InputChange(name, Bag(INT), 2)))
    dictionary = DictInput(name, (name, "*"), INT, 1)
    rows = Let(BagVar("X", inner), Empty(inner), Lookup(dictionary, InL(1, ())))

    assert parse(show(expr), {name: Bag(INT)}) == expr
    assert parse(show(rows), {f"{name}.{name}.*": Bag(INT)}) == rows


def test_a_variable_may_take_the_name_of_a_relation():
    var, change = BagVar("R", Bag(INT)), BagVar("ΔS", Bag(INT))
    query = Let(
        var, S, Let(change, InputChange("S", Bag(INT)), Union((var, R, change, InputChange("S", Bag(INT)))))
    )

    assert show(query) == "let R := S in let ΔS := @ΔS in R ⊎ @R ⊎ ΔS ⊎ @ΔS"
    assert parse(show(query), CATALOG) == query


def test_an_element_may_have_the_name_of_a_relation():
    query = For(Var("R", INT), R, Union((Sing(Var("R", INT)), R)))

    assert show(query) == "for R in R union sng(R) ⊎ R"
    assert parse(show(query), CATALOG) == query


def test_open_expressions_are_read_in_their_scope():
    bag, element = BagVar("X", Bag(INT)), Var("x", INT)
    query = Union((bag, Sing(element)))

    assert parse(show(query), {}, {"X": bag, "x": element}) == query


def test_ascii_plus_plus_is_a_union():
    assert parse("R ++ S ++ R", CATALOG) == Union((R, S, R))


def test_dictionaries():
    param = Var("p", LABEL)
    literal = DictLit(3, (param,), Lookup(DictInput("O", ("orders", "items"), ITEM), param))
    both = DictUnion((literal, DictEmpty(ITEM)))

    assert show(both) == "([⟨3, p: Label⟩ ↦ O.orders.items(p)] ∪ [][⟨pid: int, qty: int⟩])"
    assert all(parse_dictionary(show(both, width), CATALOG) == both for width in WIDTHS)


ITEM = record(pid=INT, qty=INT)


def test_the_rows_of_a_dictionary_are_flat():
    assert parse_dictionary("O.orders", CATALOG) == DictInput("O", ("orders",), record(day=INT, items=LABEL))
    assert parse_dictionary("ΔO.orders.items", CATALOG) == DictInput("O", ("orders", "items"), ITEM, 1)


def test_an_opaque_level_of_a_dictionary_stays_a_bag():
    catalog = {"R": Bag(Bag(record(a=Bag(Bag(INT), True))))}

    assert parse_dictionary("R.*", catalog) == DictInput("R", ("*",), record(a=Bag(LABEL, True)))


def test_parentheses_around_a_dictionary_change_nothing():
    assert parse("(O.orders)(inL_1())", CATALOG) == parse("O.orders(inL_1())", CATALOG)


def test_a_catalog_may_name_dictionaries():
    catalog = {"R": Bag(record(items=LABEL)), "R.items": Bag(STR)}

    assert parse_dictionary("R.items", catalog) == DictInput("R", ("items",), STR)


@pytest.mark.parametrize(
    "type_",
    [INT, nullable(STR), UNIT, MOVIE, CATALOG["O"], Bag(INT, True), LABEL, Dict(record(a=LABEL))],
    ids=show_type,
)
def test_types(type_):
    assert parse_type(show_type(type_)) == type_
    assert parse(show(Empty(Bag(type_)), 1), {}) == Empty(Bag(type_))


def test_brief_is_one_line_and_short():
    query = parse(RELATED, CATALOG)

    assert brief(R) == "R"
    assert brief(query) == "for m in M union sng⟨name: m.name, rela…"
    assert len(brief(query, 10)) == 10


def test_what_is_ill_formed_can_still_be_shown():
    nowhere = Var("x", INT)
    shown: dict[str, Node] = {
        "⊎()": Union(()),
        "(∪)": DictUnion(()),
        "not(x, x)": Call("not", (nowhere, nowhere)),
        "==(x)": Call("==", (nowhere,)),
        "(-1).a": Field(Const(-1, INT), "a"),
        "(x + x).a": Field(Call("+", (nowhere, nowhere)), "a"),
    }

    assert {show(node): node for node in shown.values()} == shown


# errors


def refusal(text: str) -> str:
    with pytest.raises(QueryError) as caught:
        parse(dedent(text).strip(), CATALOG)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "for m in M union sng(m.nam)",
            """
            field 'nam' is not in ⟨name: str, gen: str, dir: str⟩
              line 1
                for m in M union sng(m.nam)
                                       ^^^
            hint: did you mean 'name'?
            """,
        ),
        (
            """
            for o in O union
              sng⟨
                id: o.id,
                n: o.orders + 1⟩
            """,
            """
            o.orders is a bag where + needs a scalar
              line 4
                    n: o.orders + 1⟩
                       ^^^^^^^^
            hint: aggregate the bag first: fold x := sum(…) in …
            """,
        ),
        (
            "for o in O where 1 < 2 and o.orders == o.orders union R",
            """
            o.orders is a bag where == needs a scalar
              line 1
                for o in O where 1 < 2 and o.orders == o.orders union R
                                           ^^^^^^^^
            hint: compare bags by content: fold n := count(differ(e₁, e₂)) in [n == 0]
            """,
        ),
        (
            "for movie in M union sng(mvie.name)",
            """
            'mvie' is not bound
              line 1
                for movie in M union sng(mvie.name)
                                         ^^^^
            hint: did you mean 'movie'?
            """,
        ),
        (
            "fold x := sum(M) in sng(x)",
            """
            sum does not take elements of type ⟨name: str, gen: str, dir: str⟩
              line 1
                fold x := sum(M) in sng(x)
                          ^^^
            hint: aggregate one scalar per element, nulls left out: for x in … union sng(x.field)
            """,
        ),
        (
            "for m in N union R",
            """
            there is no relation 'N'
              line 1
                for m in N union R
                         ^
            hint: there are: M, R, S, B, O, my table
            """,
        ),
        (
            "let X = R in X",
            """
            expected ':=' but found '='
              line 1
                let X = R in X
                      ^
            hint: the form is let X := … in …
            """,
        ),
        (
            "for x in R",
            """
            expected 'union' but found the end
              line 1
                for x in R
                          ^
            hint: the form is for x in … where … union …
            """,
        ),
    ],
)
def test_an_error_says_what_where_and_what_to_do(text, message):
    assert refusal(text) == dedent(message).strip()


@pytest.mark.parametrize(
    ("text", "what", "under"),
    [
        ("R ⊎ S ⊎ M", "⊎ joins bags of one type, not int and ⟨name: str, gen: str, dir: str⟩", "M"),
        ("monus(R, M)", "monus joins bags of one type, not int and ⟨name: str, gen: str, dir: str⟩", "M"),
        ("monus(R)", "monus takes 2 bags, not 1", "monus"),
        ("sng(lower('a', 'b'))", "lower takes 1 argument, not 2", "lower"),
        ("sng(1 + 'a')", "+ takes numbers, strings, or a date and a span, not int and str", "+"),
        ("[1 + 1]", "a condition is a bool, but 1 + 1 is a int", "1 + 1"),
        ("for x in R where x union S", "a condition is a bool, but x is a int", "x"),
        ("flatten(R ⊎ S)", "flatten needs a bag of bags, but the elements of R ⊎ S are int", "R ⊎ S"),
        ("O.orders(1)", "1 is not a label", "1"),
        ("O.ordrs(inL_1())", "there is no dictionary 'O.ordrs'", "O.ordrs"),
        ("O.orders", "a dictionary is not a bag", "O.orders"),
        ("([⟨1⟩ ↦ R] ∪ [][str])(inL_1())", "∪ joins bags of one type, not int and str", "[][str]"),
        ("(R ∪ S)", "expected ')' but found '∪'", "∪"),
        ("(B.* ∪ S)(inL_1())", "a bag is not a dictionary", "S"),
        ("fold x := sm(R) in sng(x)", "there is no aggregate 'sm'", "sm"),
        ("sng(sum(R))", "the value of sum needs a variable", "sum"),
        ("sum(R)", "the value of sum needs a variable", "sum"),
        ("distinkt(R)", "there is no operator 'distinkt'", "distinkt"),
        ("sng(lwer('a'))", "there is no function 'lwer'", "lwer"),
        ("sng(R)", "'R' is a bag, not an element", "R"),
        ("let X := R in sng(X)", "'X' is a bag, not an element", "X"),
        ("for o in O union for i in o.items union sng(i)", "'o' is an element, not a bag", "o"),
        ("for x in R union for x in R union S", "'x' is bound twice", "x"),
        ("[⟨1, x: int, x: str⟩ ↦ for x in R union S](inL_1())", "'x' is bound twice", "x"),
        ("for _ in R union sng(_)", "'_' is not bound", "_"),
        ("group o in O by k := o.orders as X union X", "a group's key is made of scalars", "o.orders"),
        ("sng⟨a: 1, a: 2⟩", "field 'a' stands twice in ⟨a: 1, a: 2⟩", "sng"),
        ("⟨a: R × a: S⟩", "field 'a' stands twice in ⟨a: R × a: S⟩", "⟨"),
        ("⟨a: R, b: S⟩", "expected '⟩' but found ','", ","),
        ("sng(-M)", "this is not a literal", "-M"),
        ("sng(date('2020-02-31'))", "this is not a literal", "date('2020-02-31')"),
        ("sng(-decimal('1'))", "this is not a literal", "-decimal('1')"),
        ("sng(timedelta(9999999999))", "this is not a literal", "timedelta(9999999999)"),
        ("sng(1[str])", "a literal of type int is not a str", "1"),
        ("sng(1[Bag(int)])", "'Bag' is not a type", "Bag"),
        ("∅[itn]", "'itn' is not a type", "itn"),
        ("for in in R union S", "expected a variable but found 'in'", "in"),
        ("for x in R union sng(x.1)", "expected a name but found '1'", "1"),
        ("sng()", "expected a term but found ')'", ")"),
        ("bag_1(R)", "expected a bag but found 'bag_1'", "bag_1"),
        ("R S", "expected the end but found 'S'", "S"),
        ("R ⊎ $", "'$' starts no word", "$"),
        ("sng('a)", '"\'" starts no word', "'"),
    ],
)
def test_the_caret_stands_under_the_culprit(text, what, under):
    with pytest.raises(QueryError) as caught:
        parse(text, CATALOG)

    error = caught.value
    assert error.what.startswith(what)
    assert error.at is not None
    assert error.at.text[error.at.column : error.at.column + error.at.length] == under


def test_carets_stay_on_their_line():
    message = refusal("flatten(\n\tfor x in R\r\n  union S)")

    assert message.splitlines()[1:4] == ["  line 2", "     for x in R ", "     " + "^" * 11]


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5000 + "R" + ")" * 5000,
        "⊖" * 5000 + "R",
        "sng(" + "1 + " * 5000 + "1)",
        "sng(" + "(" * 5000,
        "[" + "not " * 5000 + "true]",
        "for x in " * 5000,
        "∅[" + "Bag(" * 5000,
        "flatten(" * 5000,
    ],
    ids=lambda text: text[:12],
)
def test_absurd_nesting_is_refused(text):
    assert refusal(text).startswith("nested too deeply")


def test_a_number_of_absurd_length_is_refused():
    assert "expected" in refusal(f"sng({'9' * 5000})")
    assert "expected" in refusal(f"[⟨{'9' * 5000}⟩ ↦ R](inL_1())")
    assert "there is no relation" in refusal(f"Δ{'9' * 5000}R")


# any text at all

WORDS = sorted({word for text in [*EXPRESSIONS, *TERMS, RELATED] for word in text.split()})
PIECES = [
    *"⟨⟩()[],.:⊎⊖∅×↦∪@?!=<>+-*/%`'\"\\Δ_ \n\t\x00\ud800",
    ":=",
    "0",
    "1.5e",
    "sng_1",
    "inL_",
    "bag!_1",
    "x",
    "R",
]


def only_query_errors(text: str) -> None:
    """Whatever ``text`` is, it is read or politely refused; what is read is written and read again."""
    for read in (parse, parse_dictionary):
        try:
            node = read(text, CATALOG)
        except QueryError as error:
            assert error.at is not None
        else:
            check(node)
            assert show(read(show(node, 20), CATALOG)) == show(node)


@given(st.lists(st.sampled_from(WORDS + PIECES)).map(" ".join))
def test_word_soup(text):
    only_query_errors(text)


@given(st.lists(st.sampled_from(PIECES) | st.characters()).map("".join))
def test_letter_soup(text):
    only_query_errors(text)
    only_query_errors(f"sng({text})")


@given(st.sampled_from([*EXPRESSIONS, RELATED]), st.data())
def test_damaged_queries(text, data):
    """A valid text with a piece cut out and another put in."""
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 8)))
    piece = data.draw(st.sampled_from(["", *WORDS, *PIECES]))

    only_query_errors(text[:start] + piece + text[end:])


@given(st.sampled_from(TERMS), st.sampled_from(TERMS), st.integers(0, 30), st.integers(0, 30))
def test_terms_spliced(left, right, i, j):
    try:
        term = parse_term(left[:i] + right[j:], SCOPE)
    except QueryError as error:
        assert error.at is not None
    else:
        assert show(parse_term(show(term, 20), SCOPE)) == show(term)
