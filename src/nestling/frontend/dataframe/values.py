"""Rows that are written out in a DataFrame, as VALUES."""

from __future__ import annotations

from typing import Any

from nestling.frontend.dataframe.block import Block, OutputColumn, labels_of
from nestling.frontend.dataframe.expressions import PlanTranslation, id_of
from nestling.frontend.dataframe.leaves import frame_of
from nestling.frontend.dataframe.literals import check_zone, type_sql
from nestling.frontend.dataframe.places import refused
from nestling.frontend.dataframe.plan import Node
from nestling.quoting import plain_sql_text, sql_name

MOST = 1000


def values_of(node: Node, frame: Any, run: PlanTranslation) -> Block:
    """The rows of a ``LocalRelation``: few, and part of the query."""
    output: list[Node] = node.fields["output"]
    if node.jvm.data().size() > MOST:
        raise refused(node, f"more than {MOST} rows are written out", "make a table of them")
    rows = frame_of(node.jvm, frame.sparkSession).collect()
    labels = labels_of(str(column.fields["name"]) for column in output)
    alias = run.alias()
    columns = tuple(
        OutputColumn(id_of(column), str(column.fields["name"]), f"{alias}.{sql_name(label)}")
        for column, label in zip(output, labels, strict=True)
    )
    for column in output:
        if column.fields["dataType"] == "timestamp":
            check_zone(run.zone, column)
    types = [type_sql(column.fields["dataType"], column) for column in output]
    if not rows:
        nulls = ", ".join(f"CAST(NULL AS {type_})" for type_ in types)
        return Block(columns, f"(VALUES ({nulls})) AS {_named(alias, labels)}", where=("FALSE",))
    texts = [f"({', '.join(_value(v, t) for v, t in zip(row, types, strict=True))})" for row in rows]
    return Block(columns, f"(VALUES {', '.join(texts)}) AS {_named(alias, labels)}", single=True)


def _named(alias: str, labels: list[str]) -> str:
    return f"{alias}({', '.join(map(sql_name, labels))})"


def _value(value: Any, type_: str) -> str:
    """A value of a column; every one says its type."""
    if value is None:
        return f"CAST(NULL AS {type_})"
    text = str(value).upper() if isinstance(value, bool) else str(value)
    return f"CAST({plain_sql_text(text)} AS {type_})"
