"""The habits of users, with tables on Spark."""

import pytest

from tests.database.habits import CASES, ROWS, shop

pytestmark = pytest.mark.xdist_group("spark")


def test_every_habit_holds_on_spark(opened):
    orders = shop(opened())
    for case in CASES.values():
        case(orders)
        orders.sync(ROWS)
    opened().verify()
    (row,) = opened().sql("SELECT id, customer FROM orders WHERE customer = ?", ["bob"])
    assert row["customer"] == "bob"
