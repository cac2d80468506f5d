"""The parts of ``benchmarks/embedded.py``: each prints a table and returns the goals it speaks of."""
