"""Types and constants of a plan in SQL."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from nestling.frontend.dataframe.places import refused
from nestling.frontend.dataframe.plan import Node
from nestling.quoting import plain_sql_text

TYPES = {
    "byte": "TINYINT", "short": "SMALLINT", "integer": "INT", "long": "BIGINT", "float": "FLOAT", "double": "DOUBLE",
    "string": "STRING", "boolean": "BOOLEAN", "date": "DATE", "timestamp": "TIMESTAMP",
    "timestamp_ntz": "TIMESTAMP_NTZ",
}  # fmt: skip
WHOLE = ("byte", "short", "integer", "long")
#: Time zones in which a TIMESTAMP is what it says.
PLAIN_ZONES = ("UTC", "Etc/UTC", "GMT", "Z", "+00:00", "UCT", "Etc/GMT", "Zulu")
DAY = 86_400_000_000
SECOND = 1_000_000


def type_sql(type_: Any, node: Node) -> str:
    """A scalar type as SQL writes it."""
    if isinstance(type_, str) and type_.startswith("decimal"):
        return type_.upper()
    if not isinstance(type_, str) or type_ not in TYPES:
        shown = type_ if isinstance(type_, str) else type_.get("type", "this type")
        raise refused(node, f"{shown} is not a type of a view", "use numbers, strings, dates and timestamps")
    return TYPES[type_]


def literal(node: Node, zone: str) -> str:  # noqa: C901 - one arm per type
    """A constant."""
    value, type_ = node.fields["value"], node.fields["dataType"]
    if value is None:
        return "NULL" if type_ == "void" else f"CAST(NULL AS {type_sql(type_, node)})"
    text = str(value)
    match type_:
        case "integer":
            return text
        case "byte" | "short" | "long":
            return f"CAST({text} AS {TYPES[type_]})"
        case "string":
            return plain_sql_text(text)
        case "boolean":
            return text.upper()
        case "float" | "double":
            plain = text.replace("E", "").replace(".", "").replace("-", "").isdigit()
            return (
                (text if "E" in text else f"{text}E0") if plain else f"CAST({plain_sql_text(text)} AS DOUBLE)"
            )
        case "date":
            return f"DATE {plain_sql_text(text)}"
        case "timestamp_ntz":
            return f"TIMESTAMP_NTZ {_moment(int(text))}"
        case "timestamp":
            check_zone(zone, node)
            return f"TIMESTAMP {_moment(int(node.jvm.value()))}"
        case str() if type_.startswith("decimal"):
            return f"CAST({text} AS {type_.upper()})"
        case str() if type_.startswith("interval"):
            return interval(node)
    raise refused(node, f"a constant of type {type_} is not supported", "compute it in a column of a table")


def interval(node: Node) -> str:
    """A span: whole months, days or seconds."""
    number, type_ = int(node.fields["value"]), str(node.fields["dataType"])
    if "month" in type_ or "year" in type_:
        return f"INTERVAL {plain_sql_text(f'{number}')} MONTH"
    if number % DAY == 0:
        return f"INTERVAL {plain_sql_text(f'{number // DAY}')} DAY"
    if number % SECOND:
        raise refused(node, "an interval has whole seconds", "round it")
    return f"INTERVAL {plain_sql_text(f'{number // SECOND}')} SECOND"


def _moment(micros: int) -> str:
    return plain_sql_text(f"{datetime(1970, 1, 1) + timedelta(microseconds=micros)}")


def check_zone(zone: Any, node: Node) -> None:
    """A TIMESTAMP means a wall clock; where that is not UTC, Spark converts and a view would not."""
    if zone not in PLAIN_ZONES:
        hint = 'use TIMESTAMP_NTZ, or spark.conf.set("spark.sql.session.timeZone", "UTC")'
        raise refused(node, f"a TIMESTAMP depends on the time zone {zone}", hint)
