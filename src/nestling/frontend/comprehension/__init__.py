"""Python comprehensions as views: their text is read, not run."""

from nestling.frontend.comprehension.translate import translate, view_query

__all__ = ["translate", "view_query"]
