"""A database on Spark: the same tables, views and changes, stored in a lake and processed by Spark."""

from nestling.database.spark.database import SparkDatabase

__all__ = ["SparkDatabase"]
