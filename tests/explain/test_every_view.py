"""Whatever can be written as a comprehension has a program that keeps the rules, and can be explained."""

import json

import pytest

from nestling.calculus.types import Record
from nestling.database.definitions import TableDef, ViewDef
from nestling.database.explain import collect
from nestling.database.explain.html import as_html
from nestling.database.explain.text import as_text
from nestling.database.row_state import RowState
from nestling.frontend.comprehension import translate
from nestling.program.check import check_program
from nestling.program.show import show_program
from tests.explain.pages import Page
from tests.frontends.shop import CATALOG
from tests.frontends.views import VIEWS


@pytest.mark.parametrize("name", VIEWS)
def test_it_has_a_program_and_a_report(name):
    state = RowState()
    for table, record in CATALOG.items():
        assert isinstance(record, Record)
        state.add_table(TableDef(table, record))
    state.add_view(ViewDef("v", translate(VIEWS[name], CATALOG)))

    check_program(state.engine.program)
    assert ("view v:" in show_program(state.engine.program)) == ("v" in state.views.maintained)

    report = collect(state, "v", code=True)
    assert report.maintained == ("v" in state.views.maintained)
    assert report.maintained or report.reason
    assert as_text(report).startswith("view v: ")
    assert report.query in Page(as_html(report)).text
    assert json.loads(json.dumps(report.data())) == report.data()
    for function in report.code:
        compile(function.source, function.name, "exec")
