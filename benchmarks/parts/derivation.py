"""How long it takes to derive delta, degree, cost and the shredded form of a query of 200 nodes.

Part of ``benchmarks/compile.py``. Times are medians; the goal is less than 100 ms for all four together.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

from nestling.calculus.parse import parse, parse_type
from nestling.calculus.terms import Expr
from nestling.calculus.traverse import relations, size
from nestling.calculus.typing import check
from nestling.transform.normalize import normalize
from nestling.transform.shred import dictionaries, shred
from nestling.transform.theory.cost import cost, symbolic_size
from nestling.transform.theory.degree import degree
from nestling.transform.theory.delta import delta
from nestling.transform.theory.flags import infer_flags

RUNS = 50
CATALOG = {
    "Customer": parse_type("Bag(⟨ck: int, name: str, seg: str⟩)"),
    "Orders": parse_type("Bag(⟨ok: int, ck: int, day: int, total: int⟩)"),
    "Item": parse_type("Bag(⟨ok: int, pk: int, qty: int, price: int⟩)"),
    "Part": parse_type("Bag(⟨pk: int, name: str, brand: str⟩)"),
}
#: Customers with their orders with their items with their parts, twice over: two segments, two conditions.
BRANCH = """
for c in Customer where c.seg == '{segment}' union sng⟨
  name: c.name, seg: c.seg, key: c.ck + 1,
  orders: bag_{a}(for o in Orders where o.ck == c.ck and o.total > {least} union sng⟨
    day: o.day,
    items: bag_{b}(for i in Item where i.ok == o.ok and i.qty * i.price > {least} and i.qty < o.total union sng⟨
      qty: i.qty, cost: i.qty * i.price,
      parts: bag_{c}(for p in Part where p.pk == i.pk and (p.brand == '{segment}' or p.name == c.name)
                     union sng⟨name: p.name, brand: p.brand, pk: p.pk⟩)⟩)⟩)⟩
"""


def query() -> Expr:
    """The benchmark's query; about 200 nodes."""
    branches = (
        BRANCH.format(segment="auto", least=10, a=1, b=2, c=3),
        BRANCH.format(segment="home", least=20, a=4, b=5, c=6),
    )
    return parse(" ⊎ ".join(f"({branch})" for branch in branches), CATALOG)  # type: ignore[arg-type]


def timed(action: Callable[[], Any]) -> float:
    """The median time of ``action`` in milliseconds."""
    times = []
    for _ in range(RUNS):
        start = perf_counter()
        action()
        times.append((perf_counter() - start) * 1000)
    return median(times)


def show_derivation() -> None:
    """Derive all four from the benchmark's query, and print what that took."""
    nested = query()
    check(nested)
    sizes = {name: symbolic_size(name, type_) for name, type_ in CATALOG.items()}
    shredded = shred(infer_flags(normalize(nested)))
    parts = [shredded.flat, *(d for _, d in dictionaries(shredded.context))]
    steps: dict[str, Callable[[], Any]] = {
        "delta": lambda: delta(nested, relations(nested)),
        "degree": lambda: degree(nested),
        "cost": lambda: cost(nested, sizes),
        "shredded form": lambda: shred(infer_flags(normalize(nested))),
    }
    print(f"query of {size(nested)} nodes, shredded into {len(parts)} parts; median of {RUNS} runs")
    times = {name: timed(action) for name, action in steps.items()}
    for name, milliseconds in times.items():
        print(f"  {name:14} {milliseconds:8.2f} ms")
    total = sum(times.values())
    print(f"  {'all four':14} {total:8.2f} ms   {'below' if total < 100 else 'ABOVE'} the goal of 100 ms")
