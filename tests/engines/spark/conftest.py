"""What tests of databases on Spark share."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import nestling as nl
from nestling.engine.spark import stores
from nestling.storage.lake.folder import place_of
from tests.engines.spark.mounted import mounted
from tests.engines.spark.session import MASTER


@pytest.fixture(autouse=True)
def on_a_cluster(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the session is one of a cluster, every folder is reached by a scheme that is no path of the driver's."""
    if MASTER not in os.environ:
        return
    spark = request.getfixturevalue("spark")
    addresses: dict[str, str] = {}

    def behind(path: Any) -> Any:
        found = place_of(path)
        if isinstance(found, str):
            return found
        key = str(found.resolve())
        if key not in addresses:
            addresses[key] = f"{mounted(spark, found.resolve().parent)}/{found.name}"
        return addresses[key]

    monkeypatch.setattr(stores, "place_of", behind)


@pytest.fixture
def session(spark: Any) -> Any:
    """The session that a user gives; a test may have one of its own."""
    return spark


@pytest.fixture
def opened(session: Any, tmp_path: Path) -> Iterator[Callable[[], Any]]:
    """Opens one folder again and again; what is open at the end is closed."""
    found: list[Any] = []

    def open_again() -> Any:
        if found:
            found.pop().close()
        found.append(nl.Database(spark=session, path=tmp_path / "lake"))
        return found[0]

    yield open_again
    for db in found:
        db.close()
