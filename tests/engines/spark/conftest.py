"""The shared session; without Java the tests here are skipped, and say so."""

from typing import Any

import pytest

from tests.engines.spark.session import missing, session


@pytest.fixture(scope="session")
def spark() -> Any:
    reason = missing()
    if reason:
        pytest.skip(reason)
    return session()
