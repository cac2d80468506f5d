"""OQL, the object query language of ODMG 3.0, to the calculus."""

from nestling.frontend.oql.translate import translate

__all__ = ["translate"]
