"""How much a query costs, before it runs.

Law (4): the delta of a query of finite degree costs less than the query, for every incremental update.
"""

from nestling.transform.theory.cost.cardinality import Cardinality, Symbolic
from nestling.transform.theory.cost.domain import (
    ONE,
    BagCost,
    Cost,
    RecordCost,
    ScalarCost,
    at_most,
    bottom,
    less,
    show_cost,
    size,
    sup,
    symbolic_size,
    tcost,
)
from nestling.transform.theory.cost.estimate import Mode, cost

__all__ = [
    "ONE",
    "BagCost",
    "Cardinality",
    "Cost",
    "Mode",
    "RecordCost",
    "ScalarCost",
    "Symbolic",
    "at_most",
    "bottom",
    "cost",
    "less",
    "show_cost",
    "size",
    "sup",
    "symbolic_size",
    "tcost",
]
