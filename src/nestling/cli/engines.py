"""Which engine keeps the views of a pipeline: the embedded one, or Spark in a session of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from nestling.cli.pipeline import load
from nestling.database import Database
from nestling.errors import NestlingError


class EngineName(StrEnum):
    """What does the work."""

    EMBEDDED = "embedded"
    SPARK = "spark"


@contextmanager
def opened(pipeline: Path, engine: EngineName, path: str | None = None) -> Iterator[Database]:
    """The database that ``pipeline`` declares, on ``engine``; on Spark its state lasts as long as the command, unless
    there is a ``path`` to keep it at."""
    if engine is EngineName.EMBEDDED:
        if path is not None:
            raise NestlingError(
                "--path is for --engine spark", hint="a pipeline says itself where its database is"
            )
        with load(pipeline) as database:
            yield database
        return
    with (
        session() as spark,
        TemporaryDirectory(prefix="nestling-") as folder,
        Database(spark=spark, path=path or Path(folder) / "state") as database,
    ):
        yield load(pipeline, database)


@contextmanager
def session() -> Iterator[Any]:
    """The active session of Spark, or one of this machine's cores, which ends with the command."""
    try:
        from nestling.engine.spark.session import command_session
    except ModuleNotFoundError as error:
        raise NestlingError(
            "Spark needs the library pyspark", hint="pip install 'nestling[spark]'"
        ) from error
    with command_session() as spark:
        yield spark
