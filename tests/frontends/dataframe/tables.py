"""The tables of a world as DataFrames that a database would hand out."""

from types import SimpleNamespace
from typing import Any

from nestling.frontend.dataframe import marked, recognised
from tests.frontends.sql.worlds import TABLES, World

PLACE = "here"
MARKS = recognised(PLACE, TABLES)
#: As a database on Spark has them: whole numbers of 64 bits, wide decimals, moments without a zone.
COLUMNS = {
    "r": "a BIGINT, b BIGINT, c STRING",
    "s": "a BIGINT, d BIGINT, e STRING",
    "t": "k BIGINT, g BIGINT, x BIGINT",
    "m": "id BIGINT, day DATE, seen TIMESTAMP_NTZ, price DECIMAL(37,18), ok BOOLEAN, f DOUBLE",
    "o": "id BIGINT, cust STRING, items ARRAY<STRUCT<pid: BIGINT, qty: BIGINT>>, tags ARRAY<STRING>,"
    " nums ARRAY<BIGINT>, ship STRUCT<city: STRING, fee: BIGINT>",
}
#: Rows are few and plans many: nothing is compiled.
SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "2",
}


def frames(spark: Any, world: World) -> Any:
    """The tables by name in a session of their own, also for ``sql``; on each, a mark that says which it is."""
    session = spark.newSession()
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    found = SimpleNamespace(sql=session.sql, session=session)
    for name, rows in world.rows.items():
        # By way of Arrow the rows are part of the plan, and most of them are computed without a job.
        here = session.createDataFrame(rows, COLUMNS[name]).toArrow()
        frame = marked(session.createDataFrame(here, COLUMNS[name]), PLACE, name)
        frame.createOrReplaceTempView(name)
        setattr(found, name, frame)
    return found
