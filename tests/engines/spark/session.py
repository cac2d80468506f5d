"""One Spark session for all tests: two cores, no frills, a compiler that does not wait to be warm."""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from typing import Any

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.catalogImplementation": "in-memory",
    # Code and classes that are made for every query have room, so that nobody looks for what can go; and a heap this
    # small is collected by one thread: a third of the JVM's time went into both.
    "spark.driver.extraJavaOptions": (
        "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:MetaspaceSize=512m -XX:ReservedCodeCacheSize=256m"
        " -Xms1g -Xmn500m"
    ),
    "spark.log.level": "ERROR",
}


#: Half of what the JVM runs would be to write Java for each query, compile it and look for its classes in all jars, for
#: queries of ten rows. Tests of what is computed have Java generated, as users have (``generated_code``), and so has
#: ``make laws``.
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}

#: Where the shared session runs, if not in this process: the tests of Spark then have their lakes behind ``viewfs:``.
MASTER = "NESTLING_TEST_MASTER"
CLUSTER = "local-cluster[2,1,768]"
EXECUTORS = {"spark.executor.memory": "768m", "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1"}


def missing() -> str:
    """Why there can be no session; empty if there can be one."""
    if find_spec("pyspark") is None or find_spec("pyarrow") is None:
        return "pyspark or pyarrow is not installed: pip install nestling[spark]"
    return "" if shutil.which("java") else "there is no java"


@cache
def session() -> Any:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # functions of rows run beside Spark
    master = os.environ.get(MASTER, "local[2]")
    builder = SparkSession.builder.master(master)
    for name, value in (SETTINGS | (EXECUTORS if master != "local[2]" else {})).items():
        builder = builder.config(name, value)
    found = builder.getOrCreate()
    if os.environ.get("HYPOTHESIS_PROFILE") != "laws":
        _set_for_all(found, INTERPRETED)
    return found


@contextmanager
def generated_code() -> Iterator[None]:
    """Spark generates code meanwhile, in the shared session and in those that are made beside it."""
    before = {name: session().conf.get(name) for name in INTERPRETED}
    _set_for_all(
        session(), {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}
    )
    try:
        yield
    finally:
        _set_for_all(session(), before)


def _set_for_all(session: Any, settings: dict[str, str]) -> None:
    """A new session has the settings of the context, and those that its builder was given, which never change."""
    context = session.sparkContext._jsc.sc().conf()
    for name, value in settings.items():
        context.set(name, value)
        session.conf.set(name, value)


def tables_of(session: Any) -> set[str]:
    """The tables and temporary views of a session; what its catalog lists can only be read by generated code."""
    return {row.tableName for row in session.sql("SHOW TABLES").collect()}
