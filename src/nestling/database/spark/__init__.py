"""A database on Spark: the same tables, views and changes; the work and the state are Spark's."""

from nestling.database.spark.database import SparkDatabase

__all__ = ["SparkDatabase"]
