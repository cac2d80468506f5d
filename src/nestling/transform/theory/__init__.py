"""The paper's derivation: what Koch, Lupei and Tannen prove of a query, computed and shown.

No view is maintained by these passes. They say of a query which of its inner bags would be labels (``flags``), what its
change is as a query (``delta``), after how many changes of changes nothing is left to read (``degree``), and what both
cost (``cost``); ``derive`` puts these together for ``explain`` and ``nestling derive``. The road that views take is
``transform/pipeline``, whose deltas are those of flat monomials, ``transform/viewlet/deltas``.

The laws of the paper hold of both: (1) to (4), (10), (11) and (13) are tested here, on terms.
"""
