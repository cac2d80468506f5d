"""Python comprehensions as views: their text is read, not run."""

from nestling.frontend.comprehension.translate import translate

__all__ = ["translate"]
