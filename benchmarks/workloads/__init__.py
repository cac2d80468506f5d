"""Event streams, views and hand-written baselines that the engine is measured against.

Each workload is one module with the same names in it:

* ``SCHEMA`` and ``KEYS``: table → columns with their Python types, table → key;
* ``VIEWS``: name → view, a function of tables as a user writes it; ``LATER``, where present, holds views that
  have no baseline yet;
* ``Size``: how much of everything, and the seed; its defaults are the size for measuring;
* ``load(size)``: the events that come before the clock starts; ``events(size)``: those that are timed. An
  event is ``(table, row, +1 or -1)``; the table ``"orders.items"`` stands for the inner bags ``items`` of
  ``orders``, and its row is the key of the order with one element;
* ``HandWritten``: the views kept incrementally by hand; ``VARIANTS``, where present, holds other ways;
* ``RECOMPUTE`` and ``recompute(tables)``: the same comprehensions over hash indexes.

All numbers are integers, so that results are equal exactly and not up to rounding.
"""
