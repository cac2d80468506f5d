"""What tests share: the Hypothesis profiles, the ``--update`` option and one session of Spark.

``HYPOTHESIS_PROFILE`` chooses how property tests run. ``quick`` draws the same examples every time, so that a
change is judged by what it changed; ``laws`` draws new ones, and many, to find new bugs. A law sets no
``max_examples`` of its own, so that ``make laws`` can lengthen it.
"""

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.engines.spark.session import missing, session

QUICK_EXAMPLES = 100


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite the expected parts of tests/specs")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--update") and config.getoption("numprocesses", default=None):
        raise pytest.UsageError("--update writes files: run it without -n")


def _register(name: str, max_examples: int, always_the_same: bool) -> None:
    settings.register_profile(
        name,
        max_examples=max_examples,
        deadline=None,
        derandomize=always_the_same,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],  # a busy machine is no fault of the law
    )


_register("quick", QUICK_EXAMPLES, always_the_same=True)
_register("laws", 20 * QUICK_EXAMPLES, always_the_same=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


@pytest.fixture
def by_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark does everything: the driver takes nothing, however little it is."""
    monkeypatch.setattr("nestling.engine.spark.limits.MAX_DRIVER_VALUES", -1)


@pytest.fixture(scope="session")
def spark() -> Any:
    """The shared session; without Java the tests of it are skipped, and say so."""
    reason = missing()
    if reason:
        pytest.skip(reason)
    return session()
