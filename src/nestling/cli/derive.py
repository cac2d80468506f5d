"""``nestling derive``: the first paper's example, derived step by step from its text."""

from __future__ import annotations

from nestling.calculus.evaluate import evaluate, look_up
from nestling.calculus.parse import parse, parse_type
from nestling.calculus.show import show
from nestling.calculus.types import Bag
from nestling.transform.shred import BagContext, RecordContext
from nestling.transform.theory.cost import show_cost, tcost
from nestling.transform.theory.degree import TOP
from nestling.transform.theory.derive import Derivation, Part, derive, show_change, show_cost_of_change
from nestling.values.bag import ZBag

MOVIE = parse_type("Bag(⟨name: str, gen: str, dir: str⟩)")
MOVIES = ZBag.of(("Drive", "Drama", "Refn"), ("Skyfall", "Action", "Mendes"), ("Rush", "Action", "Howard"))
JARHEAD = ZBag.of(("Jarhead", "Drama", "Mendes"))
RELATED = """
for m in M union sng⟨
  name: m.name,
  related: bag_1(for m2 in M
                 where m.name != m2.name and (m.gen == m2.gen or m.dir == m2.dir)
                 union sng(m2.name))⟩
"""


def derivation_of_related() -> str:
    """The derivation of ``related``, and its tables before and after a movie arrives."""
    query = parse(RELATED, {"M": MOVIE if isinstance(MOVIE, Bag) else Bag(MOVIE)})
    derivation = derive("related", query)
    parts = [report(derivation)]
    for title, movies in (("M", MOVIES), ("M ⊎ ΔM", MOVIES + JARHEAD)):
        parts += [
            f"\nrelated[{title}]",
            nested_table(evaluate(query, {"M": movies})),
            f"\nrelated^F[{title}] and related^Γ[{title}]",
            shredded_tables(derivation, movies),
        ]
    return "\n".join(parts)


def report(derivation: Derivation) -> str:
    """Query, verdict, and for each shredded part its definition, delta, degree and cost."""
    lines = [
        "query", _indent(show(derivation.query)),
        f"cost {show_cost(derivation.cost)}, time {tcost(derivation.cost)}",
        derivation.classification.show(),
    ]  # fmt: skip
    for part in derivation.parts:
        lines += ["", *_part(part)]
    return "\n".join(lines)


def _part(part: Part) -> list[str]:
    label = f"({', '.join(param.name for param in part.definition.params)})" if part.definition else ""
    degree = "⊤" if part.degree == TOP else part.degree
    return [
        f"{part.name}{label}", _indent(show(part.query)),
        f"δ({part.name}){label}", _indent(show_change(part)),
        f"degree {degree}, cost {show_cost(part.cost)}, cost of the change {show_cost_of_change(part)}",
    ]  # fmt: skip


def nested_table(bag: ZBag) -> str:
    """One row a line, inner bags in braces."""
    return "\n".join(f"  {name:8} {{{', '.join(sorted(inner))}}}" for name, inner in bag)


def shredded_tables(derivation: Derivation, movies: ZBag) -> str:
    """The flat part with its labels, and what each label stands for."""
    context = derivation.shredded.context
    inner = context["related"] if isinstance(context, RecordContext) else context
    lines = []
    for name, label in evaluate(derivation.shredded.flat, {"M": movies}):
        found = None
        if isinstance(inner, BagContext) and inner.dictionary is not None:
            found = look_up(inner.dictionary, label, {"M": movies})
        lines.append(f"  {name:8} {label!r} ↦ {{{', '.join(sorted(found or ()))}}}")
    return "\n".join(lines)


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
