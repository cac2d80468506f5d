"""The engine's own Spark session: the user's context, our settings, and errors as Python exceptions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from nestling.engine.spark import limits
from nestling.engine.spark.relations import TOO_MANY
from nestling.engine.spark.remote import end_with_process, is_connect
from nestling.errors import NestlingError, NoValue, QueryError

#: What our SQL relies on, or is made for. Batches are small: plans are not adapted while they run.
SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    # Times of the day, which Spark has and does not turn on by itself.
    "spark.sql.timeType.enabled": "true",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.parquet.pushdown.inFilterThreshold": "20000",
    # A set is an object that code refers to; values in the code itself would have it compiled anew for every batch.
    "spark.sql.optimizer.inSetConversionThreshold": "0",
    "spark.sql.optimizer.inSetSwitchThreshold": "0",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    # A file that is not there is an error, whatever the user's other queries make of it.
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.files.ignoreCorruptFiles": "false",
    # A view that is made of a text is kept as that text, and looks names up when it is read.
    "spark.sql.legacy.storeAnalyzedPlanForView": "false",
    # What ``quoting`` relies on: ``${…}`` in a name stays as it is, and escapes in a literal are escapes.
    "spark.sql.variable.substitute": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
}

#: What Spark calls a term that has no value.
UNDEFINED = (
    "DIVIDE_BY_ZERO", "ARITHMETIC_OVERFLOW", "BINARY_ARITHMETIC_OVERFLOW", "CAST_OVERFLOW", "CAST_INVALID_INPUT",
    "NUMERIC_VALUE_OUT_OF_RANGE", "USER_RAISED_EXCEPTION", "DATETIME_OVERFLOW", "REMAINDER_BY_ZERO",
    "NUMERIC_OUT_OF_SUPPORTED_RANGE", "INTERVAL_ARITHMETIC_OVERFLOW",
)  # fmt: skip


#: How Spark writes the name of an error, and what it says.
_CONDITION = re.compile(r"\[([A-Z_]+)(?:\.[A-Z_]+)*\] [^\n]*")


def own_session(spark: Any) -> Any:
    """A session beside ``spark``, with settings and temporary views of its own."""
    session = spark.newSession()
    if is_connect(session):
        end_with_process(session, spark)
    for name, value in SETTINGS.items():
        if not is_connect(session):
            session.conf.set(name, value)
        elif session.conf.get(name, None) != value:
            _set_remotely(session, name, value)
    session.conf.set("spark.sql.shuffle.partitions", str(small_tasks(spark)))
    return session


def _set_remotely(session: Any, name: str, value: str) -> None:
    """Some servers, and Declarative Pipelines, let nothing be set."""
    try:
        session.conf.set(name, value)
    except spark_errors() as error:
        raise QueryError(
            f"this session does not let {name} be {value}: {first_line(str(error))}",
            hint="give a session whose settings may be changed; that of Declarative Pipelines is none",
        ) from error


def small_tasks(spark: Any) -> int:
    """How many tasks a stage of a small batch has. Executors come and go, so it is asked for every time."""
    return min(parallelism(spark), limits.MAX_SMALL_TASKS)


def parallelism(spark: Any) -> int:
    """How many tasks run at once, as far as this process knows: a client of Connect asks how many a shuffle has."""
    if is_connect(spark):
        return int(spark.conf.get("spark.sql.shuffle.partitions"))
    return int(spark.sparkContext.defaultParallelism)


#: What plans follow, beside what is read: the tasks of a shuffle, and whether they are adapted while they run.
_PLANNED = ("spark.sql.shuffle.partitions", "spark.sql.adaptive.enabled")


@contextmanager
def settings(session: Any, user: Any, rows: int) -> Iterator[None]:
    """Plans for what reads about so many ``rows``.

    How many there are is known, so there are as many tasks as they make necessary, and no plan is made again while it
    runs, which takes half of all CPU where there are half a million. Of very many rows plans are as the user has them.
    """
    if rows <= limits.MAX_PLANNED_ROWS:
        values = [str(max(small_tasks(user), -(-rows // limits.ROWS_PER_TASK))), "false"]
    else:
        values = [user.conf.get(name) for name in _PLANNED]
    before = [session.conf.get(name) for name in _PLANNED]
    for name, value in zip(_PLANNED, values, strict=True):
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in zip(_PLANNED, before, strict=True):
            session.conf.set(name, value)


class TooManyError(Exception):
    """A query found more rows than may come to the driver."""


@contextmanager
def python_errors() -> Iterator[None]:
    """A term without a value is a ``NoValue``, as on the other engine."""
    try:
        yield
    except spark_errors() as error:
        # What fails while it is made ready to be sent to all tasks comes as the cause of something else.
        told = str(error)
        if TOO_MANY in told:
            raise TooManyError from error
        for condition in _CONDITION.finditer(told):
            if condition[1] in UNDEFINED:
                raise NoValue(first_line(condition[0])) from error
        raise


def spark_errors() -> tuple[type[Exception], ...]:
    """What Spark raises; a client of Connect may have no py4j."""
    from pyspark.errors import PySparkException

    try:
        from py4j.protocol import Py4JJavaError
    except ImportError:
        return (PySparkException,)
    return (PySparkException, Py4JJavaError)


def first_line(text: str) -> str:
    """The first line of Spark's error message, without the query plan."""
    return text.strip().partition("\n")[0].partition(" If necessary")[0].partition(" Use `try_")[0]


#: For a session of the command line: small, and silent but for errors.
_COMMAND = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
}


@contextmanager
def command_session() -> Iterator[Any]:
    """The active session, or a local one for as long as a command runs."""
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    builder = SparkSession.builder.appName("nestling")
    for name, value in _COMMAND.items():
        builder = builder.config(name, value)
    try:
        spark = builder.getOrCreate()
    except PySparkException as error:
        raise NestlingError(
            f"Spark does not start: {first_line(str(error))}", hint="it needs Java 17 or later: set JAVA_HOME"
        ) from error
    try:
        yield spark
    finally:
        spark.stop()
