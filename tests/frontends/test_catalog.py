"""The catalog finds names, and says which one was meant."""

import pytest

from nestling.calculus.types import INT, record
from nestling.errors import QueryError
from nestling.frontend.catalog import Catalog

ROW = record(id=INT)


def test_names_types_and_keys():
    catalog = Catalog({"plain": INT})
    catalog.add("orders", ROW, key=["id"])

    assert dict(catalog) == {"plain": INT, "orders": ROW}
    assert (catalog.key("orders"), catalog.key("plain"), catalog.key("none")) == (("id",), (), ())

    catalog.remove("orders")
    assert list(catalog) == ["plain"]


@pytest.mark.parametrize(
    ("names", "wanted", "hint"),
    [
        (["orders", "items"], "order", "did you mean 'orders'?"),
        (["orders", "items"], "zzz", "there are items, orders"),
        ([], "orders", "there is none yet: declare a table first"),
    ],
)
def test_a_name_that_is_not_there(names, wanted, hint):
    with pytest.raises(QueryError) as caught:
        Catalog(dict.fromkeys(names, ROW)).find(wanted)

    assert (caught.value.what, caught.value.hint) == (f"there is no table or view {wanted!r}", hint)
