"""The tables of a world as DataFrames that a database would hand out."""

from types import SimpleNamespace
from typing import Any

from nestling.database.spark.declared import type_sql
from nestling.frontend.dataframe import marked, recognised
from tests.frontends.sql.worlds import TABLES, World

PLACE = "here"
MARKS = recognised(PLACE, TABLES)
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
        record = world.db._state.tables[name].record
        columns = ", ".join(f"{column} {type_sql(type_)}" for column, type_ in record.fields)
        # By way of Arrow the rows are part of the plan, and most of them are computed without a job.
        here = session.createDataFrame(rows, columns).toArrow()
        frame = marked(session.createDataFrame(here, columns), PLACE, name)
        frame.createOrReplaceTempView(name)
        setattr(found, name, frame)
    return found
