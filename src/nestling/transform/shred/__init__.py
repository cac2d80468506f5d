"""Shredding: nested types, terms and values to flat ones, and back.

Laws (5) and (6): nesting undoes shredding, of values and of queries, under all consistent flags.
"""

from nestling.calculus.types import flat_type
from nestling.transform.shred.context import (
    BagContext,
    Context,
    NoContext,
    RecordContext,
    dictionaries,
    input_context,
)
from nestling.transform.shred.nest import nest
from nestling.transform.shred.terms import Shredded, shred, unshred
from nestling.transform.shred.values import Keys, LabelPolicy, ShreddedValue, Surrogates, shred_value

__all__ = [
    "BagContext",
    "Context",
    "Keys",
    "LabelPolicy",
    "NoContext",
    "RecordContext",
    "Shredded",
    "ShreddedValue",
    "Surrogates",
    "dictionaries",
    "flat_type",
    "input_context",
    "nest",
    "shred",
    "shred_value",
    "unshred",
]
