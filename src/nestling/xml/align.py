"""Lists aligned: which places of one are places of the other, in one order.

Law: the pairs ascend on both sides, and each pairs equal tokens (``aligned``) or places with a score (``paired``).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import TypeAlias

Pair: TypeAlias = tuple[int, int]


def aligned(old: Sequence[Hashable], new: Sequence[Hashable], weight: Callable[[int], int]) -> list[Pair]:
    """Pairs of places with equal tokens; where tokens have changed places, the heaviest stay.

    Equal ends are taken first, then tokens that are there once on both sides, then what lies between these.

    >>> aligned("abcd", "xbdc", lambda place: 1)
    [(1, 1), (3, 2)]
    """
    found: list[Pair] = []
    windows = [(0, len(old), 0, len(new))]
    while windows:
        a, b, c, d = windows.pop()
        while a < b and c < d and old[a] == new[c]:
            found.append((a, c))
            a, c = a + 1, c + 1
        while a < b and c < d and old[b - 1] == new[d - 1]:
            b, d = b - 1, d - 1
            found.append((b, d))
        if a == b or c == d:
            continue
        anchors = heaviest(_anchors(old[a:b], new[c:d]), lambda x, a=a: weight(a + x))  # type: ignore[misc]
        if not anchors:
            continue
        ends = [(a + x, c + y) for x, y in anchors]
        found += ends
        for x, y in ends:
            windows.append((a, x, c, y))
            a, c = x + 1, y + 1
        windows.append((a, b, c, d))
    return sorted(found)


def _anchors(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[Pair]:
    """Places of tokens that are there once on both sides; where there are none, the first with the first, and so on."""
    numbers = Counter(old), Counter(new)
    places = {token: place for place, token in enumerate(new)}
    found = [(x, places[token]) for x, token in enumerate(old) if numbers[0][token] == numbers[1][token] == 1]
    if found:
        return found
    occurrences: dict[Hashable, list[int]] = {}
    for y in range(len(new) - 1, -1, -1):
        occurrences.setdefault(new[y], []).append(y)
    return [(x, occurrences[token].pop()) for x, token in enumerate(old) if occurrences.get(token)]


def heaviest(pairs: Sequence[Pair], weight: Callable[[int], int]) -> list[Pair]:
    """Of pairs that ascend on the left, those that also ascend on the right and weigh most; a weight is positive.

    >>> heaviest([(0, 2), (1, 0), (2, 1)], lambda x: 5 if x == 0 else 1)
    [(0, 2)]
    """
    # The ends of chains so far: further to the right only where they weigh more.
    ends: list[int] = []
    totals: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for number, (x, y) in enumerate(pairs):
        place = bisect_left(ends, y)
        total = weight(x) + (totals[place - 1] if place else 0)
        before.append(last[place - 1] if place else -1)
        stop = place
        while stop < len(ends) and totals[stop] <= total:
            stop += 1
        ends[place:stop], totals[place:stop], last[place:stop] = [y], [total], [number]
    found: list[Pair] = []
    at = last[-1] if last else -1
    while at >= 0:
        found.append(pairs[at])
        at = before[at]
    return found[::-1]


def paired(rows: int, columns: int, score: Callable[[int, int], int]) -> list[Pair]:
    """The pairs that ascend on both sides whose scores add up to most; what scores 0 is no pair.

    >>> paired(2, 2, lambda x, y: (x, y) == (1, 0))
    [(1, 0)]
    """
    scores = [[score(x, y) for y in range(columns)] for x in range(rows)]
    best = [[0] * (columns + 1) for _ in range(rows + 1)]
    for x in range(rows - 1, -1, -1):
        for y in range(columns - 1, -1, -1):
            both = best[x + 1][y + 1] + scores[x][y] if scores[x][y] else 0
            best[x][y] = max(both, best[x + 1][y], best[x][y + 1])
    found, x, y = list[Pair](), 0, 0
    while x < rows and y < columns:
        if scores[x][y] and best[x][y] == best[x + 1][y + 1] + scores[x][y]:
            found.append((x, y))
            x, y = x + 1, y + 1
        elif best[x][y] == best[x + 1][y]:
            x += 1
        else:
            y += 1
    return found
