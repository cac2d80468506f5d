"""What the tables of a database say together: who refers to whom, which tables are one family, and in which order they
come.

The extent of a table holds its rows and those of the tables that extend it, and a family all that extend one table. A
reference to a table is to a row of its extent; keys are unique in a family.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from nestling.calculus.types import ELEMENT
from nestling.database.definitions import Site, TableDef
from nestling.frontend.catalog import Entry, FieldPath, Link
from nestling.frontend.schema import Extent
from nestling.frontend.schema.read import row_class
from nestling.frontend.schema.write import Links
from nestling.program.statements import TableDecl

Tables = Mapping[str, TableDef]
#: References that lead nowhere, by flat table and places.
Dangling = frozenset[tuple[str, tuple[int, ...]]]


class Objects:
    """Facts about ``tables``, found once; definitions that change make another."""

    def __init__(self, tables: Tables) -> None:
        self.tables = dict(tables)
        self._classes: dict[str, Extent] = {}
        self._below: dict[str, list[str]] = {name: [] for name in tables}
        for name, table in tables.items():
            if table.extends in self._below:
                self._below[table.extends].append(name)
        #: By table, it and all that extend it.
        self.extents = {name: tuple(self._extent(name)) for name in tables}
        #: By table that has relatives, all of its family.
        self.families = {name: family for name in tables if len(family := self.extents[self._root(name)]) > 1}
        self.kept = [site for table in tables.values() for site in table.sites if site.reference.is_kept]
        #: By flat table, the kept references in it.
        self.sites: dict[str, list[Site]] = {}
        for site in self.kept:
            self.sites.setdefault(site.flat, []).append(site)
        #: By table, the kept references that may lead to a row of it.
        self.referring: dict[str, list[Site]] = {}
        for site in self.kept:
            for name in self.extents.get(site.reference.table, ()):
                self.referring.setdefault(name, []).append(site)
        self.sets = frozenset(name for table in tables.values() for name in table.set_levels)
        self.fixed = {name: table.declarations[name].fixed for name, table in tables.items() if table.fixed}
        #: Whether it matters which table changes first.
        self.has_order = bool(self.kept or self.families)
        #: Whether a commit has to look at rows that go, or that stay.
        self.is_followed = bool(self.fixed or self.referring)
        #: Whether a statement has anything to check at its end.
        self.is_checked = bool(self.sites or self.sets)

    def _extent(self, name: str) -> Iterator[str]:
        yield name
        for below in self._below[name]:
            yield from self._extent(below)

    def _root(self, name: str) -> str:
        above = self.tables[name].extends
        return self._root(above) if above in self.tables else name

    # -- order

    @cached_property
    def ranks(self) -> dict[str, int]:
        """The place of each table where those that are referred to come first."""
        order: dict[str, int] = {}
        visited: set[str] = set()

        def visit(name: str) -> None:
            if name not in visited:
                visited.add(name)
                for parent in self._parents(name):
                    visit(parent)
                order[name] = len(order)

        for name in self.tables:
            visit(name)
        return order

    def _parents(self, name: str) -> list[str]:
        targets = [s.reference.table for s in self.tables[name].sites if s.reference.is_kept]
        return [found for target in targets for found in self.extents.get(target, ())]

    def is_circular(self, child: str, parent: str) -> bool:
        """Whether a row of ``parent`` may refer, on some way, to one of ``child``: then neither comes first."""
        seen, found = {parent}, [parent]
        while found:
            name = found.pop()
            if name == child:
                return True
            new = [other for other in self._parents(name) if other not in seen]
            seen.update(new)
            found += new
        return False

    # -- what users pass, and what queries see

    def extent(self, name: str) -> Extent:
        """The table as a class whose instances stand for their keys, as its rows do."""
        if name not in self._classes:
            table, extent = self.tables[name], self.extents[name] if self.tables[name].key else ()
            rows = frozenset(row_class(self.tables[each].record.names) for each in extent)
            self._classes[name] = Extent(name, table.class_name, table.key, rows)
        return self._classes[name]

    @cached_property
    def links(self) -> dict[str, dict[str, Any]]:
        """By table, where in a row an object may stand for its key."""
        return {name: found for name, table in self.tables.items() if (found := self._links(table))}

    def _links(self, table: TableDef) -> dict[str, Any]:
        tree: dict[str, Any] = {}
        for reference in table.references:
            target = self.tables.get(reference.table)
            if len(reference.paths) == 1 and target is not None:
                *outer, last = reference.paths[0]
                node = tree
                for name in outer:
                    node = node.setdefault(name, {})
                node[last] = self.extent(target.name)
        return tree

    def links_in(self, table: str, level: FieldPath) -> Links:
        """The same for the elements of an inner bag."""
        node: Any = self.links.get(table)
        for name in level:
            if name != ELEMENT:
                node = node.get(name) if isinstance(node, dict) else None
        return node  # type: ignore[no-any-return]

    def entry(self, table: TableDef) -> Entry:
        """A table as queries see it."""
        references = {
            path: Link(site.reference.table, site.is_nullable, site.reference.is_kept)
            for site in table.sites
            if len(site.reference.paths) == 1
            for path in site.reference.paths
        }
        inverses = {name: found for name, text in table.inverses if (found := self.inverse(text)) is not None}
        return Entry(
            table.record,
            table.key,
            references,
            inverses,
            table.extends,
            frozenset(table.sets),
            table.class_name,
        )

    def inverse(self, text: str) -> tuple[str, FieldPath] | None:
        """The table and the path that ``"Order.customer"`` names; ``None`` where there is none yet."""
        for name, table in self.tables.items():
            for start in (table.class_name, name):
                if start and text.startswith(f"{start}."):
                    wanted = text.removeprefix(f"{start}.")
                    for reference in table.references:
                        if len(reference.paths) == 1 and reference.text == wanted:
                            return name, reference.paths[0]
        return None


def declarations(tables: Tables, dangling: Dangling = frozenset()) -> dict[str, TableDecl]:
    """The flat tables of all tables, those that others refer to first.

    A program may rely on a reference where the row is in one table and comes first; where tables refer to each other in
    a circle, and where the row may be in any table of a family, it may not. Nor on one that is ``dangling``.
    """
    objects = Objects(tables)

    def relied_on(owner: str, parent: str) -> bool:
        return len(objects.extents.get(parent, ())) == 1 and not objects.is_circular(owner, parent)

    found: dict[str, TableDecl] = {}
    for owner in sorted(tables, key=objects.ranks.__getitem__):
        for name, decl in tables[owner].declarations.items():
            kept = tuple(
                pair
                for pair in decl.references
                if relied_on(owner, pair[1]) and (name, pair[0]) not in dangling
            )
            found[name] = decl if kept == decl.references else replace(decl, references=kept)
    return found
