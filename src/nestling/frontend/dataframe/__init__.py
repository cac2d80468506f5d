"""Spark DataFrames as views: what a DataFrame computes, written as SQL."""

from nestling.frontend.dataframe.leaves import in_session, marked, marker, recognised
from nestling.frontend.dataframe.remote import RemoteQuery, remote_query
from nestling.frontend.dataframe.translate import to_sql

__all__ = ["RemoteQuery", "in_session", "marked", "marker", "recognised", "remote_query", "to_sql"]
