"""Every engine behind one protocol."""

from collections.abc import Callable
from typing import Any

from nestling.engine.local.engine import LocalEngine
from nestling.engine.protocol import Batch, Engine
from nestling.engine.reference import ReferenceEngine
from nestling.program.statements import Program, TableDecl
from nestling.transform.lower.view import FlatView
from nestling.transform.viewlet import compile_batches, compile_views

Views = dict[str, FlatView]


class Embedded(LocalEngine):
    """The embedded engine by batches: rows that go first, so that a key is free when it is given again."""

    def apply_batch(self, changes: Batch) -> None:
        for table, rows in changes.items():
            for row, times in sorted(rows, key=lambda pair: pair[1]):
                self.apply(table, row, times)


def reference(tables: dict[str, TableDecl], views: Views) -> Engine:
    return ReferenceEngine(compile_views(tables, views))


def embedded(tables: dict[str, TableDecl], views: Views) -> Engine:
    return Embedded(compile_views(tables, views))


def on_spark(spark: Any) -> Callable[[dict[str, TableDecl], Views], Engine]:
    def make(tables: dict[str, TableDecl], views: Views) -> Engine:
        from nestling.engine.spark.engine import SparkEngine

        program: Program = compile_batches(tables, views)
        return SparkEngine(program, spark)

    return make
