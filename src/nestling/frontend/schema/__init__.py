"""Schemas and rows: how a type and a value are written in Python, and how a value is read back."""

from nestling.frontend.schema.as_python import python_schema
from nestling.frontend.schema.counts import copies, length, multiplicity
from nestling.frontend.schema.declare import Declared, Unresolved, declared, key_record, record_type
from nestling.frontend.schema.objects import Extent, Inverse, Ref
from nestling.frontend.schema.ordered import List, with_order
from nestling.frontend.schema.read import listed, python_value, python_values, row_class
from nestling.frontend.schema.scalars import FARTHEST, constant, in_utc
from nestling.frontend.schema.tabular import (
    arrow_rows,
    has_zones,
    is_tabular,
    readable,
    tabular_rows,
    tuples,
    without_zones,
)
from nestling.frontend.schema.typed import typed_row
from nestling.frontend.schema.write import Links, element_value, field_value, named_row, row_value

__all__ = [
    "FARTHEST",
    "Declared",
    "Extent",
    "Inverse",
    "Links",
    "List",
    "Ref",
    "Unresolved",
    "arrow_rows",
    "constant",
    "copies",
    "declared",
    "element_value",
    "field_value",
    "has_zones",
    "in_utc",
    "is_tabular",
    "key_record",
    "length",
    "listed",
    "multiplicity",
    "named_row",
    "python_schema",
    "python_value",
    "python_values",
    "readable",
    "record_type",
    "row_class",
    "row_value",
    "tabular_rows",
    "tuples",
    "typed_row",
    "with_order",
    "without_zones",
]
