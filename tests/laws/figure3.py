"""Griffin and Libkin's Figure 3: ∇ and △ of every operator, as plain functions on bags.

S and T are the old arguments, (∇S, △S) and (∇T, △T) their strongly minimal changes. Nothing here knows
negative multiplicities; that is the point of comparing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from nestling.values.bag import ZBag

Bags: TypeAlias = Callable[..., ZBag]


def plus(s: ZBag, t: ZBag) -> ZBag:
    """S ⊎ T"""
    return ZBag((v, s[v] + t[v]) for v in {*s, *t})


def monus(s: ZBag, t: ZBag) -> ZBag:
    """S ∸ T"""
    return ZBag((v, max(s[v] - t[v], 0)) for v in s)


def least(s: ZBag, t: ZBag) -> ZBag:
    """S min T"""
    return ZBag((v, min(s[v], t[v])) for v in s)


def greatest(s: ZBag, t: ZBag) -> ZBag:
    """S max T"""
    return ZBag((v, max(s[v], t[v])) for v in {*s, *t})


def distinct(s: ZBag) -> ZBag:
    """ε(S)"""
    return ZBag((v, 1) for v in s)


def times(s: ZBag, t: ZBag) -> ZBag:
    """S × T"""
    return ZBag(((v, w), m * n) for v, m in s.items() for w, n in t.items())


def select(s: ZBag) -> ZBag:
    """σ(S): rows ⟨a, b⟩ with a = 0"""
    return ZBag((v, m) for v, m in s.items() if v[0] == 0)


def project(s: ZBag) -> ZBag:
    """Π_b(S)"""
    return ZBag((v[1], m) for v, m in s.items())


@dataclass(frozen=True)
class Rule:
    """An operator of one or two bags, with its deletions and insertions.

    ``deleted`` and ``inserted`` take S, ∇S, △S and, for two bags, T, ∇T, △T.
    """

    operator: Bags
    deleted: Bags
    inserted: Bags
    arity: int = 2


RULES: dict[str, Rule] = {
    "σ": Rule(select, lambda s, ns, ds: select(ns), lambda s, ns, ds: select(ds), 1),
    "Π": Rule(
        project,
        lambda s, ns, ds: monus(project(ns), project(ds)),
        lambda s, ns, ds: monus(project(ds), project(ns)),
        1,
    ),
    "ε": Rule(
        distinct,
        lambda s, ns, ds: monus(distinct(ns), monus(s, ns)),
        lambda s, ns, ds: monus(distinct(ds), s),
        1,
    ),
    "⊎": Rule(
        plus,
        lambda s, ns, ds, t, nt, dt: plus(monus(ns, dt), monus(nt, ds)),
        lambda s, ns, ds, t, nt, dt: plus(monus(ds, nt), monus(dt, ns)),
    ),
    "∸": Rule(
        monus,
        lambda s, ns, ds, t, nt, dt: least(plus(monus(ns, nt), monus(dt, ds)), monus(s, t)),
        lambda s, ns, ds, t, nt, dt: monus(plus(monus(ds, dt), monus(nt, ns)), monus(t, s)),
    ),
    "min": Rule(
        least,
        lambda s, ns, ds, t, nt, dt: greatest(monus(ns, monus(s, t)), monus(nt, monus(t, s))),
        lambda s, ns, ds, t, nt, dt: least(
            plus(ds, least(dt, monus(monus(s, ns), t))), plus(dt, least(ds, monus(monus(t, nt), s)))
        ),
    ),
    "max": Rule(
        greatest,
        lambda s, ns, ds, t, nt, dt: least(
            plus(ns, least(nt, monus(t, plus(s, ds)))), plus(nt, least(ns, monus(s, plus(t, dt))))
        ),
        lambda s, ns, ds, t, nt, dt: greatest(monus(ds, monus(t, s)), monus(dt, monus(s, t))),
    ),
    "×": Rule(
        times,
        lambda s, ns, ds, t, nt, dt: plus(
            times(ns, nt),
            plus(
                monus(times(monus(s, ns), nt), times(ds, monus(t, nt))),
                monus(times(ns, monus(t, nt)), times(monus(s, ns), dt)),
            ),
        ),
        lambda s, ns, ds, t, nt, dt: plus(
            times(ds, dt),
            plus(
                monus(times(monus(s, ns), dt), times(ns, t)),
                monus(times(ds, monus(t, nt)), times(s, nt)),
            ),
        ),
    ),
}
