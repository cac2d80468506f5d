"""What generated functions of the driver call: Spark's limits of numbers, and readings of the entries of a group."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any

from nestling.calculus.valued import VALUED
from nestling.engine.protocol import Row
from nestling.engine.spark import limits
from nestling.engine.spark.driver.lookup import Found
from nestling.errors import NoValue
from nestling.program.flat import first_of
from nestling.storage.ordered import OrderedMap
from nestling.values.bag import ZBag
from nestling.values.order import first


def in_64_bits(*numbers: Any) -> bool:
    """True, or no answer."""
    for number in numbers:
        if isinstance(number, int) and not limits.MIN_INT64 <= number <= limits.MAX_INT64:
            raise NoValue("a number has more than 64 bits")
    return True


def fits(*sums: Any) -> None:
    """No answer where a sum has more digits than a column of Spark."""
    in_64_bits(*sums)
    if any(isinstance(number, Decimal) and abs(number) >= limits.END_DECIMAL for number in sums):
        raise NoValue("a sum has more than 19 digits before the point")


def measures(found: Sequence[Row] | None, width: int) -> Row:
    """The measures of the one entry that was found, or zeros."""
    return found[0][-width:] if found else (0,) * width


def in_order(found: Found, width: int) -> dict[Row, OrderedMap[Any]]:
    """The entries of every group in order of their last key; a null lies within no bounds."""
    ordered: dict[Row, OrderedMap[Any]] = {}
    for group, entries in found.items():
        ordered[group] = OrderedMap(width - 1)
        for entry in entries:
            if entry[-width - 1] is not None:
                ordered[group].add(entry[-width - 1], *entry[-width:])
    return ordered


def add_up(sums: dict[Row, Row], pairs: Iterable[tuple[Row, Row]]) -> None:
    """Add amounts to sums by key; an empty sum is one of nothing."""
    for key, amounts in pairs:
        before = sums.get(key)
        sums[key] = tuple(map(sum, zip(before, amounts, strict=True))) if before else amounts


def there(entries: Sequence[Row]) -> list[Any]:
    """The last keys of the entries whose count is not negative."""
    return [entry[-2] for entry in entries if entry[-1] > 0]


def of_first(entries: Sequence[Row], limit: int, greatest: bool) -> ZBag:
    """The first values of a group, each as often as it is there."""
    return first(ZBag((entry[-2], entry[-1]) for entry in entries), limit, greatest)


def _of_values(read: Callable[[ZBag], Any]) -> Callable[[Sequence[Row]], Any]:
    return lambda entries: read(ZBag((entry[-2], entry[-1]) for entry in entries))


#: Aggregates of the entries of one group of a map in order.
ORDERED: dict[str, Callable[[Sequence[Row]], Any]] = {
    "min": lambda entries: min(there(entries), default=None),
    "max": lambda entries: max(there(entries), default=None),
    "count_distinct": lambda entries: len(there(entries)),
    **{name: _of_values(read) for name, (read, _) in VALUED.items()},
}


def ordered_value(aggregate: str, entries: Sequence[Row]) -> Any:
    """``aggregate`` of the entries of one group."""
    taken = first_of(aggregate)
    return ORDERED[aggregate](entries) if taken is None else of_first(entries, *taken)


def ordered_function(aggregate: str, entries: str) -> str:
    """The same, as Python is written."""
    taken = first_of(aggregate)
    if taken is None:
        return f"of_{aggregate}({entries})"
    return f"of_first({entries}, {taken[0]}, {taken[1]})"


HELPERS: dict[str, Any] = {
    "in_64_bits": in_64_bits, "fits": fits, "measures": measures, "in_order": in_order, "add_up": add_up,
    "of_first": of_first, **{f"of_{name}": function for name, function in ORDERED.items()},
}  # fmt: skip
