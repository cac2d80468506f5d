"""Texts of OQL on Spark: the same answers as the oracle, before and after changes, in order where they have one."""

from typing import Any

import pytest

import nestling as nl
from nestling.errors import ChangeError
from tests import objects
from tests.frontends.oql.oracle import Oracle, same
from tests.frontends.oql.test_cases import HERE
from tests.frontends.oql.test_twins import TWINS, agree, defined
from tests.frontends.oql.worlds import MODELS, seen
from tests.specfile import cases, parse

pytestmark = pytest.mark.xdist_group("spark")

POLICIES = ("eager", "hybrid", "lazy")

#: What changes where all cases are compared: a table, a key, new values.
CHANGES: dict[str, list[tuple[str, int, dict[str, Any]]]] = {
    "shop": [
        ("regions", 1, {"name": "east"}),
        ("customers", 3, {"region": None}),
        ("orders", 13, {"customer": 3, "gift": 2}),
    ],
    "people": [("persons", 1, {"age": 19}), ("students", 3, {"dept": 1, "grade": None})],
}


@pytest.fixture(scope="module")
def shop(spark: Any, tmp_path_factory: Any) -> Any:
    with nl.Database(tmp_path_factory.mktemp("oql") / "lake", spark=spark) as db:
        yield objects.shop(db)


def texts(file: str, name: str, model: str) -> list[str]:
    found = cases(parse((HERE / file).read_text(encoding="utf-8")))
    return [case.input for case in found if case.name == name and [*case.args] == [model]]


def test_what_is_refused_is_refused_in_the_same_words(shop):
    """Every refusal of the spec: the front end says no before Spark is asked, and nothing is defined."""
    embedded = objects.shop(nl.Database())
    refused = texts("refused.spec", "refuse", "shop")
    assert len(refused) > 40
    for text in refused:
        said = []
        for db in (embedded, shop):
            with pytest.raises(nl.QueryError) as raised:
                db.view("refused", text, language="oql")
            said.append(str(raised.value))
            assert "refused" not in db.views
        assert said[0] == said[1]


def test_a_frame_comes_in_order(shop):
    text = "select c.name, c.credit from c in customers order by credit desc, name"
    view = shop.view("ranked", text, language="oql")
    wanted = [("Ada", 100), ("Cleo", 50), ("Dan", 0), ("Ben", None)]
    assert [tuple(row) for row in view] == wanted
    assert [tuple(row) for row in shop.view_df("ranked").collect()] == wanted


def test_element_of_several_is_refused(shop):
    text = 'element(select c.address.city from c in customers where c.name = "Ada")'
    view = shop.view("city", text, language="oql", strict=False)
    assert view.rows() == ["Rome"]
    with pytest.raises(ChangeError, match="the element of a collection of none or several has no value"):
        shop.insert("customers", [(9, "Ada", ("x", "y"), None, None, [], None)])
    assert view.rows() == ["Rome"]


def test_all_cases_are_the_same(shop):
    """The 48 cases of the shop in one database, under the policies in turn: as they stand, and after changes."""
    _are_the_same(shop, "shop", 48)


@pytest.mark.soak
def test_cases_of_families_are_the_same(spark, tmp_path):
    with nl.Database(tmp_path / "lake", spark=spark) as db:
        _are_the_same(MODELS["people"](db), "people", 7)


def test_one_query_in_three_languages(shop):
    """P8: one answer in OQL, as a comprehension and in SQL, after one change and another."""
    views = [defined(shop, twins, f"twin{i}") for i, twins in enumerate(TWINS)]
    for name in ("Cleo", "Cleo II"):
        shop.update("customers", key=3, set={"name": name, "credit": 7})
        data = seen(shop)
        for twins, made in zip(TWINS, views, strict=True):
            agree(made, Oracle(*data).run(twins[0]))


def _are_the_same(db: nl.Database, model: str, number: int) -> None:
    found = texts("cases.spec", "answer", model)
    assert len(found) == number
    views = {
        text: db.view(f"v{i}", text, language="oql", refresh=POLICIES[i % 3], strict=False)
        for i, text in enumerate(found)
    }
    for changes in ([], CHANGES[model]):
        with db.transaction() as change:
            for table, key, new in changes:
                change.update(table, key=key, set=new)
        data = seen(db)
        for text, view in views.items():
            assert same(view.rows(), Oracle(*data).run(text)), text
