"""Classes as schemas, and their instances as rows: dataclasses, named tuples, ``TypedDict`` and models of pydantic.

A model is known by what pydantic promises of one, ``model_fields``; pydantic is never imported. A key that a
``TypedDict`` does not require may be left out, so its column may be None.
"""

from __future__ import annotations

import typing
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from typing import Any

from nestling.errors import QueryError
from nestling.frontend.schema.objects import derived


def class_columns(class_: object) -> dict[str, Any] | None:
    """The annotated fields of a class, in order; ``None`` of what is no such class."""
    if not isinstance(class_, type):
        return None
    if is_dataclass(class_):
        return _hints(class_, [field.name for field in fields(class_)])
    if typing.is_typeddict(class_):
        required: frozenset[str] = class_.__required_keys__  # type: ignore[attr-defined]
        hints = _hints(class_, class_.__annotations__)
        keys = {name: _typed_dict_key(hint, name in required) for name, hint in hints.items()}
        return {name: type_ if always else type_ | None for name, (type_, always) in keys.items()}
    names = _model_fields(class_) or getattr(class_, "_fields", None)
    return _hints(class_, names) if isinstance(names, Iterable) else None


def instance_columns(row: object) -> dict[str, Any] | None:
    """The fields of an instance of a dataclass or a model by name; ``None`` of anything else."""
    if is_dataclass(row) and not isinstance(row, type):
        no_columns = derived(type(row))
        return {field.name: getattr(row, field.name) for field in fields(row) if field.name not in no_columns}
    names = _model_fields(type(row))
    return {name: getattr(row, name) for name in names} if names else None


def _model_fields(class_: type) -> list[str]:
    """The fields of a model of pydantic."""
    found = getattr(class_, "model_fields", None)
    return list(found) if isinstance(found, dict) and hasattr(class_, "model_validate") else []


def _typed_dict_key(type_: Any, required: bool) -> tuple[Any, bool]:
    """The type of a key of a ``TypedDict``, and whether it has to be there.

    What is written about the key decides: ``__required_keys__`` misses it where annotations are texts.
    """
    origin, args = typing.get_origin(type_), typing.get_args(type_)
    if origin in (typing.Required, typing.NotRequired):
        return _typed_dict_key(args[0], origin is typing.Required)
    if origin is typing.Annotated:
        inside, required = _typed_dict_key(args[0], required)
        return typing.Annotated[inside, *args[1:]], required
    return type_, required


def _hints(class_: type, names: Iterable[str]) -> dict[str, Any]:
    try:
        hints = typing.get_type_hints(class_, include_extras=True)
    except NameError as error:
        raise QueryError(
            f"the types of {class_.__name__} cannot be read: {error}",
            hint="define it where its names are global, or pass a dict of types",
        ) from error
    missing = [name for name in names if name not in hints]
    if missing:
        raise QueryError(f"{class_.__name__}.{missing[0]} has no type", hint="annotate it")
    return {name: hints[name] for name in names}
