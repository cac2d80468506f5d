"""SQL in Spark's dialect as views."""

from nestling.frontend.sql.translate import translate

__all__ = ["translate"]
