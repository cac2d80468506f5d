"""What fails while a lake is used, told as what it is: it cannot be opened, or a view cannot be computed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from nestling.engine.spark import limits
from nestling.engine.spark.remote import end_session
from nestling.engine.spark.session import first_line, own_session, parallelism
from nestling.engine.spark.written import probe
from nestling.errors import ChangeError, NestlingError, NoValue, StoreError
from nestling.storage.lake import Lake


@contextmanager
def readable(lake: Lake) -> Iterator[None]:
    """Whatever fails while a lake is read is told as what it is: this folder cannot be opened."""
    try:
        yield
    except StoreError:
        raise
    except Exception as error:
        # Files may say what none of ours says, and fail anywhere in what takes these for granted.
        what = (
            error.what
            if isinstance(error, NestlingError)
            else f"{type(error).__name__}: {first_line(str(error))}"
        )
        raise StoreError(
            f"{lake.place} cannot be opened: {what}", hint="restore it from a copy, if it was damaged"
        ) from error


def check_shared(lake: Lake, spark: Any) -> None:
    """Refuse a folder that the driver and the executors do not share."""
    session, parallel = own_session(spark), parallelism(spark)
    try:
        probe(lake, session, max(limits.MIN_PROBE_TASKS, min(limits.MAX_PROBE_TASKS, parallel)))
    finally:
        end_session(session, spark)


@contextmanager
def computable() -> Iterator[None]:
    """Refuse what no view can be computed from."""
    try:
        yield
    except NoValue as error:
        raise ChangeError(
            f"a view cannot be computed: {error}",
            hint="exclude the value in the view, or do not insert it",
        ) from error
