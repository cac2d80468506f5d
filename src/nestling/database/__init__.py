"""Tables, views and changes, as users see them."""

from nestling.database.database import Database

__all__ = ["Database"]
