"""What a query may read: tables and views by name, the types of their rows, and their keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from nestling.calculus.types import Type
from nestling.errors import QueryError

#: Names of fields from a row inwards; elements of bags are passed through without a name: ``("lines", "product")``.
FieldPath = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Link:
    """A reference, as a query sees it: the table whose key stands there.

    ``is_kept``: the row is always there unless the reference is nil; one that may dangle reads as one that may be nil.
    """

    table: str
    is_nullable: bool = False
    is_kept: bool = True


@dataclass(frozen=True, slots=True)
class Entry:
    """The type of a row, a record for every table, and the columns no two rows agree on (none: a bag).

    ``references``: by path, what the keys that stand there refer to. ``inverses``: by name, a derived collection of the
    rows of a table whose reference at a path is this row. ``extends``: the table of the superclass. ``sets``: the bags
    that have each element once, by path. ``class_name``: the Python class that the table was declared with.
    """

    element: Type
    key: tuple[str, ...] = ()
    references: Mapping[FieldPath, Link] = field(default_factory=dict)
    inverses: Mapping[str, tuple[str, FieldPath]] = field(default_factory=dict)
    extends: str | None = None
    sets: frozenset[FieldPath] = frozenset()
    class_name: str = ""


class Catalog(Mapping[str, Type]):
    """Names to the types of their rows.

    >>> from nestling.calculus.types import INT, STR, record, show_type
    >>> catalog = Catalog()
    >>> catalog.add("orders", record(id=INT, customer=STR), key=("id",))
    >>> show_type(catalog.find("orders")), catalog.key("orders")
    ('⟨id: int, customer: str⟩', ('id',))
    """

    def __init__(self, entries: Mapping[str, Type] | None = None) -> None:
        self._entries = {name: Entry(element) for name, element in (entries or {}).items()}
        #: What is declared and not there yet: by name why, and what to do.
        self.waiting: dict[str, tuple[str, str]] = {}

    def add(self, name: str, element: Type, key: Iterable[str] = ()) -> None:
        """Declare a table or view; a declared name gets its new meaning."""
        self.declare(name, Entry(element, tuple(key)))

    def declare(self, name: str, entry: Entry) -> None:
        """``add``, with all that is known of the name."""
        self._entries[name] = entry

    def remove(self, name: str) -> None:
        """Forget a table or view."""
        self.find(name)
        del self._entries[name]

    def find(self, name: str) -> Type:
        """The type of the rows of ``name``; ``QueryError`` where there is no such table or view."""
        if name not in self._entries:
            raise unknown(name, self)
        return self._entries[name].element

    def entry(self, name: str) -> Entry:
        """All that is known of ``name``; ``QueryError`` where there is no such table or view."""
        self.find(name)
        return self._entries[name]

    def subclasses(self, name: str) -> tuple[str, ...]:
        """The tables that extend ``name`` directly, in the order of declaration."""
        return tuple(other for other, entry in self._entries.items() if entry.extends == name)

    def key(self, name: str) -> tuple[str, ...]:
        """The key columns of ``name``; none where it is a bag."""
        return self._entries[name].key if name in self._entries else ()

    def __getitem__(self, name: str) -> Type:
        return self._entries[name].element

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


def waiting(name: str, names: Iterable[str]) -> tuple[str, str] | None:
    """Why a name that was declared is not there yet, and what to do."""
    return names.waiting.get(name) if isinstance(names, Catalog) else None


def unknown(name: str, names: Iterable[str]) -> QueryError:
    """The error for a name that is not among ``names``, with the closest of them."""
    if (waits := waiting(name, names)) is not None:
        return QueryError(waits[0], hint=waits[1])
    known = sorted(names)
    close = get_close_matches(name, known, n=1)
    if close:
        hint = f"did you mean {close[0]!r}?"
    else:
        hint = f"there are {', '.join(known)}" if known else "there is none yet: declare a table first"
    return QueryError(f"there is no table or view {name!r}", hint=hint)
