"""Lowering: the parts of a shredded view to flat queries.

Law (7, flat half): the meaning of a lowered query on the flattened tables is the evaluation of its part on the
shredded database; for a definition, at every environment.
"""

from nestling.transform.lower.view import FlatView, lower

__all__ = ["FlatView", "lower"]
