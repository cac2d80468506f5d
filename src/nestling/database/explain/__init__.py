"""What Nestling knows of a view, for its user: why it is fast or not, what is stored, and what a change does."""

from nestling.database.explain.collect import collect

__all__ = ["collect"]
