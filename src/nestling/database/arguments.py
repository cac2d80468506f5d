"""Checks of the arguments of public methods: each function returns the argument in the internal form, or raises an
error that says what to pass. Public methods call them first, so that no other code sees unchecked arguments.

A bad change raises ``ChangeError``, a bad definition ``QueryError``. An exception from a function or an iterator of
the user propagates unchanged, and nothing is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Final, TypeVar

from nestling.calculus.types import Record, Type
from nestling.database.definitions import ON_DELETE, TableDef
from nestling.database.elements import inner_bag
from nestling.database.feed import Pairs, check_feed, z_bag
from nestling.database.languages import is_frame
from nestling.depth import room
from nestling.errors import ChangeError, QueryError, StoreError, shown
from nestling.frontend.schema import constant, is_tabular, tabular_rows
from nestling.values.bag import ZBag

Definition = TypeVar("Definition")


class NotGiven:
    """The default of an argument that may be None."""

    def __repr__(self) -> str:
        return "not given"


NOT_GIVEN: Final = NotGiven()
_FRAME = "a database on Spark takes a DataFrame outside of transactions; elsewhere pass frame.toArrow()"

# -- definitions


def path_argument(path: object) -> Path:
    """Where a database is kept."""
    text = fspath(path) if isinstance(path, str | PathLike) else None
    if isinstance(text, str) and text and "\0" not in text:
        return Path(text)
    raise StoreError(f"a path is a str or a pathlib.Path, not {shown(path)}", hint='nl.Database("shop.nest")')


def name_argument(name: object, what: str) -> str:
    """What a table, a view or a constraint is called; which texts are names is decided where they are defined."""
    if isinstance(name, str):
        return name
    raise QueryError(f"the name of a {what} is a str, not {shown(name)}", hint=f'db.{what}("name", …)')


def flag_argument(value: object, name: str) -> bool:
    """True or False, and nothing that is taken for them."""
    if isinstance(value, bool):
        return value
    raise QueryError(f"{name} is True or False, not {shown(value)}")


def key_argument(key: object) -> tuple[str, ...]:
    """The columns of a key: one name or several."""
    return () if key is None else _columns(key, "key")


def references_argument(references: object) -> dict[tuple[str, ...], str]:
    """What refers to which table: by path, or by several columns where its key has several."""
    if references is None:
        return {}
    if not isinstance(references, Mapping):
        raise QueryError(f"references is not {shown(references)}", hint='references={"column": "table"}')
    return {
        _columns(columns, "references"): name_argument(table, "table")
        for columns, table in references.items()
    }


def on_delete_argument(on_delete: object) -> str | dict[tuple[str, ...], str]:
    """What happens to references when the object goes: one word for all, or by path."""
    if isinstance(on_delete, Mapping):
        return {_columns(columns, "on_delete"): _on_delete(word) for columns, word in on_delete.items()}
    return {} if on_delete is None else _on_delete(on_delete)


def _on_delete(word: object) -> str:
    if isinstance(word, str) and word in ON_DELETE:
        return word
    raise QueryError(
        f"on_delete is not {shown(word)}",
        hint=f'on_delete={{"path": word}}, where a word is {", ".join(map(repr, ON_DELETE))}',
    )


def inverse_argument(inverse: object) -> dict[str, str]:
    """Derived collections: by name the path of the references."""
    if inverse is None:
        return {}
    if isinstance(inverse, Mapping):
        pairs = {
            name: path for name, path in inverse.items() if isinstance(name, str) and isinstance(path, str)
        }
        if len(pairs) == len(inverse) and all("." in path for path in pairs.values()):
            return pairs
    raise QueryError(f"inverse is not {shown(inverse)}", hint='inverse={"orders": "orders.customer"}')


def extends_argument(extends: object) -> str | None:
    """The table of the superclass."""
    if extends is None or isinstance(extends, str):
        return extends
    raise QueryError(f"extends names a table, not {shown(extends)}", hint='extends="persons"')


def fixed_argument(fixed: object) -> bool | tuple[str, ...] | None:
    """Which columns never change: all, none or some; ``None`` where it is not said."""
    return fixed if fixed is None or isinstance(fixed, bool) else _columns(fixed, "fixed")


def ordered_argument(ordered: object) -> tuple[str, ...]:
    """The arrays whose order counts."""
    return () if ordered is None else _columns(ordered, "ordered")


def _columns(columns: object, argument: str) -> tuple[str, ...]:
    if isinstance(columns, str):
        return (columns,)
    names = tuple(columns) if isinstance(columns, Iterable) and not isinstance(columns, bytes) else (columns,)
    for name in names:
        if not isinstance(name, str):
            raise QueryError(
                f"{argument} names columns, not {shown(name)}", hint=f'{argument}="name", or several names'
            )
    return names


def text_argument(text: object) -> str:
    """A script of SQL."""
    if isinstance(text, str):
        return text
    raise QueryError(f"SQL is a str, not {shown(text)}", hint='db.sql("SELECT …")')


def params_argument(params: object) -> Sequence[Any] | Mapping[str, Any]:
    """The values of the marks in a script: one after the other, or by name."""
    if isinstance(params, Mapping) and all(isinstance(name, str) for name in params):
        return {name: constant(value, f"parameter {name!r}") for name, value in params.items()}
    if isinstance(params, list | tuple):
        return [constant(value, f"parameter {place}") for place, value in enumerate(params, 1)]
    raise QueryError(
        f"parameters are a list or a dict, not {shown(params)}", hint='db.sql("… WHERE id = ?", [7])'
    )


@contextmanager
def within_depth() -> Iterator[None]:
    """What needs more calls inside one another than Python allows is refused as any other query is."""
    try:
        with room():
            yield
    except RecursionError:
        raise QueryError(
            "the query is nested too deeply", hint="split it into views that read each other"
        ) from None


# -- changes


def rows_argument(rows: object, record: Record) -> Iterable[Any]:
    """Rows that are no list: any other iterable of rows, a DataFrame of pandas or a table of Arrow."""
    if isinstance(rows, str | bytes | Mapping | ZBag | Pairs) or is_frame(rows) or not _listable(rows):
        raise ChangeError(f"rows are not {shown(rows)}", hint=_instead(rows))
    found = tabular_rows(rows, dict(record.fields)) if isinstance(record, Record) else None
    return rows if found is None else found  # type: ignore[return-value]


def elements_argument(elements: object) -> Sequence[tuple[Any, int]]:
    """Elements of an inner bag, with how often each comes or goes."""
    if type(elements) is list:
        return [(element, 1) for element in elements]
    if isinstance(elements, Pairs):
        return elements.items()
    if isinstance(elements, str | bytes | Mapping | ZBag) or not _listable(elements):
        raise ChangeError(f"elements are not {shown(elements)}", hint="pass a list of them")
    found = tabular_rows(elements, {})
    return [(element, 1) for element in (elements if found is None else found)]  # type: ignore[attr-defined]


def _listable(rows: object) -> bool:
    return isinstance(rows, Iterable) or hasattr(rows, "to_pylist") or is_tabular(rows)


def _instead(rows: object) -> str:
    if isinstance(rows, Mapping):
        return "one row is a list of one: [{column: value}]; a Z-bag is given to db.apply({table: …})"
    if isinstance(rows, ZBag | Pairs):
        return "a Z-bag is given to db.apply({table: …})"
    if is_frame(rows):
        return _FRAME
    return "pass a list of dicts, tuples or dataclasses, a DataFrame or an Arrow table"


def changes_argument(changes: object, tables: Mapping[str, TableDef], frames: bool = False) -> dict[str, Any]:
    """What changes by table, or by inner bag: each something that has ``items``, rows and how often they come.

    With ``frames``, Spark's DataFrames stay as they are.
    """
    if not isinstance(changes, Mapping):
        raise ChangeError(
            f"changes come by table, not as {shown(changes)}", hint="db.apply({table: changes})"
        )
    for name in changes:
        if not isinstance(name, str):
            raise ChangeError(
                f"changes come by table, not by {shown(name)}", hint="db.apply({table: changes})"
            )
    if not frames and any(map(is_frame, changes.values())):
        raise ChangeError("an embedded database takes no DataFrame of Spark", hint=_FRAME)
    found = {}
    for name, rows in changes.items():
        types = column_types(tables, name)
        found[name] = rows if is_frame(rows) else z_bag(rows, types)
        if "_change_type" in rows.columns if is_frame(rows) else found[name] is not rows:
            check_feed(name, types)
    return found


def column_types(tables: Mapping[str, TableDef], name: str) -> dict[str, Type]:
    """The types of the columns that changes of a table, or of an inner bag, have."""
    if name in tables:
        return dict(tables[name].record.fields)
    bag = inner_bag(tables, name)
    if bag is None:
        return {}
    table, level = bag
    element = table.levels[level].element
    own = dict(element.fields) if isinstance(element, Record) else {"element": element}
    return own | dict(zip(table.key, table.key_types, strict=True))


def address_argument(path: object) -> tuple[Any, ...]:
    """The way to an inner bag: names of fields, and columns that tell an element from all others."""
    if isinstance(path, tuple | list) and all(isinstance(step, str | Mapping) for step in path):
        return tuple(path)
    raise ChangeError(
        f"an inner bag is not at {shown(path)}", hint='("sections", {"title": "Intro"}, "words")'
    )


def set_argument(columns: object) -> Mapping[str, Any]:
    """New values by column."""
    if not isinstance(columns, Mapping):
        raise ChangeError(f"new values come by column, not as {shown(columns)}", hint="set={column: value}")
    for name in columns:
        if not isinstance(name, str):
            raise ChangeError(f"a column is named by a str, not {shown(name)}", hint="set={column: value}")
    return columns


def one_way(rows: object, where: object, key: object) -> None:
    """What goes is said once: by rows, by a condition or by a key."""
    if (rows is not NOT_GIVEN) + (where is not None) + (key is not NOT_GIVEN) != 1:
        raise ChangeError("delete takes exactly one of rows, where and key", hint="for example key=7")


def one_of(where: object, key: object) -> None:
    """Which rows are updated is said once."""
    if (where is not None) + (key is not NOT_GIVEN) != 1:
        raise ChangeError("update takes exactly one of where and key", hint="for example key=7")


def condition(where: object) -> Callable[[Any], bool]:
    """A function of a row that says whether it goes."""
    if not callable(where):
        raise ChangeError(
            f"where is a function of a row, not {shown(where)}", hint="where=lambda row: row.n > 1"
        )

    def holds(row: Any) -> bool:
        found = where(row)
        if isinstance(found, bool) or type(found).__name__ in ("bool", "bool_"):  # NumPy's too
            return bool(found)
        raise ChangeError(f"where says True or False, not {shown(found)}", hint="compare in it: row.n > 1")

    return holds


# -- reading


def defined(definitions: Mapping[str, Definition], what: str, name: str) -> Definition:
    """What a handle stands for, unless it is not there any more."""
    try:
        return definitions[name]
    except KeyError:
        raise QueryError(
            f"{what} {name} was dropped", hint=f"define it again: db.{what}({name!r}, …)"
        ) from None
