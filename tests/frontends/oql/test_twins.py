"""P8: one query in OQL, as a comprehension and in SQL has one answer, before and after changes; paths mean the same."""

import pytest

import nestling as nl
from nestling.errors import QueryError
from tests.frontends.oql.oracle import Oracle, same
from tests.frontends.oql.worlds import seen
from tests.objects import shop

#: OQL, Python, SQL; where SQL has no words for it, none.
TWINS = [
    (
        "select o.customer.name from o in orders",
        "[o.customer.name for o in orders]",
        "SELECT o.customer.name FROM orders o",
    ),
    (
        "select struct(no: o.no, region: o.customer.region.name) from o in orders",
        "[(o.no, o.customer.region.name) for o in orders]",
        "SELECT o.no, o.customer.region.name AS region FROM orders o",
    ),
    (
        'select o.no from o in orders where o.customer.region.name = "north"',
        "[o.no for o in orders if o.customer.region.name == 'north']",
        "SELECT no FROM orders WHERE customer.region.name = 'north'",
    ),
    (
        'select c.name from c in customers where c.region.name = "north" or c.credit = 0',
        "[c.name for c in customers if c.region.name == 'north' or c.credit == 0]",
        "SELECT c.name FROM customers c WHERE c.region.name = 'north' OR c.credit = 0",
    ),
    (
        "select c.name from c in customers where c.region.name = nil",
        "[c.name for c in customers if c.region.name is None]",
        "SELECT c.name FROM customers c WHERE c.region.name IS NULL",
    ),
    (
        "select c.referrer.referrer.address.city from c in customers",
        "[c.referrer.referrer.address.city for c in customers]",
        "SELECT c.referrer.referrer.address.city FROM customers c",
    ),
    (
        "select struct(c: c.name, n: (select o.no from o in c.orders)) from c in customers",
        "[(c.name, [o.no for o in c.orders]) for c in customers]",
        None,
    ),
    (
        "select struct(p: p.name, n: count(p.soldIn)) from p in products",
        "[(p.name, len(p.soldIn)) for p in products]",
        None,
    ),
    (
        "select struct(p: p.name, n: (select o.customer.name from o in p.soldIn)) from p in products",
        "[(p.name, [o.customer.name for o in p.soldIn]) for p in products]",
        None,
    ),
    (
        "select struct(no: o.no, t: sum(select l.product.cost * l.quantity from l in o.lines)) from o in orders",
        "[(o.no, sum(l.product.cost * l.quantity for l in o.lines)) for o in orders]",
        None,
    ),
    (
        "select w.name from o in orders, w in o.watchers",
        "[w.name for o in orders for w in o.watchers]",
        "SELECT w.name FROM orders o LATERAL VIEW explode(o.watchers) t AS w",
    ),
    (
        "select struct(city: k, n: count(partition)) from o in orders group by k: o.customer.address.city",
        "[(k, len([o for o in orders if o.customer.address.city == k]))"
        " for k in {o.customer.address.city for o in orders}]",
        "SELECT city, count(*) AS n FROM (SELECT o.customer.address.city AS city FROM orders o) GROUP BY city",
    ),
    (
        "select struct(r: k, n: sum(select x.o.no from x in partition)) from o in orders"
        " group by k: o.customer.region.name",
        None,
        "SELECT r, sum(no) AS n FROM (SELECT o.customer.region.name AS r, o.no FROM orders o) GROUP BY r",
    ),
    (
        "select struct(m: o.gift.name, y: o.date.year) from o in orders where o.gift.cost > 4",
        "[(o.gift.name, o.date.year) for o in orders if o.gift.cost > 4]",
        "SELECT o.gift.name AS m, year(o.date) AS y FROM orders o WHERE o.gift.cost > 4",
    ),
    (
        "select o.no from o in orders where exists l in o.lines: l.product.name = 'cup'",
        "[o.no for o in orders if any(l.product.name == 'cup' for l in o.lines)]",
        None,
    ),
    ("sum(select o.customer.credit from o in orders)", None, "SELECT sum(o.customer.credit) AS s FROM orders o"),
    (
        "select struct(a: o.no, b: p.no) from o in orders, p in orders where o.customer = p.customer and o.no < p.no",
        "[(o.no, p.no) for o in orders for p in orders if o.customer == p.customer and o.no < p.no]",
        "SELECT o.no AS a, p.no AS b FROM orders o JOIN orders p ON o.customer = p.customer AND o.no < p.no",
    ),
]  # fmt: skip


@pytest.mark.parametrize("twins", TWINS, ids=[str(i) for i in range(len(TWINS))])
def test_one_query_in_three_languages(twins):
    db = shop(nl.Database())
    made = defined(db, twins)
    agree(made, Oracle(*seen(db)).run(twins[0]))
    with db.transaction() as change:
        change.update("regions", key=1, set={"name": "east"})
        change.update("customers", key=3, set={"region": None, "credit": 7})
        change.update("orders", key=13, set={"customer": 3, "gift": 2})
        change.update("products", key=2, set={"cost": 1})
    agree(made, Oracle(*seen(db)).run(twins[0]))
    db.verify()


def defined(db, twins, name=""):
    """A view for each language that has words for the query."""
    texts = zip(("oql", "python", "sql"), twins, strict=True)
    return [
        db.view(name + language, text, language=language, strict=False) for language, text in texts if text
    ]


def agree(views, wanted):
    """Their answers are what is wanted; a language may have rows of one column where another has values."""
    is_scalar = not any(isinstance(value, tuple) for value in wanted)
    for view in views:
        rows = [row[0] if is_scalar and isinstance(row, tuple) else row for row in view.rows()]
        assert same(rows, wanted), view.name


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[o.customer.nam for o in orders]", ("field 'nam' is not in", "did you mean 'name'?")),
        ("[o.gift.name.x for o in orders]", ("has no field 'x'", "drop .x")),
        (
            "[c.referrer.address for c in customers]",
            ("a record that may be absent", "take one of its fields"),
        ),
        ("[o.lines.price for o in orders]", ("a bag has no field 'price'", "iterate over it")),
    ],
)
def test_paths_in_python_that_lead_nowhere(text, words):
    with pytest.raises(QueryError) as error:
        shop(nl.Database()).view("v", text, language="python")
    assert error.value.at is not None
    assert all(word in str(error.value) for word in words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "SELECT o.customer.name, count(*) FROM orders o GROUP BY o.customer.name",
            ("customer is neither a key", "read what it leads to in FROM first"),
        ),
        (
            "SELECT o.customer.nam FROM orders o",
            ("the row of customers has no column nam", "it has id, name"),
        ),
        (
            "SELECT c.referrer.address FROM customers c",
            ("a struct that may be absent", "take one of its fields"),
        ),
    ],
)
def test_paths_in_sql_that_lead_nowhere(text, words):
    with pytest.raises(QueryError) as error:
        shop(nl.Database()).view("v", text)
    assert error.value.at is not None
    assert all(word in str(error.value) for word in words)
