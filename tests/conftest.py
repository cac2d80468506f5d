"""What tests share: the Hypothesis profiles, the ``--update`` option and one session of Spark.

``HYPOTHESIS_PROFILE`` chooses how property tests run. ``quick`` draws the same examples every time, so that a
change is judged by what it changed; ``laws`` draws new ones, and many, to find new bugs. A law sets no
``max_examples`` of its own, so that ``make laws`` can lengthen it.
"""

import gc
import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.engines.spark.session import generated_code as generating
from tests.engines.spark.session import missing, session

QUICK_EXAMPLES = 100


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite the expected parts of tests/specs")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--update") and config.getoption("numprocesses", default=None):
        raise pytest.UsageError("--update writes files: run it without -n")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Have tests of one group run by one worker, and the modules on Spark each by one.

    xdist adds the group of a test to its id in an attribute that pytest 9.2 no longer reads; without this every test
    is a group of its own. There is a session in each worker, so what is made for a module is made once, and the
    modules go to whoever is free.
    """
    for item in items if getattr(config.option, "loadgroup", False) else ():
        groups = [mark.args[0] for mark in item.iter_markers("xdist_group")]
        if groups:
            group = item.nodeid.partition("::")[0] if groups[0] == "spark" else groups[0]
            item._id = type(item.id).parse(f"{item.id}@{group}")


def pytest_collection_finish() -> None:
    """What was imported and collected stays: it is not looked through again and again for what can go."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


def pytest_sessionfinish() -> None:
    """Libraries that count what they are left with at the end have it collected."""
    gc.unfreeze()


def _register(name: str, max_examples: int, always_the_same: bool) -> None:
    settings.register_profile(
        name,
        max_examples=max_examples,
        deadline=None,
        derandomize=always_the_same,
        print_blob=True,
        suppress_health_check=[
            HealthCheck.too_slow,  # a busy machine is no fault of the law
            HealthCheck.nested_given,  # tests.draws fills a pool while a law draws from it
        ],
    )


_register("quick", QUICK_EXAMPLES, always_the_same=True)
_register("laws", 20 * QUICK_EXAMPLES, always_the_same=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


@pytest.fixture(autouse=True)
def _engine_asked_for(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What looks into the dictionaries or the functions of the embedded engine asks for that engine."""
    if request.node.get_closest_marker("in_python"):
        monkeypatch.setenv("NESTLING_NATIVE", "0")


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


@pytest.fixture(scope="module")
def generated_code(spark: Any) -> Iterator[None]:
    """A module of tests for which Spark generates code, as it does for users."""
    with generating():
        yield
