"""Texts of OQL on Spark: the same answers as the oracle, before and after changes, in order where they have one."""

from typing import Any

import pytest

import nestling as nl
from nestling.errors import ChangeError
from tests import objects
from tests.frontends.oql.oracle import Oracle, same
from tests.frontends.oql.test_cases import HERE
from tests.frontends.oql.worlds import MODELS, seen
from tests.specfile import cases, parse

pytestmark = pytest.mark.xdist_group("spark")

#: A few of the cases: optional paths, an inverse, groups, quantifiers, sets.
NUMBERS = (2, 9, 13, 14, 40)

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


def texts() -> list[str]:
    blocks = parse((HERE / "cases.spec").read_text(encoding="utf-8"))
    return [cases(blocks)[number - 1].input for number in NUMBERS]


def test_answers_are_the_same(shop):
    views = {
        f"v{i}": (text, shop.view(f"v{i}", text, language="oql", strict=False))
        for i, text in enumerate(texts())
    }
    for text, view in views.values():
        assert same(view.rows(), Oracle(*seen(shop)).run(text)), text

    with shop.transaction() as change:
        change.update("regions", key=1, set={"name": "east"})
        change.update("customers", key=3, set={"region": None})
        change.update("orders", key=13, set={"customer": 3, "gift": 2})
    for text, view in views.values():
        assert same(view.rows(), Oracle(*seen(shop)).run(text)), text
    for name in views:
        shop.drop(name)


@pytest.mark.soak
@pytest.mark.parametrize(("model", "number"), [("shop", 48), ("people", 7)])
def test_every_case_is_the_same(spark, tmp_path, model, number):
    """All cases of the spec, under one of the policies each: as they stand, and after changes."""
    found = [case.input for case in cases(parse((HERE / "cases.spec").read_text(encoding="utf-8")))
             if [*case.args] == [model]]  # fmt: skip
    assert len(found) == number
    with nl.Database(tmp_path / "lake", spark=spark) as db:
        MODELS[model](db)
        views, refused = {}, []
        for i, text in enumerate(found):
            policy = ("eager", "hybrid", "lazy")[i % 3]
            try:
                views[text] = db.view(f"v{i}", text, language="oql", refresh=policy, strict=False)
            except nl.QueryError as error:
                assert "Spark" in str(error), text
                refused.append(text)
        assert len(refused) <= 1, refused
        for changes in ([], CHANGES[model]):
            with db.transaction() as change:
                for table, key, new in changes:
                    change.update(table, key=key, set=new)
            for text, view in views.items():
                assert same(view.rows(), Oracle(*seen(db)).run(text)), text


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
