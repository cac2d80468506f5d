"""Loading much at once."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def bulk() -> Iterator[None]:
    """Keep Python's cycle collector from going through what is loaded inside, now and afterwards.

    Tables and maps are dictionaries of dictionaries without cycles, which the collector visits again and again as they
    grow. Inside it is off; at the end it runs once, what is alive then is left out of all later runs (``gc.freeze``),
    and it is on again if it was. Nothing else in Nestling changes its settings.

    >>> with bulk():
    ...     rows = [(n, [n]) for n in range(3)]
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.collect()
        gc.freeze()
        if enabled:
            gc.enable()
