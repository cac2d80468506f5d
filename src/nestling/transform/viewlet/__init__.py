"""The viewlet transform: from flat queries to a trigger program, by repeated delta.

Law (8): after every sequence of changes, each map of the program equals the meaning of its query.
Law (9): what a view answers does not depend on which maps are stored.
"""

from nestling.transform.viewlet.fill import fill, fill_on_read
from nestling.transform.viewlet.reading import compile_batches, compile_views

__all__ = ["compile_batches", "compile_views", "fill", "fill_on_read"]
