"""Random graphs of objects: tables that refer to each other in every way, random changes, and what they must keep.

The oracle is a dictionary of rows per table: it knows neither flat rows nor indexes. A change that it holds to be good
is accepted, one that leaves a reference to nothing is refused, and after either both sides hold the same rows.
"""

import random
from copy import deepcopy
from typing import Any

import nestling as nl

KINDS = ("refuse", "nil", "cascade")
#: By table its references: the path, the table, and whether it is optional; the last are bags.
REFERENCES = {
    "parts": (("twin", "parts", True),),
    "users": (("boss", "users", True), ("home", "parts", True)),
    "admins": (("boss", "users", True), ("home", "parts", True), ("deputy", "admins", True)),
    "jobs": (("owner", "users", False), ("lines.part", "parts", False), ("seen", "users", False)),
}
SCHEMAS: dict[str, dict[str, Any]] = {
    "parts": {"id": int, "n": int, "twin": int | None},
    "users": {"id": int, "n": int, "boss": int | None, "home": int | None},
    "admins": {"id": int, "n": int, "boss": int | None, "home": int | None, "deputy": int | None},
    "jobs": {"id": int, "n": int, "owner": int, "lines": [{"part": int, "n": int}], "seen": [int]},
}
#: A row of the right table has the key.
EXTENTS = {"parts": ("parts",), "users": ("users", "admins"), "admins": ("admins",), "jobs": ("jobs",)}
FAMILY = {"users": ("users", "admins"), "admins": ("users", "admins")}
KEYS = range(1, 9)

Rows = dict[str, dict[int, dict[str, Any]]]
Words = dict[tuple[str, str], str]


class Refused(Exception):
    """The oracle holds a change to be bad."""


def words(rng: random.Random) -> Words:
    """What happens to each reference when the object goes."""
    return {
        (table, path): rng.choice(
            KINDS if optional or "." in path or path == "seen" else ("refuse", "cascade")
        )
        if path != "lines.part"
        else rng.choice(("refuse", "cascade"))
        for table, found in REFERENCES.items()
        for path, _, optional in found
    }


def declare(db: Any, said: Words) -> None:
    for table, schema in SCHEMAS.items():
        db.table(
            table,
            schema,
            key="id",
            references={path: to for path, to, _ in REFERENCES[table]},
            on_delete={path: said[table, path] for path, _, _ in REFERENCES[table]},
            extends="users" if table == "admins" else None,
        )


def views(db: Any) -> None:
    db.view("owners", "SELECT j.id, u.n FROM jobs j JOIN users u ON u.id = j.owner")
    db.view("homes", "[(p.id, [u.id for u in users if u.home == p.id]) for p in parts]", language="python")
    db.view(
        "used",
        "[(j.id, sum(p.n for l in j.lines for p in parts if p.id == l.part)) for j in jobs]",
        language="python",
    )
    db.view("bosses", "SELECT u.id, b.n FROM users u JOIN users b ON b.id = u.boss", refresh="lazy")


# -- the oracle


def follow(rows: Rows, said: Words) -> None:
    """Do what follows from references to rows that are not there, until nothing follows; refuse what is left."""
    while _followed(rows, said):
        pass
    if dangling(rows):
        raise Refused


def _followed(rows: Rows, said: Words) -> bool:
    for table, path, to, row in list(_references(rows)):
        word = said[table, path]
        bad = [key for key in _targets(row, path) if key is not None and not _is_there(rows, to, key)]
        if not bad or word == "refuse":
            continue
        if path == "seen":
            row["seen"] = [key for key in row["seen"] if key not in bad]
        elif path == "lines.part":
            row["lines"] = [line for line in row["lines"] if line[0] not in bad]
        elif word == "nil":
            row[path] = None
        else:
            del rows[table][row["id"]]
        return True
    return False


def _references(rows: Rows) -> Any:
    for table, found in REFERENCES.items():
        for path, to, _ in found:
            for row in rows[table].values():
                yield table, path, to, row


def _targets(row: dict[str, Any], path: str) -> list[Any]:
    if path == "lines.part":
        return [line[0] for line in row["lines"]]
    return list(row["seen"]) if path == "seen" else [row[path]]


def _is_there(rows: Rows, table: str, key: int) -> bool:
    return any(key in rows[name] for name in EXTENTS[table])


def dangling(rows: Rows) -> list[Any]:
    return [
        (table, row["id"], path)
        for table, path, to, row in _references(rows)
        if any(key is not None and not _is_there(rows, to, key) for key in _targets(row, path))
    ]


# -- random statements: each is done to the oracle and to a transaction


class Statement:
    """One call."""

    def __init__(self, rng: random.Random, rows: Rows) -> None:
        self.kind = rng.choice(
            (
                "insert",
                "insert",
                "insert",
                "delete",
                "delete",
                "update",
                "element",
                "move",
                "both",
                "where",
                "inverse",
            )
        )
        self.table = rng.choice(list(SCHEMAS))
        owners = {"element": ("jobs",), "move": ("users",), "inverse": ("parts",)}.get(
            self.kind, (self.table,)
        )
        self.key = there(rng, rows, owners)
        self.rows = [random_row(rng, rows, self.table) for _ in range(rng.randint(1, 2))]
        self.parts = [random_row(rng, rows, "parts") for _ in range(rng.randint(0, 1))]
        paths = [(path, to) for path, to, optional in REFERENCES[self.table] if optional]
        self.column, to = rng.choice(paths or [("n", "parts")])
        self.value: int | None = there(rng, rows, EXTENTS[to])
        if paths and rng.random() < 0.2:
            self.value = None
        self.other = there(rng, rows, ("parts",) if self.kind == "inverse" else EXTENTS["users"])
        self.comes = rng.random() < 0.7

    def __repr__(self) -> str:
        return f"{self.kind} {self.table} {self.key} {self.column}={self.value} {self.other} {self.rows} {self.parts}"

    def expected(self, rows: Rows, said: Words) -> None:
        """Do it to the oracle, as a statement: what it writes is there at its end."""
        before = deepcopy(rows)
        getattr(self, f"_{self.kind}")(rows)
        for table, path, to, row in _references(rows):
            old = before[table].get(row["id"])
            known = _targets(old, path) if old is not None else []
            for key in _targets(row, path):
                if (
                    key is not None
                    and _targets(row, path).count(key) > known.count(key)
                    and not _is_there(rows, to, key)
                ):
                    raise Refused

    def _new(self, rows: Rows, table: str, row: dict[str, Any]) -> None:
        if any(row["id"] in rows[name] for name in FAMILY.get(table, (table,))):
            raise Refused
        rows[table][row["id"]] = deepcopy(row)

    def _insert(self, rows: Rows) -> None:
        for row in self.rows:
            self._new(rows, self.table, row)

    def _there(self, rows: Rows, table: str, key: int) -> dict[str, Any]:
        if key not in rows[table]:
            raise Refused
        return rows[table][key]

    def _delete(self, rows: Rows) -> None:
        self._there(rows, self.table, self.key)
        del rows[self.table][self.key]

    def _update(self, rows: Rows) -> None:
        self._there(rows, self.table, self.key)[self.column] = self.value

    def _where(self, rows: Rows) -> None:
        for row in rows[self.table].values():
            if row["n"] > 1:
                row[self.column] = self.value

    def _element(self, rows: Rows) -> None:
        job = self._there(rows, "jobs", self.key)
        if self.comes:
            job["seen"] = [*job["seen"], self.other]
        elif self.other in job["seen"]:
            job["seen"].remove(self.other)
        else:
            raise Refused

    def _move(self, rows: Rows) -> None:
        row = self._there(rows, "users", self.key)
        del rows["users"][self.key]
        self._new(rows, "admins", {**row, "deputy": None})

    def _both(self, rows: Rows) -> None:
        self._insert(rows)
        for row in self.parts if self.table != "parts" else []:
            self._new(rows, "parts", row)

    def _inverse(self, rows: Rows) -> None:
        self._there(rows, "parts", self.key)
        self._there(rows, "parts", self.other)["twin"] = self.key

    def run(self, change: Any) -> None:
        match self.kind:
            case "insert":
                change.insert(self.table, self.rows)
            case "delete":
                change.delete(self.table, key=self.key)
            case "update":
                change.update(self.table, key=self.key, set={self.column: self.value})
            case "where":
                change.update(self.table, where=lambda row: row.n > 1, set={self.column: self.value})
            case "element":
                act = change.insert_into if self.comes else change.delete_from
                act("jobs", self.key, ("seen",), [self.other])
            case "move":
                row = next((row for row in change.rows("users") if row[0] == self.key), None)
                if row is None:
                    raise nl.ChangeError("no such row")
                change.apply({"admins": {(*row, None): 1}, "users": {row: -1}})
            case "both":
                parts = self.parts if self.table != "parts" else []
                new = [{**row, "_change_type": "insert"} for row in self.rows]
                change.apply(
                    {self.table: new}
                    | ({"parts": [{**row, "_change_type": "insert"} for row in parts]} if parts else {})
                )
            case "inverse":
                change.update_in("parts", self.key, (), {})
                change.update("parts", key=self.other, set={"twin": self.key})


def there(rng: random.Random, rows: Rows, tables: tuple[str, ...]) -> int:
    """A key of these tables, most of the time."""
    known = [key for table in tables for key in rows[table]]
    return rng.choice(known) if known and rng.random() < 0.9 else rng.choice(KEYS)


def random_row(rng: random.Random, rows: Rows, table: str) -> dict[str, Any]:
    """A row, most of the time with a new key and with references to what is there."""
    taken = {key for name in FAMILY.get(table, (table,)) for key in rows[name]}
    free = [key for key in KEYS if key not in taken]
    row: dict[str, Any] = {"id": rng.choice(free) if free else rng.choice(KEYS), "n": rng.randint(0, 3)}
    for path, to, _ in REFERENCES[table]:
        if "." not in path and path != "seen":
            key = there(rng, rows, EXTENTS[to])
            row[path] = key if path == "owner" or rng.random() < 0.7 else None
    if table != "jobs":
        return row
    lines = [(there(rng, rows, ("parts",)), rng.randint(0, 2)) for _ in range(rng.randint(0, 2))]
    seen = [there(rng, rows, EXTENTS["users"]) for _ in range(rng.randint(0, 2))]
    return row | {"lines": lines, "seen": seen}


def start(db: Any, rng: random.Random) -> Rows:
    """A few rows of each table."""
    rows: Rows = {table: {} for table in SCHEMAS}
    for table, size in (("parts", 3), ("users", 4), ("admins", 2), ("jobs", 4)):
        for _ in range(size):
            row = random_row(rng, rows, table)
            if row["id"] not in rows[table]:
                rows[table][row["id"]] = row
                if dangling(rows):
                    del rows[table][row["id"]]
        db.insert(table, list(rows[table].values()))
    return rows


def contents(db: Any) -> Rows:
    """What a database holds, as the oracle has it."""
    found: Rows = {}
    for table in SCHEMAS:
        found[table] = {}
        for row in db.table(table):
            named = dict(zip(db.table(table).record.names, row, strict=True))
            for name in ("lines", "seen"):
                if name in named:
                    named[name] = sorted(map(tuple, named[name]) if name == "lines" else named[name])
            found[table][row[0]] = named
    return found


def in_order(rows: Rows) -> Rows:
    """The oracle's rows with their bags in the order of ``contents``."""
    return {
        table: {
            key: {name: sorted(value) if isinstance(value, list) else value for name, value in row.items()}
            for key, row in found.items()
        }
        for table, found in rows.items()
    }


def step(db: Any, rows: Rows, said: Words, statements: list[Statement]) -> Rows:
    """Run statements as one transaction, on both sides; the rows after it."""
    wanted = deepcopy(rows)
    try:
        for statement in statements:
            statement.expected(wanted, said)
        follow(wanted, said)
    except Refused:
        wanted_: Rows | None = None
    else:
        wanted_ = wanted
    version = db.version
    try:
        with db.transaction() as change:
            for statement in statements:
                statement.run(change)
    except nl.ChangeError as error:
        assert wanted_ is None, (statements, str(error))
        assert db.version == version
        result = rows
    else:
        assert wanted_ is not None, statements
        result = wanted_
    found = contents(db)
    assert found == in_order(result), statements
    assert dangling(found) == []
    return result
