"""Whether what a file says of how a view was stored is what ``storing.as_data`` writes."""

from __future__ import annotations

from typing import Any, get_args

from nestling.errors import StoreError
from nestling.transform.viewlet.storing import Rule

_MEMBERS = {"rows", "values", "memory", "why", "code", "storing"}
#: Those that earlier versions did not write.
_LATER = {"versions"}
_DEEPEST, _MOST = 60, 1 << 63


def check_decision(data: Any) -> None:
    """Refuse what no decision is written as; a view without one has None."""
    if data is not None and not _is_decision(data):
        raise StoreError("how it is stored makes no sense")


def _is_decision(data: Any) -> bool:
    return (
        isinstance(data, dict)
        and data.keys() - _LATER == _MEMBERS
        and isinstance(data["rows"], dict)
        and all(map(_is_count, data["rows"].values()))
        and isinstance(versions := data.get("versions", {}), dict)
        and all(map(_is_count, versions.values()))
        and isinstance(data["values"], list)
        and all(map(_is_value, data["values"]))
        and _is_memory(data["memory"])
        and isinstance(data["why"], str)
        and isinstance(data["code"], str)
        and _is_storing(data["storing"])
    )


def _is_count(data: Any) -> bool:
    return type(data) is int and 0 <= data < _MOST


def _is_value(data: Any) -> bool:
    match data:
        case [str(), list() as columns, count]:
            return all(map(_is_count, columns)) and _is_count(count) and count > 0
    return False


def _is_memory(data: Any) -> bool:
    match data:
        case None:
            return True
        case [count, int() | float() as scale]:
            return _is_count(count) and type(scale) is not bool and scale >= 0
    return False


def _is_storing(data: Any) -> bool:
    match data:
        case None:
            return True
        case {"rule": str() as rule, "rows": bool(), "bags": list() as bags, **rest} if not rest:
            return rule in get_args(Rule) and all(_is_shape(bag, _DEEPEST) for bag in bags)
    return False


def _is_shape(data: Any, deeper: int) -> bool:
    match data:
        case [site, list() as inner] if deeper and type(site) is int:
            return all(each is None or _is_shape(each, deeper - 1) for each in inner)
    return False
