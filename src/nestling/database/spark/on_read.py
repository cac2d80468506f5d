"""Views with ``store="none"`` on Spark: a plan over the tables, made once and run by every reading.

A batch does no work for such a view, unless it has subscribers: then Spark compares its answers before and after, and
the difference comes to the driver. A row that makes the view undefined is detected by the next reading.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager

from nestling.calculus.traverse import relations
from nestling.database.definitions import ViewDef
from nestling.database.spark.frame_values import canonical, value_of
from nestling.engine.spark.columns import layouts
from nestling.engine.spark.described import SparkDescription
from nestling.engine.spark.on_read import OnReadProgram, computed
from nestling.engine.spark.session import python_errors
from nestling.engine.spark.state import LakeState
from nestling.engine.spark.support import check_program
from nestling.errors import QueryError
from nestling.program.statements import Program, TableDecl
from nestling.transform.lower.view import CannotLower
from nestling.transform.pipeline import SPARK, flat_form
from nestling.transform.viewlet import fill_on_read
from nestling.transform.viewlet.compile import CannotCompile
from nestling.values.bag import EMPTY, ZBag


def program_on_read(view: ViewDef, tables: Mapping[str, TableDecl]) -> Program:
    """What computes a view from its tables."""
    try:
        program = fill_on_read(tables, {view.name: flat_form(view.query, SPARK)})
    except (CannotLower, CannotCompile) as reason:
        raise QueryError(
            f"{view.name} cannot be computed on Spark: {reason}",
            hint="the reference would bring all tables to the driver at every read",
        ) from reason
    check_program(program, layouts(program))
    return program


class OnReadView:
    """A view that every reading computes."""

    def __init__(self, view: ViewDef, program: Program) -> None:
        self.view, self.program = view, program
        self.layouts = layouts(program)
        read = tuple(relations(view.query))
        inner = tuple(f"{name}." for name in read)
        #: The flat tables that it is computed from.
        self.tables = [name for name in program.tables if name in read or name.startswith(inner)]

    def over(self, moment: LakeState) -> AbstractContextManager[OnReadProgram]:
        """What reads the view as the tables are at a moment."""
        return computed(self.program, self.layouts, moment)

    def described(self, moment: LakeState) -> SparkDescription:
        """What each reading does."""
        tables = OnReadProgram(self.program, self.layouts, moment).now
        return SparkDescription(self.program, tables, None, self.layouts)

    def change(self, now: LakeState, before: LakeState) -> ZBag:
        """What came and went between two moments: the difference is found by Spark."""
        if all(now.stored[table] is before.stored[table] for table in self.tables):
            return EMPTY
        name, element = self.view.name, self.view.element
        value = f"{canonical(element, 'v')} AS v"
        with python_errors(), self.over(now) as new, self.over(before) as old:
            came, went = (
                new.counted(name).selectExpr(value, "n"),
                old.counted(name).selectExpr(value, "-n AS n"),
            )
            total = came.unionAll(went).groupBy("v").sum("n").toDF("v", "n").where("n <> 0")
            return ZBag((value_of(element, row["v"]), row["n"]) for row in total.toArrow().to_pylist())
