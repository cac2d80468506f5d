"""Laws of OQL on random models, objects, queries and changes, against loops over the objects."""

# mypy: allow-untyped-defs, allow-untyped-calls

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestling.calculus.evaluate import evaluate
from nestling.errors import QueryError
from nestling.frontend.bindings import Bindings
from nestling.frontend.catalog import Catalog
from nestling.frontend.oql import translate
from nestling.frontend.oql.parse import parse
from nestling.frontend.oql.show import show
from nestling.frontend.schema import row_value
from nestling.values.bag import ZBag
from tests.frontends.oql.draws import changes, models, objects, queries
from tests.frontends.oql.oracle import Data, Oracle, same
from tests.frontends.oql.worlds import WAYS, database

TOKENS = [
    "select", "distinct", "from", "in", "where", "group", "by", "having", "order", "asc", "desc", "as", "and",
    "or", "not", "andthen", "orelse", "for", "all", "exists", "struct", "bag", "set", "list", "nil", "true",
    "false", "define", "undefine", "element", "flatten", "first", "count", "sum", "like", "union", "except",
    "mod", "is", "null", "between", "abs", "any", "date", "a", "b", "c", "orders",
    "(", ")", "[", "]", ",", ".", ":", ";", "=", "<=", "<", "+", "-", "*", "..", "->", "1", "2.5", "'s'", '"t"', "$",
    "`select`", "`a b`", "`a``b`", "`count`", "`order`", "`",
]  # fmt: skip


@given(data=st.data())
def test_a_view_is_what_the_query_says_and_stays_so(data):
    """P1, P2: in every way of keeping it, at first and after every change."""
    model = data.draw(models())
    rows = data.draw(objects(model))
    text = data.draw(queries(model))
    db = database(model)
    for table, some in rows.items():
        db.insert(table, some)
    expr = translate(text, model).expr
    views = [
        db.view(f"v{i}", expr, refresh=refresh, store=store, strict=False)
        for i, (refresh, store) in enumerate(data.draw(st.permutations(WAYS))[:2])
    ]
    _compare(model, rows, text, views)
    for _ in range(data.draw(st.integers(1, 4))):
        change = data.draw(changes(model, rows))
        _apply(db, model, rows, change)
        _compare(model, rows, text, views)


def _compare(model: Catalog, rows: Data, text: str, views: Any) -> None:
    wanted = Oracle(model, rows).run(text)
    for view in views:
        assert same(view.rows(), wanted), f"{text}\n{rows}\n{view.rows()}\n{wanted}"


def _apply(db: Any, model: Catalog, rows: Data, change: tuple[str, Any]) -> None:
    def key(table: str, row: dict[str, Any]) -> Any:
        found = tuple(row[name] for name in model.key(table))
        return found[0] if len(found) == 1 else found

    match change:
        case "insert", (table, row):
            db.insert(table, [row])
            rows[table].append(row)
        case "update", (table, row, columns):
            db.update(table, key=key(table, row), set=columns)
            rows[table][rows[table].index(row)] = {**row, **columns}
        case "delete", (table, row):
            db.delete(table, key=key(table, row))
            rows[table].remove(row)
        case "move", (table, row, other, moved):
            with db.transaction() as both:
                both.delete(table, key=key(table, row))
                both.insert(other, [moved])
            rows[table].remove(row)
            rows[other].append(moved)


@given(data=st.data())
def test_a_join_and_a_bag_of_at_most_one_agree(data):
    """P3: what a condition says of a path that may be absent, whichever way the path is followed."""
    model = data.draw(models())
    rows, text = data.draw(objects(model)), data.draw(queries(model))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            Bindings, "skips_absent", property(lambda self: False, lambda self, value: None), raising=False
        )
        apart = translate(text, model).expr
    inputs = {table: ZBag.of(*(row_value(model[table], row) for row in some)) for table, some in rows.items()}
    assert evaluate(translate(text, model).expr, inputs) == evaluate(apart, inputs)


@given(data=st.data())
def test_what_is_shown_is_read_again(data):
    """P4."""
    model = data.draw(models())
    tree = parse(data.draw(queries(model)), frozenset(model))
    assert parse(show(tree), frozenset(model)) == tree


@given(st.lists(st.sampled_from(TOKENS), max_size=14).map(" ".join) | st.text(max_size=30))
def test_any_text_is_read_or_refused(text):
    """P4: nothing but ``QueryError`` is raised; and what is read is shown, and read again."""
    try:
        tree = parse(text, {"a"})
    except QueryError:
        return
    assert parse(show(tree), {"a"}) == tree


@given(data=st.data(), words=st.lists(st.sampled_from(TOKENS), max_size=4))
def test_any_text_is_translated_or_refused(data, words):
    """Texts that are nearly queries."""
    model = data.draw(models())
    text = data.draw(queries(model)).split(" ")
    place = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 3))
    broken = " ".join([*text[:place], *words, *text[place + length :]])
    try:
        translate(broken, model)
    except QueryError as error:
        assert error.what
