"""Schemas and rows: how a type and a value are written in Python, and how a value is read back."""

from nestling.frontend.schema.declare import record_type
from nestling.frontend.schema.read import listed, python_value, row_class
from nestling.frontend.schema.write import element_value, row_value

__all__ = ["element_value", "listed", "python_value", "record_type", "row_class", "row_value"]
