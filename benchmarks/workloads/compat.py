"""A nested history: what browsers support of which feature, by version, in the shape of real compatibility data.

A feature has one entry of support for each of 17 browsers, and an entry zero to three statements: since which version,
until which, and whether in part. From one version to the next 0.1 to 1.5 % of the features change: a statement comes,
goes or says something else, or a feature comes or goes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

BROWSERS = (
    "bun", "chrome", "chrome_android", "deno", "edge", "firefox", "firefox_android", "ie", "nodejs", "oculus", "opera",
    "opera_android", "safari", "safari_ios", "samsung", "webview_android", "webview_ios",
)  # fmt: skip
CORE = ("chrome", "edge", "firefox", "safari")
CATEGORIES = tuple(f"category{number:02d}" for number in range(24))
FEATURES = (
    "id STRING, category STRING, deprecated BOOLEAN, experimental BOOLEAN, support ARRAY<STRUCT<browser: STRING,"
    " statements: ARRAY<STRUCT<added: STRING, removed: STRING, partial: BOOLEAN>>>>"
)

#: A feature: its columns, and of support one tuple for each browser.
Feature = tuple[str, str, bool, bool, tuple[Any, ...]]


@dataclass(frozen=True)
class Size:
    """How many features there are at first, and how many versions follow."""

    features: int = 20_000
    versions: int = 20


def statement(random: Random) -> tuple[str, str, bool]:
    removed = str(random.randrange(60, 130)) if random.random() < 0.05 else ""
    return (str(random.randrange(1, 130)), removed, random.random() < 0.08)


def feature(number: int, random: Random) -> Feature:
    support = []
    for browser in BROWSERS:
        many = random.choices((0, 1, 2, 3), (18, 70, 10, 2))[0]
        support.append((browser, tuple(statement(random) for _ in range(many))))
    flags = random.random() < 0.06, random.random() < 0.1
    return (f"feature.{number:06d}", CATEGORIES[number % len(CATEGORIES)], *flags, tuple(support))


def changed(old: Feature, random: Random) -> Feature:
    """The feature with one entry of support otherwise, or another flag."""
    if random.random() < 0.1:
        return (*old[:2], old[2], not old[3], old[4])
    place = random.randrange(len(BROWSERS))
    browser, statements = old[4][place]
    if statements and random.random() < 0.2:
        statements = statements[1:]
    elif statements and random.random() < 0.5:
        statements = (statement(random), *statements[1:])
    else:
        statements = (*statements, statement(random))
    support = (*old[4][:place], (browser, statements), *old[4][place + 1 :])
    return (*old[:4], support)


def history(size: Size, seed: int = 7) -> Iterator[dict[str, Feature]]:
    """The features by name, version by version; what stays is the same object."""
    random = Random(seed)
    now = {each[0]: each for each in (feature(number, random) for number in range(size.features))}
    yield dict(now)
    following = size.features
    for _ in range(size.versions):
        share = random.uniform(0.001, 0.015)
        names = list(now)
        for name in random.sample(names, max(1, round(share * len(names)))):
            kind = random.random()
            if kind < 0.05:
                del now[name]
            elif kind < 0.15:
                new = feature(following, random)
                now[new[0]] = new
                following += 1
            else:
                now[name] = changed(now[name], random)
        yield dict(now)


def fresh(snapshot: dict[str, Feature]) -> list[Feature]:
    """The rows of a snapshot as a program has them that has read a file anew: equal, and no object the same."""
    return [(*f[:4], tuple((b, tuple((*s,) for s in ss)) for b, ss in f[4])) for f in snapshot.values()]


VIEWS = {
    "by_browser": "SELECT s.browser AS browser, count(*) AS n FROM features f LATERAL VIEW explode(f.support) t AS s"
    " WHERE size(s.statements) > 0 GROUP BY s.browser",
    "by_category": "SELECT category, count(*) AS n, sum(CASE WHEN deprecated THEN 1 ELSE 0 END) AS old"
    " FROM features GROUP BY category",
    "supported": "[(f.id, [s.browser for s in f.support if len(s.statements) > 0]) for f in features]",
    "partial": "[(f.id, s.browser, t.added) for f in features for s in f.support for t in s.statements if t.partial]",
    "removed": "[(s.browser, t.removed, f.id) for f in features for s in f.support for t in s.statements"
    " if t.removed != '']",
    "baseline": "[(f.id, len([s for s in f.support if len(s.statements) > 0])) for f in features if not f.deprecated]",
    "tried": "[(c.name, [(f.id, sum(len(s.statements) for s in f.support)) for f in features"
    " if f.category == c.name and f.experimental]) for c in categories]",
}


def by_hand(features: dict[str, Feature]) -> dict[str, Any]:
    """What each view answers, in plain Python: a function of the rows for each."""
    return {name: view(features.values()) for name, view in BY_HAND.items()}


def _by_browser(rows: Any) -> Any:
    found: dict[str, int] = {}
    for f in rows:
        for browser, statements in f[4]:
            if statements:
                found[browser] = found.get(browser, 0) + 1
    return list(found.items())


def _by_category(rows: Any) -> Any:
    found: dict[str, list[int]] = {}
    for f in rows:
        counts = found.setdefault(f[1], [0, 0])
        counts[0] += 1
        counts[1] += f[2]
    return [(name, n, old) for name, (n, old) in found.items()]


def _tried(rows: Any) -> Any:
    found: dict[str, list[Any]] = {name: [] for name in CATEGORIES}
    for f in rows:
        if f[3]:
            found[f[1]].append((f[0], sum(len(statements) for _, statements in f[4])))
    return [(name, sorted(inner)) for name, inner in found.items()]


BY_HAND = {
    "by_browser": _by_browser,
    "by_category": _by_category,
    "supported": lambda rows: [(f[0], [b for b, statements in f[4] if statements]) for f in rows],
    "partial": lambda rows: [(f[0], b, s[0]) for f in rows for b, ss in f[4] for s in ss if s[2]],
    "removed": lambda rows: [(b, s[1], f[0]) for f in rows for b, ss in f[4] for s in ss if s[1]],
    "baseline": lambda rows: [(f[0], sum(1 for _, ss in f[4] if ss)) for f in rows if not f[2]],
    "tried": _tried,
}
