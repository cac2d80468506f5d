"""Every engine behind one protocol."""

from collections.abc import Callable
from typing import Any

from nestling.database.native import empty
from nestling.engine.local.engine import LocalEngine
from nestling.engine.protocol import Engine
from nestling.engine.reference import ReferenceEngine
from nestling.program.statements import Program, TableDecl
from nestling.transform.lower.view import FlatView
from nestling.transform.viewlet import compile_batches, compile_views
from tests.engines.toy import ToyEngine

Views = dict[str, FlatView]


def reference(tables: dict[str, TableDecl], views: Views) -> Engine:
    return ReferenceEngine(compile_views(tables, views))


def embedded(tables: dict[str, TableDecl], views: Views) -> Engine:
    return LocalEngine(compile_views(tables, views))


def native(tables: dict[str, TableDecl], views: Views) -> Engine:
    return empty(compile_views(tables, views))


def toy(tables: dict[str, TableDecl], views: Views) -> Engine:
    return ToyEngine(compile_views(tables, views))


def on_spark(spark: Any) -> Callable[[dict[str, TableDecl], Views], Engine]:
    def make(tables: dict[str, TableDecl], views: Views) -> Engine:
        from nestling.engine.spark.engine import SparkEngine

        program: Program = compile_batches(tables, views)
        return SparkEngine(program, spark)

    return make
