"""Spark DataFrames as views: what a DataFrame computes, written as SQL."""

from nestling.frontend.dataframe.leaves import in_session, marked, marker, recognised
from nestling.frontend.dataframe.translate import to_sql

__all__ = ["in_session", "marked", "marker", "recognised", "to_sql"]
