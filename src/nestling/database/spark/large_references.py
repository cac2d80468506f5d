"""References, sets and families of large changes: checked and followed by joins, on what all tables will hold.

Law: as ``statements`` and ``references`` for few rows. A large change is one statement.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nestling.database.definitions import Site
from nestling.database.references import check_same, referred
from nestling.database.refused import key_taken, shown_key
from nestling.database.statements import no_target, twice
from nestling.engine.spark.relations import difference, joins_text
from nestling.engine.spark.state import TempView, all_of
from nestling.engine.spark.types import values

if TYPE_CHECKING:
    from nestling.database.spark.large import Large


def keep_references(large: Large) -> None:
    """Refuse what leads nowhere, and do what follows from rows that go; ``large`` has all changes of its tables."""
    kept = _Keeping(large)
    for name in list(large.changes):
        for site in kept.objects.sites.get(name, ()):
            kept.check_new(site)
        if name in kept.objects.families:
            kept.check_family(name)
    while kept.follow():
        pass
    kept.check_refused()
    for name in large.changes:
        if name in kept.objects.sets:
            kept.check_set(name)
        if name in kept.objects.fixed:
            kept.check_fixed(name)


class _Keeping:
    def __init__(self, large: Large) -> None:
        self.large, self.objects, self.layouts = large, large.state.objects, large.engine.layouts
        #: By table, how much of its change was followed.
        self._done: dict[str, int] = {}

    # -- what comes

    def check_new(self, site: Site) -> None:
        """More rows refer to a key than before, so it is there."""
        columns = [f"k{place}" for place in site.places]
        given = ", ".join(f"{column} AS g{i}" for i, column in enumerate(columns))
        there = " AND ".join(f"{column} IS NOT NULL" for column in columns)
        new = self.large.written(
            f"SELECT {given} FROM ({all_of(self.large.changes[site.flat])}) WHERE {there}"
            f" GROUP BY {', '.join(columns)} HAVING SUM(m0) > 0"
        )
        missing = self._without_row(site, f"SELECT * FROM {new}")
        for key in self._found(site.flat, f"{missing} LIMIT 1", site.places):
            raise no_target(self.objects, site, key, "")

    def _without_row(self, site: Site, keys: str) -> str:
        """Those of ``keys``, ``g0, g1, …``, that no row of the extent will have."""
        text = keys
        for name in self.objects.extents.get(site.reference.table, ()):
            places = self.objects.tables[name].declarations[name].key
            on = [
                joins_text(f"c.g{i}", f"p.k{place}", self.layouts[name].keys[place])
                for i, place in enumerate(places)
            ]
            rows = self.large.after(name, places, keys)
            text = f"SELECT * FROM ({text}) c LEFT ANTI JOIN ({rows}) p ON {' AND '.join(on)}"
        return text

    def check_set(self, name: str) -> None:
        places = tuple(range(len(self.layouts[name].keys)))
        given = ", ".join(f"k{i} AS g{i}" for i in places)
        new = f"SELECT {given} FROM ({all_of(self.large.changes[name])}) WHERE m0 > 0"
        columns = ", ".join(f"k{i}" for i in places)
        text = f"SELECT {columns} FROM ({self.large.after(name, places, new)}) WHERE m0 > 1 LIMIT 1"
        for row in self._found(name, text, places):
            raise twice(name, row[1:])

    def check_family(self, name: str) -> None:
        """No other table of the family will have the key of a row that comes."""
        places = self.objects.tables[name].declarations[name].key
        columns = ", ".join(f"k{place} AS g{i}" for i, place in enumerate(places))
        came = f"SELECT {columns} FROM ({all_of(self.large.changes[name])}) WHERE m0 > 0"
        for other in self.objects.families[name]:
            if other != name:
                theirs = self.objects.tables[other].declarations[other].key
                keys = ", ".join(f"k{place}" for place in theirs)
                text = f"SELECT {keys} FROM ({self.large.after(other, theirs, came)}) LIMIT 1"
                for key in self._found(other, text, theirs):
                    raise key_taken(self.objects.tables[other], key)

    # -- what goes

    def follow(self) -> bool:
        """Take references to rows that went since the last round; whether there were any."""
        went = {
            table: views[self._done.get(table, 0) :]
            for table, views in self.large.changes.items()
            if table in self.objects.referring
        }
        self._done |= {table: len(self.large.changes[table]) for table in went}
        followed = False
        for table, views in went.items():
            for site in self.objects.referring[table]:
                if site.reference.on_delete != "refuse" and views:
                    followed |= self._follow(site, self._gone(site, table, views))
        return followed

    def _gone(self, site: Site, table: str, views: Sequence[TempView]) -> str:
        """The keys that went from ``table`` and that no row which ``site`` may lead to will have, ``g0, g1, …``."""
        places = self.objects.tables[table].declarations[table].key
        columns = ", ".join(f"k{place} AS g{i}" for i, place in enumerate(places))
        went = f"SELECT DISTINCT {columns} FROM ({all_of(views)}) WHERE m0 < 0"
        return self.large.written(self._without_row(site, went))

    def _follow(self, site: Site, gone: str) -> bool:
        large, layout = self.large, self.layouts[site.flat]
        rows = large.written(large.after(site.flat, site.places, f"SELECT * FROM {gone}"))
        if not large.rows(f"SELECT 1 AS one FROM {rows} LIMIT 1"):
            return False
        owner = self.objects.tables[site.owner]
        keys = ", ".join(layout.key_names)
        if site.reference.on_delete == "nil" and not site.is_element:
            nil = [f"NULL AS {key}" if i in site.places else key for i, key in enumerate(layout.key_names)]
            large._add(site.flat, f"SELECT {', '.join(nil)}, m0 FROM {rows}")
        else:
            large._delete_below(owner, site.flat, f"SELECT {keys} FROM {rows}")
        large._add(site.flat, f"SELECT {keys}, -m0 AS m0 FROM {rows}")
        return True

    def check_refused(self) -> None:
        for table in [name for name in self.large.changes if name in self.objects.referring]:
            for site in self.objects.referring[table]:
                if site.reference.on_delete == "refuse":
                    self._check_refused(site, self._gone(site, table, self.large.changes[table]))

    def _check_refused(self, site: Site, gone: str) -> None:
        own = self.objects.tables[site.owner].declarations[site.owner].key if site.flat == site.owner else ()
        places = (*site.places, *own)
        columns = ", ".join(f"k{place} AS c{i}" for i, place in enumerate(places))
        rows = self.large.after(site.flat, site.places, f"SELECT * FROM {gone}")
        for row in self._found(site.flat, f"SELECT {columns} FROM ({rows}) LIMIT 1", places):
            key, at = row[: len(site.places)], row[len(site.places) :]
            raise referred(site, key, f" {shown_key(at)}" if at else "")

    def check_fixed(self, name: str) -> None:
        """Fixed columns of rows that stay are as they were."""
        decl, layout = self.objects.tables[name].declarations[name], self.layouts[name]
        change = self.large.written(difference(all_of(self.large.changes[name]), layout))
        same = [joins_text(f"o.k{place}", f"n.k{place}", layout.keys[place]) for place in decl.key]
        fixed = [joins_text(f"o.k{place}", f"n.k{place}", layout.keys[place]) for place in decl.fixed]
        width = len(layout.keys)
        columns = [f"o.k{i} AS o{i}" for i in range(width)] + [f"n.k{i} AS n{i}" for i in range(width)]
        text = (
            f"SELECT {', '.join(columns)} FROM {change} o JOIN {change} n ON {' AND '.join(same)}"
            f" WHERE o.m0 < 0 AND n.m0 > 0 AND NOT ({' AND '.join(fixed)}) LIMIT 1"
        )
        for row in self._found(name, text, (*range(width), *range(width))):
            check_same(self.large.state, name, row[:width], row[width:])

    def _found(self, flat: str, text: str, places: Sequence[int]) -> list[tuple[Any, ...]]:
        return values([self.layouts[flat].keys[i] for i in places], self.large.engine.arrow(text))
