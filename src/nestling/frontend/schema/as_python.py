"""Types as the Python schema that declares them."""

from __future__ import annotations

from types import GenericAlias, UnionType
from typing import Any

from nestling.calculus.lists import is_list
from nestling.calculus.maps import entry_types, is_map
from nestling.calculus.optional import is_optional
from nestling.calculus.types import Bag, Record, Scalar, Type
from nestling.frontend.schema.declare import SCALAR_OF

_CLASS_OF = {scalar.name: class_ for class_, scalar in SCALAR_OF.items()}


def python_schema(record: Record) -> dict[str, Any]:
    """The columns of ``record`` with Python's types: a bag is a list, a record inside it a dict.

    What Python's types do not say, the bits of an int and the places of a decimal, is said by a type of the calculus.

    Law: ``record_type(python_schema(record)) == record``.

    >>> from nestling.calculus.types import INT, STR, record
    >>> python_schema(record(id=INT, tags=Bag(STR), items=Bag(record(pid=INT))))
    {'id': <class 'int'>, 'tags': list[str], 'items': [{'pid': <class 'int'>}]}
    """
    return {name: _python_type(type_) for name, type_ in record.fields}


def _python_type(type_: Type) -> Any:
    match type_:
        case Scalar(name, null, ()):
            return _CLASS_OF[name] | None if null else _CLASS_OF[name]
        case Record() if not is_optional(type_):
            return python_schema(type_)
        case Bag(element):
            if is_map(type_):
                return _python_map(type_)
            inner = _python_type(element)
            if is_optional(element) or is_list(type_):
                return type_  # Python's types do not say it of what stands in a list
            return list[inner] if isinstance(inner, type) else [inner]  # type: ignore[valid-type]
    return type_


def _python_map(type_: Bag) -> Any:
    key, value = map(_python_type, entry_types(type_))
    if isinstance(key, type) and isinstance(value, type | UnionType | GenericAlias):
        return dict[key, value]  # type: ignore[valid-type]
    return type_
