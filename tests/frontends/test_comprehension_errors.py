"""What is refused, and in which words: what, where, what to write instead."""

import textwrap
from dataclasses import dataclass

import pytest

from nestling.errors import QueryError
from nestling.frontend.comprehension import translate
from tests.frontends.shop import CATALOG

#: A view, and the whole message.
CASES = {
    "[o.totl for o in orders if o.id]": """
        field 'totl' is not in ⟨id: int, cust: int, day: date, total: float, items: Bag(⟨pid: int, qty: in…
          line 1
            [o.totl for o in orders if o.id]
             ^^^^^^
        hint: did you mean 'total'?""",
    "[o.qty for o in orders]": """
        field 'qty' is not in ⟨id: int, cust: int, day: date, total: float, items: Bag(⟨pid: int, qty: in…
          line 1
            [o.qty for o in orders]
             ^^^^^
        hint: qty belongs to the elements of .items""",
    "[o.items.pid for o in orders]": """
        a bag has no field 'pid': Bag(⟨pid: int, qty: int, price: float⟩)
          line 1
            [o.items.pid for o in orders]
             ^^^^^^^^^^^
        hint: iterate over it: x.pid for x in …""",
    "[o.id for o in ordrs]": """
        there is no 'ordrs' here
          line 1
            [o.id for o in ordrs]
                           ^^^^^
        hint: did you mean 'orders'?""",
    "[(y := n.a) for n in numbers]": """
        an assignment expression (:=) is not supported
          line 1
            [(y := n.a) for n in numbers]
              ^^^^^^^^
        hint: bind it with an inner loop: for y in [f(x)]""",
    "sorted(numbers, key=lambda n: n.a)[2]": """
        only the first elements of a sorted bag can be taken
          line 1
            sorted(numbers, key=lambda n: n.a)[2]
            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        hint: take min(…) or max(…) for one element, sorted(…)[:k] for the first k, reverse=True for the last""",
    "[n.a for n in numbers for m in sorted(numbers)[: n.a]]": """
        the number of elements is a constant
          line 1
            [n.a for n in numbers for m in sorted(numbers)[: n.a]]
                                                             ^^^
        hint: write sorted(…)[:10]""",
    "[o.id for o in sorted(orders)[:3]]": """
        a bag has no order to sort by
          line 1
            [o.id for o in sorted(orders)[:3]]
                                  ^^^^^^
        hint: sort by scalars: key=lambda x: x.name""",
    "[n.a for n in sorted(numbers)]": """
        an order is kept at the end of a view, or in a list inside its rows: here it would be lost
          line 1
            [n.a for n in sorted(numbers)]
                          ^^^^^^^^^^^^^^^
        hint: sort last: sorted([… for x in …], key=…), or take the first k: sorted(…)[:k]""",
    "sorted(numbers, key=lambda n: n.a * 2)": """
        a list is read in the order of what its elements hold, and this key is computed
          line 1
            sorted(numbers, key=lambda n: n.a * 2)
                                ^^^^^^^^^^^^^^^^^
        hint: put it into the elements, and sort by that: sorted([(…, key) …], key=lambda x: x[-1])""",
    "sum(n.a for n in numbers)": """
        a view is a bag, not int
          line 1
            sum(n.a for n in numbers)
            ^^^^^^^^^^^^^^^^^^^^^^^^^
        hint: return a list of it: […]""",
    "[sum(n.m for n in numbers)]": """
        sum adds up numbers, and these may be None
          line 1
            [sum(n.m for n in numbers)]
                ^^^^^^^^^^^^^^^^^^^^^^
        hint: leave them out: … for x in … if x is not None""",
    "[sum((n.a for n in numbers), 5)]": """
        sum(…, start) is not supported
          line 1
            [sum((n.a for n in numbers), 5)]
                                         ^
        hint: add it: start + sum(…)""",
    "[max(numbers, key=len)]": """
        max(…, key=…) is not supported
          line 1
            [max(numbers, key=len)]
                              ^^^
        hint: take the max of the key, then the elements that have it""",
    "[n.a + c.name for n in numbers for c in customers]": """
        + takes numbers, strings, or a date and a span, not int and str
          line 1
            [n.a + c.name for n in numbers for c in customers]
             ^^^^^^^^^^^^
        hint: convert one side first""",
    "[n.a\n for n in numbers\n if n.a < 'x']": """
        < takes two comparable scalars, not int and str
          line 3
            if n.a < 'x']
               ^^^^^^^^^
        hint: convert one side first""",
    "[n.a if n.b else 'x' for n in numbers]": """
        the branches have no type in common: int and str
          line 1
            [n.a if n.b else 'x' for n in numbers]
             ^^^^^^^^^^^^^^^^^^^
        hint: convert one of them""",
    "[n.a for n in numbers if n.a in customers]": """
        a record is not compared with a scalar: int and ⟨id: int, name: str, vip: bool, note: str?⟩
          line 1
            [n.a for n in numbers if n.a in customers]
                                     ^^^^^^^^^^^^^^^^
        hint: take one of its fields: [x.id for x in …]""",
    "[o.tags - o.tags for o in orders]": """
        lists are not subtracted
          line 1
            [o.tags - o.tags for o in orders]
             ^^^^^^^^^^^^^^^
        hint: keep what is not in the other: [x for x in a if x not in b], or subtract sets""",
    "{o.cust: o.total for o in orders}": """
        the value of a dict must follow from its key, o.cust, and 'o' does not
          line 1
            {o.cust: o.total for o in orders}
                     ^
        hint: in Python the last one would win, and a bag has no last: aggregate, or list the pairs""",
    "{o.tags for o in orders}": """
        the elements of a set hold no bags: Bag(str)
          line 1
            {o.tags for o in orders}
             ^^^^^^
        hint: keep a list, or take the set of their scalar fields""",
    "[o.id for o in orders if o.tags == o.tags]": """
        lists are compared in order, and a bag has none
          line 1
            [o.id for o in orders if o.tags == o.tags]
                                     ^^^^^^^^^^^^^^^^
        hint: compare them as sets: set(a) == set(b)""",
    "[o.id for o in orders if (i.qty for i in o.items)]": """
        a generator is always true
          line 1
            [o.id for o in orders if (i.qty for i in o.items)]
                                     ^^^^^^^^^^^^^^^^^^^^^^^^
        hint: write a list: […]""",
    "[o.id for o in orders if o.ship]": """
        a record is always true: ⟨city: str, fee: int?⟩
          line 1
            [o.id for o in orders if o.ship]
                                     ^^^^^^
        hint: test one of its fields""",
    "[round(o.total, 2) for o in orders]": """
        round(…) is not supported
          line 1
            [round(o.total, 2) for o in orders]
             ^^^^^^^^^^^^^^^^^
        hint: compare with a tolerance, or keep whole units: int(x * 100)""",
    "[c.name.title() for c in customers]": """
        str has no method 'title' here
          line 1
            [c.name.title() for c in customers]
             ^^^^^^^^^^^^^^
        hint: there are lower, upper, strip, replace, startswith, endswith""",
    "[(n.a, None) for n in numbers]": """
        the type of None is not known here
          line 1
            [(n.a, None) for n in numbers]
             ^^^^^^^^^^^
        hint: write x if … else None, where x has the type""",
    "[a for a, b in numbers]": """
        3 fields are unpacked here: a, b, m
          line 1
            [a for a, b in numbers]
                   ^^^^
        hint: give each a name""",
    "[x async for x in numbers]": """
        async for is not supported
          line 1
            [x async for x in numbers]
                         ^
        hint: write for""",
    "[n.a for n in numbers": """
        this is not Python: '[' was never closed
          line 1
            [n.a for n in numbers
            ^""",
    "x = 1": """
        a view is one comprehension
          line 1
            x = 1
            ^
        hint: write [… for x in …], or one function that returns it""",
}


@pytest.mark.parametrize("text", CASES)
def test_the_message(text):
    assert refusal(text) == textwrap.dedent(CASES[text]).strip("\n")


def refusal(view):
    with pytest.raises(QueryError) as caught:
        translate(view, CATALOG)
    return str(caught.value)


MORE = {
    "[date(2024, 13, 1) for n in numbers]": "date: month must be in 1..12",
    "[date(n.a, 1, 1) for n in numbers]": "a constant is needed here",
    "[c.name.lower(1) for c in customers]": "lower takes 0 arguments here, not 1",
    "[abs(n.a, n.b) for n in numbers]": "abs takes one argument here",
    "[len(o.ship) for o in orders]": "len takes a bag or a string, not ⟨city: str, fee: int?⟩",
    "[any(o.tags, 1) for o in orders]": "any takes 1 argument, not 2",
    "[sum(*o.tags) for o in orders]": "sum(*…) is not supported",
    "[len(o.tags, key=1) for o in orders]": "len has no parameter 'key' here",
    "[n.a() for n in numbers]": "'a' is a field, not a function",
    "[(n.a, 1) == (n.a, 1, 2) for n in numbers]": "records of 2 and 3 fields are never equal",
    "[n.a < None for n in numbers]": "nothing is less or greater than None",
    "[len is None for n in numbers]": "a value is needed here, not builtin_function_or_method len",
    "[(1, 2) == n.a for n in numbers]": "a record is not compared with a scalar: ⟨_0: int, _1: int⟩ and int",
    "[n.a + None for n in numbers]": "None has no type here",
    "[(*n.a, 1) for n in numbers]": "* in a tuple takes a record, not int",
    "[{'a': 1, 'a': 2} for n in numbers]": "field 'a' stands twice",
    "[(lambda x: x)(y=1) for n in numbers]": "the lambda: 'y' is not a parameter",
    "[(lambda x: x)(1, x=1) for n in numbers]": "the lambda: 'x' is given twice",
    "[(lambda x: x)(*n) for n in numbers]": "the lambda: * and ** are not supported in a call",
    "[(lambda x: x)(1, 2) for n in numbers]": "the lambda takes 1 arguments, not 2",
    "[1 for a.b in numbers]": "a name is bound here, or several: a, b",
    "[1 for a, b in o.tags for o in orders]": "there is no 'o' here",
    "[a for o in orders for a, b in o.tags]": "only a record is unpacked, not str",
    "{r: 1 for r in lists}": "a key is made of scalars, not ⟨k: int, rows: Bag(Bag(int))⟩",
    "[{n.a: 1 for n in numbers}[1] for n in numbers]": "Bag(⟨key: int, value: int⟩) has no positions",
    "[0 if n.a else (1, 2) for n in numbers]": "the branches differ: int and ⟨_0: int, _1: int⟩",
    "[{1} if n.a else [2] for n in numbers]": "the branches differ: a set and a list",
    "[f'{o.total}' for o in orders]": "the text of a float is not supported",
    "[n.a | n.b for n in numbers]": "bits are not combined",
}


@pytest.mark.parametrize("text", MORE)
def test_what_is_refused(text):
    assert at(text)[0] == MORE[text]


def test_a_function_of_spark_is_told_from_pythons():
    def total(column):
        return column

    total.__module__ = "pyspark.sql.functions"

    what, _ = at(lambda numbers: [total(n.a) for n in numbers])
    assert what == "total is pyspark's here, not Python's"


@dataclass
class Computing:
    a: int

    def __post_init__(self):
        self.a += 1


def test_a_dataclass_that_computes_is_no_record():
    what, _ = at(lambda numbers: [Computing(n.a) for n in numbers])
    assert what == "Computing computes something when it is made"


def at(view):
    """The line shown and what is underlined in it."""
    with pytest.raises(QueryError) as caught:
        translate(view, CATALOG)
    place = caught.value.at
    assert place is not None
    return caught.value.what, place.text[place.column : place.column + place.length]


def loop(numbers):
    found = []
    for n in numbers:
        found.append(n.a)
    return found


def branch(numbers):
    if numbers:
        return [1]
    return [2]


def nothing(numbers):
    """Returns nothing."""


def early(numbers):
    return


def augmented(numbers):
    rows = [n.a for n in numbers]
    rows += [1]
    return rows


def generator(numbers):
    yield 1


def used_twice(numbers):
    rows = (n.a for n in numbers)
    return [len(list(rows)), sum(rows)]


def many(*tables):
    return [1]


def unknown_table(numbrs):
    return [n.a for n in numbrs]


def factorial(n):
    return n * factorial(n - 1)


def recursive(numbers):
    return [factorial(n.a) for n in numbers]


def recursive_inside(numbers):
    def again(x):
        return again(x)

    return [again(n.a) for n in numbers]


def pair(x, y):
    return (x, y)


def missing_argument(numbers):
    return [pair(n.a) for n in numbers]  # type: ignore[call-arg]


def imported(numbers):
    import math

    return [math.pi for n in numbers]


REFUSED_FUNCTIONS = {
    loop: ("a for statement is not supported", "for n in numbers:"),
    branch: ("an if statement is not supported", "if numbers:"),
    nothing: ("nothing returns nothing", "def nothing(numbers):"),
    early: ("None is returned here", "return"),
    augmented: ("an augmented assignment is not supported", "rows += [1]"),
    generator: ("yield is not supported", "yield 1"),
    used_twice: ("a generator is used up after one pass", "(n.a for n in numbers)"),
    many: ("the parameter *tables is not supported", "tables"),
    unknown_table: ("there is no table or view 'numbrs'", "numbrs"),
    recursive: ("a function that calls itself is not supported", "factorial(n - 1)"),
    recursive_inside: ("a function that calls itself is not supported", "again"),
    missing_argument: ("pair: 'y' is missing", "pair(n.a)"),
    imported: ("import is not supported", "import math"),
}


@pytest.mark.parametrize("view", REFUSED_FUNCTIONS, ids=lambda view: view.__name__)
def test_a_function_is_refused_where_it_goes_wrong(view):
    assert at(view) == REFUSED_FUNCTIONS[view]


def helper(item):
    return item.weight * 2


def test_an_error_in_a_helper_is_shown_in_the_helper():
    message = refusal(lambda orders: [helper(i) for o in orders for i in o.items])

    line = helper.__code__.co_firstlineno + 1
    assert message == textwrap.dedent(f"""\
        field 'weight' is not in ⟨pid: int, qty: int, price: float⟩
          {__file__}, line {line}
            return item.weight * 2
                   ^^^^^^^^^^^
        hint: the fields are pid, qty, price""")


def test_the_caret_counts_characters_not_bytes():
    assert at("[(n.a, 'für', n.x) for n in numbers]")[1] == "n.x"


def test_depth_is_refused_not_crashed_into():
    assert "nested too deeply" in refusal("[1" + " + 1" * 3000 + " for n in numbers]")
