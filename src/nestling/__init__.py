"""Nestling: incremental views of nested data, in Python, embedded and on Spark."""

__version__ = "0.1.0"
