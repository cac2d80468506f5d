"""A hundred thousand answers against DuckDB and Python, whatever the knobs; a few of them in every run of the tests.

A comparison is one view's complete answer against its oracle after one change. A failure prints a program that shows
it, as short as it could be made.
"""

import pytest

from tests.soak.plan import Plan, plan
from tests.soak.run import Tally, played
from tests.soak.shrink import report

#: Some plans have budgets that their views outgrow: it is said, and they answer on.
pytestmark = pytest.mark.filterwarnings("ignore::nestling.errors.OverBudget")

#: The soak makes so many comparisons, in parts that can run side by side.
COMPARISONS, PARTS = 100_000, 100
#: No more than this share of the views may be refused, lest nothing be tested.
REFUSED = 0.1
#: Nor may the oracle have nothing to say of more.
UNJUDGED = 0.1


def soak(first: int, comparisons: int, changes: int) -> Tally:
    """Plans from seed ``first`` on, until enough was compared."""
    tally, seed = Tally(), first
    while tally.comparisons < comparisons:
        tally.add(compared(plan(seed, changes)))
        seed += 1
    return tally


def compared(made: Plan) -> Tally:
    """What was compared; a failure is made small and shown."""
    try:
        return played(made)
    except Exception as error:  # noqa: BLE001 - any error is a finding, and is raised again, small
        message = f"{type(error).__name__}: {error}"
    pytest.fail(report(made, message), pytrace=False)


@pytest.mark.parametrize("seed", [4, 5, 6, 7])
def test_a_few_plans(seed):
    assert compared(plan(seed, 15, 3)).comparisons


@pytest.mark.soak
@pytest.mark.parametrize("part", range(PARTS))
def test_a_hundred_thousand_comparisons(part):
    tally = soak(1_000_000 + part * 1_000, COMPARISONS // PARTS, 100)

    assert tally.comparisons >= COMPARISONS // PARTS
    assert sum(tally.refused_views.values()) <= REFUSED * (tally.accepted_views + 10), tally.refused_views
    assert tally.unjudged <= UNJUDGED * tally.comparisons
