"""What a database remembers of those who feed it, in hidden tables: so it is stored with the change that it belongs to,
or not at all, on every engine, and it is copied, reopened and replayed as rows are.

``§o`` has the last batch of each job, for ``apply(changes, once=…)``. ``§m NAME`` has, of every key of the table NAME
that was merged in a sequence, where in the sequence its last row was, also of rows that are gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nestling.calculus.types import INT, STR, Record, Scalar
from nestling.database.definitions import TableDef
from nestling.database.recursion import RECURSION
from nestling.errors import ChangeError, shown

ONCE = TableDef("§o", Record((("job", STR), ("batch", INT))), ("job",))
MERGED = "§m "
_OURS = (ONCE.name, MERGED, RECURSION)


def merged_name(table: str) -> str:
    """The table that remembers where in its sequence each key of ``table`` is."""
    return MERGED + table


def merged_table(table: TableDef, sequence: Iterable[Scalar]) -> TableDef:
    """Such a table: its columns are numbered, so that those of ``table`` may be renamed."""
    key = tuple([(f"k{i}", type_) for i, type_ in enumerate(table.key_types)])
    places = tuple([(f"s{i}", type_) for i, type_ in enumerate(sequence)])
    return TableDef(merged_name(table.name), Record((*key, *places)), tuple(name for name, _ in key))


def of_users(tables: Mapping[str, int]) -> Mapping[str, int]:
    """The same but for what is remembered here, and for what follows from it: users changed nothing there."""
    for table in tables:
        if table.startswith(_OURS):
            return {name: n for name, n in tables.items() if not name.startswith(_OURS)}
    return tables


def once_argument(once: object) -> tuple[str, int]:
    """Which batch of which job a change is."""
    match once:
        case (str() as job, int() as batch) if isinstance(once, tuple | list) and type(batch) is int:
            return job, batch
    raise ChangeError(
        f"once names a job and the number of its batch, not {shown(once)}", hint='once=("nightly", 17)'
    )
