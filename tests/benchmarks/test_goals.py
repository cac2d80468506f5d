"""Goals are met on the right side of their bound."""

import pytest

from benchmarks.parts.goals import Goal
from benchmarks.workloads.harness import Timing, slower


@pytest.mark.parametrize(
    ("measured", "at_least", "row"),
    [
        (1.25, False, ["x", "≤ 1.5×", "1.25×", "yes", ""]),
        (1.51, False, ["x", "≤ 1.5×", "1.51×", "no", ""]),
        (1.51, True, ["x", "≥ 1.5×", "1.51×", "yes", ""]),
        (1234.5, False, ["x", "≤ 1.5×", "1,234×", "no", ""]),
    ],
)
def test_a_line_of_the_closing_table(measured, at_least, row):
    assert Goal("x", measured, 1.5, at_least, "×").row() == row


def test_a_ratio_is_taken_round_by_round():
    """A round that was disturbed as a whole does not count for more."""
    base, job = Timing(10, (1.0, 9.0, 2.0)), Timing(20, (4.0, 36.0, 8.0))
    assert slower(job, base) == 2.0
