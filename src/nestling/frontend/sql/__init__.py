"""SQL in Spark's dialect as views, and scripts of statements."""

from nestling.frontend.sql import alter, script
from nestling.frontend.sql.dialects import to_spark
from nestling.frontend.sql.translate import translate, view_query

__all__ = ["alter", "script", "to_spark", "translate", "view_query"]
