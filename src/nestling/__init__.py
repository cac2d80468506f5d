"""Nestling: incremental views of nested data, in Python, embedded and on Spark."""

from nestling.bulk import bulk
from nestling.database import Database
from nestling.database.change import Change, InnerChange
from nestling.database.refresh import Refresh
from nestling.database.subscription import Subscription
from nestling.database.table import Table
from nestling.database.transaction import Transaction
from nestling.database.view import View
from nestling.database.xml.handles import DocumentNode, XmlDocument
from nestling.database.xml.transaction import DocumentTransaction
from nestling.database.xml.view import XQueryView
from nestling.database.xml.watch import XmlChange
from nestling.errors import (
    ChangeError,
    ConstraintError,
    DanglingReference,
    EvaluatedOnRead,
    NestlingError,
    OverBudget,
    QueryError,
    StoreError,
)
from nestling.frontend.schema import Inverse, List, Ref

__version__ = "0.2.0"

__all__ = [
    "Change",
    "ChangeError",
    "ConstraintError",
    "DanglingReference",
    "Database",
    "DocumentNode",
    "DocumentTransaction",
    "EvaluatedOnRead",
    "InnerChange",
    "Inverse",
    "List",
    "NestlingError",
    "OverBudget",
    "QueryError",
    "Ref",
    "Refresh",
    "StoreError",
    "Subscription",
    "Table",
    "Transaction",
    "View",
    "XQueryView",
    "XmlChange",
    "XmlDocument",
    "__version__",
    "bulk",
]
