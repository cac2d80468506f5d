"""The terms that some idioms become, for the reader and for what comes after."""

import pytest

from nestling.calculus.parse import parse
from nestling.calculus.types import INT, STR, Bag, nullable, record
from nestling.frontend.catalog import Catalog
from nestling.frontend.comprehension import translate

CATALOG = Catalog(
    {
        "M": record(name=STR, gen=STR, dir=STR),
        "R": record(k=INT, q=INT, m=nullable(INT)),
        "N": record(k=INT, items=Bag(record(pid=INT, qty=INT))),
    }
)
CATALOG.add("K", record(k=INT, v=STR), key=("k",))

BAGS = {name: Bag(element) for name, element in CATALOG.items()}

TERMS = {
    # an inner bag computed from the input is a bag of its own; one that is there already is a field
    "[(m.name, [n.name for n in M if n.gen == m.gen]) for m in M]": """
for m in M union
  ⟨name: sng(m.name) × _1: sng_1(for n in M where n.gen == m.gen union sng(n.name))⟩""",
    "[(n.k, n.items) for n in N]": """
for n in N union sng⟨k: n.k, items: n.items⟩""",
    # an aggregate is bound around the element that uses it, or around the test that does
    "[(n.k, sum(i.qty for i in n.items)) for n in N]": """
for n in N union
fold total := sum(for i in flatten(sng(n.items)) union sng(i.qty)) in
  sng⟨k: n.k, _1: total⟩""",
    "[n.k for n in N if len(n.items) > 2]": """
for n in N union
fold n1 := count(flatten(sng(n.items))) in
for _ in [n1 > 2] union
  sng(n.k)""",
    # existence is a guard where it stands alone, and a count where it is negated or one side of a connective
    "[n.k for n in N if any(i.qty > 1 for i in n.items)]": """
for n in N union
for _ in exists(for i in flatten(sng(n.items)) where i.qty > 1 union sng⟨⟩) union
  sng(n.k)""",
    "[n.k for n in N if not any(i.qty > 1 for i in n.items)]": """
for n in N union
fold n1 := count(for i in flatten(sng(n.items)) where i.qty > 1 union sng⟨⟩) in
for _ in [n1 == 0] union
  sng(n.k)""",
    "[r.k for r in R if r.k in {n.k for n in N}]": """
for r in R union
for _ in exists(for y in (for n in N union sng(n.k)) where r.k == y union sng⟨⟩) union
  sng(r.k)""",
    "[n.k for n in N if n.items]": """
for n in N union
for _ in exists(for s in exists(flatten(sng(n.items))) union sng⟨⟩) union
  sng(n.k)""",
    # grouping
    "{r.k: sum(s.q for s in R if s.k == r.k) for r in R}": """
for key in distinct(for r in R union sng(r.k)) union
fold total := sum(for s in R where s.k == key union sng(s.q)) in
  sng⟨key: key, value: total⟩""",
    "{x.k: x.v for x in K}": """
for x in K union sng⟨key: x.k, value: x.v⟩""",
    # None: order is strict in a test and false as a value; a test takes the null out of the type
    "[(r.k, r.m > 1) for r in R if r.m < 3]": """
for r in R where r.m < 3 union sng⟨k: r.k, _1: coalesce(r.m > 1, false)⟩""",
    "[r.m for r in R if r.m is not None]": """
for r in R where not is_null(r.m) union sng(coalesce(r.m, 0))""",
    "[r.m if r.m is not None else r.k for r in R]": """
for r in R union sng(coalesce(r.m, r.k))""",
    # what may fail is computed only where Python would
    "[r.k for r in R if r.q == 0 or sum(n.k // r.q for n in N) > 1]": """
for r in R union
fold total := sum(
  for _ in [r.q != 0] union
  for n in N union
    sng(n.k // r.q)
) in
for _ in [r.q == 0 or total > 1] union
  sng(r.k)""",
    # names of fields
    "[(r.k, r.k, r.q + 1, k) for r in R for k in [r.q]]": """
for r in R union
for k in sng(r.q) union
  sng⟨k: r.k, _1: r.k, _2: r.q + 1, _3: k⟩""",
}  # fmt: skip


@pytest.mark.parametrize("text", TERMS)
def test_the_term(text):
    assert translate(text, CATALOG) == parse(TERMS[text], BAGS)


def test_a_local_name_is_bound_once():
    def view(R):
        big = [r for r in R if r.q > 1]
        return [(b.k, len(big), len([c for c in big if c.k == b.k])) for b in big]

    assert translate(view, CATALOG) == parse(
        """
        let big := (for r in R where r.q > 1 union sng(r)) in
        for b in big union
        fold n := count(big) in
        fold n1 := count(for c in big where c.k == b.k union sng(c)) in
          sng⟨k: b.k, _1: n, _2: n1⟩
        """,
        BAGS,
    )
