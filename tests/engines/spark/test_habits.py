"""The habits of users, with tables on Spark."""

import pytest

from tests.database.habits import CASES, ROWS, shop
from tests.habit_table import LINES, verdict

pytestmark = pytest.mark.xdist_group("spark")


def test_every_habit_holds_on_spark(opened):
    orders = shop(opened())
    for case in CASES.values():
        case(orders)
        orders.sync(ROWS)
    opened().verify()
    (row,) = opened().sql("SELECT id, customer FROM orders WHERE customer = ?", ["bob"])
    assert row["customer"] == "bob"


def test_the_table_of_habits_is_true_on_spark(opened, tmp_path):
    db = opened()
    for line in LINES:
        shop(db)
        assert verdict(line["code"], db, tmp_path) == line["spark"], line["habit"]
        for name in [*db.views, *db.tables]:
            db.drop(name)
