"""Generated Python has one structure, whatever tables, columns, views and variables are called.

Names here come as from a file: nothing refuses them.
"""

import ast
from functools import cache
from typing import Any

import pytest

from nestling.calculus.types import INT, STR, Bag, record
from nestling.calculus.types import Record as RecordType
from nestling.database.database import Database
from nestling.database.definitions import TableDef, ViewDef
from nestling.frontend.catalog import Catalog
from nestling.frontend.comprehension import translate
from nestling.quoting import identifier
from tests.engines.worlds import embedded
from tests.hostile import BREAKING_OUT, NAMES, nothing_gets_in

#: The source is that of the embedded engine.
pytestmark = pytest.mark.in_python

PLAIN = {"table": "orders", "column": "cust", "bag": "items", "view": "spend", "value": "some text"}
QUERY = (
    "[{'who': o.cust, 'what': 'some text', 'with': [p.id for p in orders if p.cust == o.cust],"
    " 'items': o.items} for o in orders if o.cust != 'some text']"
)


class Anonymous(ast.NodeTransformer):
    """All words alike, and all texts; the rest stays."""

    def visit_Name(self, node: ast.Name) -> Any:
        return ast.Name("name", node.ctx)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        node.name = "name"
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> Any:
        return ast.arg("name")

    def visit_Constant(self, node: ast.Constant) -> Any:
        return ast.Constant("text") if isinstance(node.value, str) else node


def database(names: dict[str, str]) -> Database:
    """A database with a table, a view of it that is watched, and two rows."""
    db = Database()
    element = record(pid=INT, n=INT)
    own = RecordType((("id", INT), (names["column"], STR), (names["bag"], Bag(element))))
    query = translate(QUERY, Catalog({"orders": record(id=INT, cust=STR, items=Bag(element))}))
    db._state.add_table(TableDef(names["table"], own, ("id",)))
    db._state.add_view(ViewDef(names["view"], renamed(query, names)))
    db._logging.start(names["view"])
    for row in [(1, "x", [(1, 2)]), (2, "x", []), (3, names["value"], [])]:
        db.insert(names["table"], [row])
    return db


def renamed(node: Any, names: dict[str, str]) -> Any:
    """``node`` with the names of a table, of columns and of variables, and with a text, in place of others."""
    by = {
        "orders": names["table"],
        "cust": names["column"],
        "items": names["bag"],
        "some text": names["value"],
    }
    by |= {"o": names["column"], "p": f"{names['column']}_", "who": names["column"]}
    if isinstance(node, str):
        return by.get(node, node)
    if isinstance(node, tuple):
        return tuple(renamed(part, names) for part in node)
    if hasattr(node, "__dataclass_fields__"):
        parts = {field: renamed(getattr(node, field), names) for field in node.__dataclass_fields__}
        return type(node)(**parts)
    return node


def shape(source: str) -> str:
    return ast.dump(Anonymous().visit(ast.parse(source)))


@cache
def expected() -> Database:
    return database(PLAIN)


def harmless(name: str) -> bool:
    """A name that another thing of the same program has is no name here."""
    return name not in ("id", "o", "p", "pid", "n", "what", "with", "who", *PLAIN.values())


@pytest.mark.parametrize("place", PLAIN)
def test_the_structure_does_not_depend_on_names(place):
    """shape(source(name)) = shape(source(plain)), and the answers are the same"""
    plain = shape(embedded(expected()._state.engine).source)
    some = (*BREAKING_OUT, *NAMES[list(PLAIN).index(place) :: len(PLAIN)])
    for name in filter(harmless, some):
        with nothing_gets_in():
            db = database(PLAIN | {place: name})
        view = PLAIN["view"] if place != "view" else name
        found, wanted = db._state.read(view), expected()._state.read("spend")

        assert shape(embedded(db._state.engine).source) == plain, name
        if place != "value":
            assert found == wanted, name
        assert len(found) == len(wanted), name


def test_the_structure_is_not_lost():
    """Two programs that differ are seen to differ."""
    other = Database()
    other._state.add_table(TableDef("orders", record(id=INT, cust=STR), ("id",)))

    assert shape(embedded(other._state.engine).source) != shape(embedded(expected()._state.engine).source)
    assert "NESTLING" not in embedded(expected()._state.engine).source


def test_ordinary_names_are_seen_in_the_source():
    source = embedded(expected()._state.engine).source

    assert "def on_orders(row, times):" in source
    assert '"""The rows of spend: each with a multiplicity."""' in source
    assert f"def rows_of_{identifier('spend')}():" in source
