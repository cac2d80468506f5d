"""XQuery over documents → calculus."""

from nestling.frontend.xquery.parse import parse
from nestling.frontend.xquery.translate import TranslatedQuery, translate

__all__ = ["TranslatedQuery", "parse", "translate"]
