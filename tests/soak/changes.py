"""Random changes of a model: most can be accepted, some cannot, and some are several at once."""

from random import Random
from typing import Any

from tests.soak.model import Model, Refused, after, applied
from tests.soak.schema import Column, Table, element, row, value
from tests.soak.steps import Abandoned, Step

KINDS = (
    "insert",
    "insert_dicts",
    "delete",
    "delete_key",
    "delete_where",
    "update",
    "apply",
    "feed",
    "sync",
    "deep",
    "bad",
)
WEIGHTS = (8, 3, 4, 2, 1, 6, 3, 2, 1, 8, 1)

#: A table of so many rows gets none by insertion; it is the reference that would be slow.
MOST = 10


def step(rng: Random, tables: tuple[Table, ...], model: Model, views: list[str]) -> Step:
    """A change of one table, or a transaction."""
    if rng.random() < 0.25:
        return transaction(rng, tables, model, views)
    return simple(rng, tables, model)


def transaction(rng: Random, tables: tuple[Table, ...], model: Model, views: list[str]) -> Step:
    named = {table.name: table for table in tables}
    steps: list[Step] = []
    for _ in range(rng.randint(1, 5)):
        new = simple(rng, tables, model)
        if new[0] in ("sync", "feed"):
            continue  # of a database, not of a transaction
        steps.append(new)
        try:
            model = applied(model, named, new)
        except Refused:
            break
    ending = rng.choice(["commit", "commit", "commit", "abandon", *(f"read {view}" for view in views[:2])])
    return ("transaction", steps, ending)


def simple(rng: Random, tables: tuple[Table, ...], model: Model) -> Step:
    """One change that can be accepted, if any of a few attempts can."""
    named = {table.name: table for table in tables}
    for _ in range(6):
        table = rng.choice(tables)
        kind = rng.choices(KINDS, WEIGHTS)[0]
        made = make(rng, kind, table, model[table.name])
        if made is None:
            continue
        try:
            after(model, named, made)
        except (Refused, Abandoned):
            if kind != "bad":
                continue
        return made
    return ("insert", tables[0].name, [])


def make(  # noqa: C901 - one arm per kind of change
    rng: Random, kind: str, table: Table, rows: list[Any]
) -> Step | None:
    """A change of this kind, if there is one."""
    name, some = table.name, rng.choice(rows) if rows else None
    match kind:
        case "insert" | "insert_dicts" if len(rows) >= MOST:
            return ("delete", name, rng.sample(rows, rng.randint(2, 6)))
        case "insert" | "insert_dicts":
            return (kind, name, fresh(rng, table, rows))
        case "bad":
            return bad(rng, table, rows)
    if some is None:
        return None
    match kind:
        case "delete":
            return ("delete", name, rng.sample(rows, min(len(rows), rng.choice([1, 1, 2, 3]))))
        case "delete_key" if table.key:
            return (kind, name, table.key_of(some))
        case "delete_where":
            column = rng.choice([c for c in table.columns if c.kind in ("int", "str")])
            return (kind, name, column.name, rng.choice(rows)[table.columns.index(column)])
        case "update" if table.key:
            return (kind, name, table.key_of(some), columns(rng, table))
        case "apply":
            return ("apply", [(name, pairs(rng, table, rows))])
        case "feed":
            words = {1: ["insert", "update_postimage"], -1: ["delete", "update_preimage"]}
            return (
                kind,
                name,
                [(r, rng.choice(words[n])) for r, n in pairs(rng, table, rows) if abs(n) == 1],
            )
        case "sync":
            kept = [r for r in rows if rng.random() < 0.7]
            return (kind, name, kept + fresh(rng, table, kept))
        case "deep" if table.key and table.bags():
            return deep(rng, table, some)
    return None


def fresh(rng: Random, table: Table, rows: list[Any]) -> list[Any]:
    """New rows; keys are free."""
    taken, new = {table.key_of(r) for r in rows}, []
    for _ in range(rng.choice([1, 1, 2, 3, 5])):
        made = row(rng, table)
        if not table.key or table.key_of(made) not in taken:
            taken.add(table.key_of(made))
            new.append(made)
    return new


def filled(rng: Random, table: Table, model: Model) -> list[Any]:
    """Rows to begin with; each refers to a row that is there."""
    rows = [made for _ in range(3) for made in fresh(rng, table, [])]
    found = {table.key_of(made) if table.key else number: made for number, made in enumerate(rows)}
    places = {column.name: place for place, column in enumerate(table.columns)}
    for name, parent in table.references:
        keys = {key for key, *_ in model[parent]}
        found = {key: made for key, made in found.items() if made[places[name]] in keys}
    return list(found.values())


def columns(rng: Random, table: Table) -> dict[str, Any]:
    names = rng.sample(table.columns, rng.choice([1, 1, 2]))
    free = [column for column in names if column.name not in table.key or rng.random() < 0.2]
    return {column.name: value(rng, column) for column in free}


def pairs(rng: Random, table: Table, rows: list[Any]) -> list[tuple[Any, int]]:
    gone = [(r, -1) for r in rng.sample(rows, min(len(rows), rng.choice([0, 1, 2])))]
    left = [r for r in rows if all(r is not other for other, _ in gone)]
    times = [1] if table.key else [1, 1, 2]
    return gone + [(r, rng.choice(times)) for r in fresh(rng, table, left)]


def deep(rng: Random, table: Table, some: tuple[Any, ...]) -> Step | None:
    """A change of a bag inside ``some``, or of one inside an element of it."""
    column = rng.choice(table.bags())
    bag, key = some[table.columns.index(column)], table.key_of(some)
    path: tuple[Any, ...] = (column.name,)
    if not column.scalars and bag and rng.random() < 0.5:
        chosen = rng.choice(bag)
        place = {part.name: v for part, v in zip(column.parts, chosen, strict=True) if part.kind != "bag"}
        path = (*path, place)
        inner = [part for part in column.parts if part.kind == "bag"]
        if not inner or rng.random() < 0.4:
            part = rng.choice([part for part in column.parts if part.kind != "bag"])
            return ("deep_update", table.name, key, path, {part.name: value(rng, part)})
        column = inner[0]
        path, bag = (*path, column.name), chosen[[p.name for p in _parents(table, path)].index(column.name)]
    if bag and rng.random() < 0.45:
        return ("deep_delete", table.name, key, path, rng.sample(bag, min(len(bag), rng.choice([1, 1, 2]))))
    new = [element(rng, column) for _ in range(rng.choice([1, 1, 2]))]
    return ("deep_insert", table.name, key, path, new)


def _parents(table: Table, path: tuple[Any, ...]) -> tuple[Column, ...]:
    return table.column(path[0]).parts


def bad(rng: Random, table: Table, rows: list[Any]) -> Step:
    """A change that should be refused, most of the time."""
    missing = row(rng, table)
    if table.key and rows and rng.random() < 0.5:
        return ("insert", table.name, [row(rng, table), rng.choice(rows)])
    if table.key and rng.random() < 0.5:
        return ("update", table.name, table.key_of(missing), columns(rng, table))
    return ("delete", table.name, [missing])
