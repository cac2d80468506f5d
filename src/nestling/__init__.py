"""Nestling: incremental views of nested data, in Python, embedded and on Spark."""

from nestling.bulk import bulk
from nestling.database import Database
from nestling.errors import ChangeError, ConstraintError, NestlingError, OverBudget, QueryError, StoreError

__version__ = "0.1.0"

__all__ = [
    "ChangeError",
    "ConstraintError",
    "Database",
    "NestlingError",
    "OverBudget",
    "QueryError",
    "StoreError",
    "__version__",
    "bulk",
]
