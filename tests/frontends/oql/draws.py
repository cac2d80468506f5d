"""Random object models, objects, queries and changes.

The name of an attribute says what it is: ``i`` an int, ``o`` one that may be nil, ``s`` a string, ``r`` a reference,
``q`` one that may be nil, ``d`` one that may dangle, ``b`` a bag of references, ``l`` a bag of ⟨p: reference, n: int⟩,
``t`` a set of strings, ``v`` an inverse. Values are few, so that lines are equal, keys meet and groups have members.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from nestling.calculus.types import Record
from nestling.frontend.catalog import Catalog, Entry
from nestling.frontend.paths import family
from tests.frontends.oql.oracle import Data
from tests.frontends.oql.worlds import catalog, entry

STRINGS = ("x", "y", "xy")
KEYS = (1, 2, 3)


# -- models


@st.composite
def models(draw) -> Catalog:
    """Two to four classes; ``C`` may have a key of two columns, ``D`` may extend ``A``."""
    names = ["A", "B", "C"][: draw(st.integers(2, 3))]
    keys = {name: "x y" if name == "C" and draw(st.booleans()) else "id" for name in names}
    types: dict[str, list[str]] = {}
    links: dict[str, dict[str, str]] = {name: {} for name in names}
    inverses: dict[str, dict[str, tuple[str, str]]] = {name: {} for name in names}
    for i, name in enumerate(names):
        columns = [
            "x: int, y: int" if keys[name] == "x y" else "id: int",
            "i: int",
            "o: int?",
            "s: str",
            "t: Bag(str)",
        ]
        for kind in draw(st.lists(st.sampled_from("rqdbl"), min_size=1, max_size=4, unique=True)):
            others = names[:i] if kind == "r" else names
            targets = [other for other in others if keys[other] == "id" or kind in "rb"]
            if not targets:
                continue
            target = draw(st.sampled_from(targets))
            key = "⟨x: int, y: int⟩" if keys[target] == "x y" else "int"
            columns.append({
                "r": f"r: {key}", "q": "q: int?", "d": "d: int", "b": f"b: Bag({key})",
                "l": f"l: Bag(⟨p: {key}, n: int⟩)",
            }[kind])  # fmt: skip
            path = "l.p" if kind == "l" else kind
            links[name][path] = target + {"q": "?", "d": "!"}.get(kind, "")
            if kind != "d" and draw(st.booleans()):
                inverses[target][f"v{name}{kind}"] = (name, path)
        types[name] = columns
    made = {
        name: entry(f"⟨{', '.join(types[name])}⟩", keys[name], links[name], inverses[name], sets=("t",))
        for name in names
    }
    if draw(st.booleans()):
        made["D"] = entry(f"⟨{', '.join([*types['A'], 'e: int'])}⟩", "id", extends="A", sets=("t",))
    return catalog(**made)


def link(model: Catalog, table: str, path: tuple[str, ...]) -> Any:
    """The reference at ``path``, own or inherited."""
    found: Entry = model.entry(table)
    while path not in found.references and found.extends is not None:
        found = model.entry(found.extends)
    return found.references.get(path)


# -- objects


def keys_of(model: Catalog, data: Data, table: str) -> list[Any]:
    """The keys of the objects of a class, as a reference column holds them."""
    found = []
    for member in family(model, table):
        names = model.key(member)
        for row in data.get(member, ()):
            found.append(row[names[0]] if len(names) == 1 else {name: row[name] for name in names})
    return found


@st.composite
def objects(draw, model: Catalog) -> Data:
    """Some objects of each class, whose references are good."""
    data: Data = {table: [] for table in model}
    taken: dict[str, set[Any]] = {}
    for table in model:
        root = model.entry(table).extends or table
        for _ in range(draw(st.integers(0, 3))):
            row = draw(keys(model, table))
            key = tuple(row.values())
            if key not in taken.setdefault(root, set()):
                taken[root].add(key)
                data[table].append(row)
    for table in model:  # all keys are there now; what needs an object of an empty class is not made
        data[table] = [row for row in data[table] if draw(columns(model, data, table, row))]
    return _only_good(model, data)


def _only_good(model: Catalog, data: Data) -> Data:
    """Without the objects whose kept references lead nowhere, until there are none."""
    while True:
        good = {t: [row for row in rows if is_good(model, data, t, row)] for t, rows in data.items()}
        if good == data:
            return data
        data = good


@st.composite
def keys(draw, model: Catalog, table: str) -> dict[str, Any]:
    return {name: draw(st.sampled_from(KEYS)) for name in model.key(table)}


@st.composite
def columns(draw, model: Catalog, data: Data, table: str, row: dict[str, Any]) -> bool:
    """Fill ``row`` with values; whether its references have something to lead to."""
    type_ = model[table]
    assert isinstance(type_, Record)
    for name in type_.names:
        if name not in row:
            value = draw(values(model, data, table, name))
            if value == "nothing":
                return False
            row[name] = value
    return True


@st.composite
def values(draw, model: Catalog, data: Data, table: str, name: str) -> Any:
    """A value of a column; ``"nothing"`` where it must lead to an object and there is none."""
    number = st.integers(0, 3)
    match name:
        case "i" | "e":
            return draw(number)
        case "o":
            return draw(st.none() | number)
        case "s":
            return draw(st.sampled_from(STRINGS))
        case "t":
            return sorted(draw(st.sets(st.sampled_from(STRINGS))))
        case "d":
            return draw(st.sampled_from((*KEYS, 9)))
    there = keys_of(model, data, link(model, table, ("l", "p") if name == "l" else (name,)).table)
    if name == "r" and not there:
        return "nothing"
    one = st.sampled_from(there) if there else st.nothing()
    match name:
        case "r":
            return draw(one)
        case "q":
            return draw(st.none() | one)
        case "b":
            return draw(st.lists(one, max_size=3)) if there else []
    lines = st.fixed_dictionaries({"p": one, "n": st.integers(1, 2)})
    return draw(st.lists(lines, max_size=4)) if there else []


def is_good(model: Catalog, data: Data, table: str, row: dict[str, Any]) -> bool:
    """Whether the kept references of ``row`` lead to objects."""
    for name, value in row.items():
        found = link(model, table, ("l", "p") if name == "l" else (name,))
        if found is None or not found.is_kept or value is None:
            continue
        there = keys_of(model, data, found.table)
        held = [line["p"] for line in value] if name == "l" else value if name == "b" else [value]
        if any(one not in there for one in held):
            return False
    return True


# -- queries


class Queries:
    """Texts of queries over ``model``, made by the choices of ``draw``."""

    def __init__(self, draw: Any, model: Catalog) -> None:
        self.draw, self.model, self.number = draw, model, 0

    def pick(self, *options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def fresh(self) -> str:
        self.number += 1
        return f"x{self.number}"

    def paths(self, scope: dict[str, str], depth: int = 3) -> dict[str, list[tuple[str, str]]]:
        """What can be reached from the variables: ints, strings, references and collections, with their class."""
        found: dict[str, list[tuple[str, str]]] = {
            kind: [] for kind in ("int", "str", "ref", "objects", "lines", "tags")
        }
        for name, of in scope.items():
            self._from(name, of, depth, found)
        return found

    def _from(  # noqa: C901 - one arm per kind of attribute
        self, text: str, of: str, depth: int, found: dict[str, list[tuple[str, str]]]
    ) -> None:
        if of.startswith("line:"):  # an element ⟨p, n⟩ of the lines of a class
            found["int"].append((f"{text}.n", ""))
            target = link(self.model, of[5:], ("l", "p")).table
            found["ref"].append((f"{text}.p", target))
            if depth > 1:
                self._from(f"{text}.p", target, depth - 1, found)
            return
        for name in self.model[of].names:  # type: ignore[union-attr] # a row
            here = f"{text}.{name}"
            match name[0]:
                case "i" | "o" | "e" | "x" | "y":
                    found["int"].append((here, ""))
                case "s":
                    found["str"].append((here, ""))
                case "t":
                    found["tags"].append((here, ""))
                case "l":
                    found["lines"].append((here, of))
                case "b":
                    found["objects"].append((here, link(self.model, of, ("b",)).table))
                case "r" | "q" | "d":
                    target = link(self.model, of, (name,)).table
                    found["ref"].append((here, target))
                    if depth > 1:
                        self._from(here, target, depth - 1, found)
        root = self.model.entry(of).extends or of
        for name, (table, _) in self.model.entry(root).inverses.items():
            found["objects"].append((f"{text}.{name}", table))

    def source(self, scope: dict[str, str]) -> tuple[str, str]:
        """A collection of objects or lines, and what its elements are; inner ones more often than extents."""
        there = self.paths(scope, 2)
        inner = [(text, of) for text, of in there["objects"]] + [
            (text, f"line:{of}") for text, of in there["lines"]
        ]
        if inner and self.draw(st.integers(0, 3)):
            return self.pick(*inner)
        table = self.pick(*self.model)
        return table, table

    # -- conditions

    def condition(self, scope: dict[str, str], depth: int) -> str:
        there = self.paths(scope)
        kinds = ["int", "absent"]
        kinds += ["and", "or", "not", "exists", "all", "count", "any", "among"] if depth else []
        kinds += ["str", "like"] if there["str"] else []
        kinds += ["same"] if there["ref"] else []
        kinds += ["tag", "tags"] if there["tags"] else []
        return getattr(self, f"of_{self.pick(*kinds)}")(scope, there, depth)

    def number_of(self, there: Any) -> str:
        return self.pick(*there["int"])[0] if there["int"] else "1"

    def of_int(self, scope, there, depth):
        return f"{self.number_of(there)} {self.pick('=', '!=', '<', '>=')} {self.pick(self.number_of(there), '1', '2')}"

    def of_str(self, scope, there, depth):
        return f"{self.pick(*there['str'])[0]} {self.pick('=', '!=', '<')} '{self.pick(*STRINGS)}'"

    def of_like(self, scope, there, depth):
        return f"{self.pick(*there['str'])[0]} {self.pick('like', 'not like')} '{self.pick('x*', '?', '%y')}'"

    def of_absent(self, scope, there, depth):
        text = self.pick(*there["int"], *there["str"], *there["ref"])[0]
        return self.pick(f"is_undefined({text})", f"is_defined({text})", f"{text} = nil", f"{text} != nil")

    def of_same(self, scope, there, depth):
        text, of = self.pick(*there["ref"])
        others = [other for other, table in there["ref"] if table == of]
        others += [name for name, table in scope.items() if table == of]
        return f"{text} {self.pick('=', '!=')} {self.pick(*others)}"

    def of_tag(self, scope, there, depth):
        return f"'{self.pick(*STRINGS)}' {self.pick('in', 'not in')} {self.pick(*there['tags'])[0]}"

    def of_tags(self, scope, there, depth):
        return f"{self.pick(*there['tags'])[0]} {self.pick('=', '<=', '<')} set('x', 'y')"

    def of_and(self, scope, there, depth):
        return f"({self.condition(scope, depth - 1)} and {self.condition(scope, depth - 1)})"

    def of_or(self, scope, there, depth):
        return f"({self.condition(scope, depth - 1)} {self.pick('or', 'orelse')} {self.condition(scope, depth - 1)})"

    def of_not(self, scope, there, depth):
        return f"not ({self.condition(scope, depth - 1)})"

    def of_exists(self, scope, there, depth, word="exists"):
        text, of = self.source(scope)
        name = self.fresh()
        return f"({word} {name} in {text}: {self.condition({**scope, name: of}, depth - 1)})"

    def of_all(self, scope, there, depth):
        return self.of_exists(scope, there, depth, "for all")

    def of_count(self, scope, there, depth):
        return f"count({self.source(scope)[0]}) {self.pick('=', '>')} {self.pick(0, 1, 2)}"

    def of_any(self, scope, there, depth):
        return f"{self.number_of(there)} {self.pick('=', '<')} {self.pick('any', 'all')} ({self.ints(scope)})"

    def of_among(self, scope, there, depth):
        if there["ref"] and there["objects"]:
            text, of = self.pick(*there["ref"])
            many = [other for other, table in there["objects"] if table == of]
            if many:
                return f"{text} in {self.pick(*many)}"
        return f"{self.number_of(there)} in ({self.ints(scope)})"

    def ints(self, scope: dict[str, str]) -> str:
        """A select of ints."""
        text, of = self.source(scope)
        name = self.fresh()
        inner = {**scope, name: of}
        test = f" where {self.condition(inner, 0)}" if self.draw(st.booleans()) else ""
        return f"select {self.number_of(self.paths({name: of}))} from {name} in {text}{test}"

    # -- whole queries

    def query(self) -> str:
        table = self.pick(*self.model)
        scope = {"a": table}
        text = f"a in {table}"
        if self.draw(st.booleans()):
            source, of = self.source(scope)
            scope, text = {**scope, "b": of}, f"{text}, b in {source}"
        where = f" where {self.condition(scope, 2)}" if self.draw(st.integers(0, 3)) else ""
        kind = self.pick("struct", "struct", "distinct", "inner", "group", "group", "combined", "first")
        return getattr(self, f"as_{kind}")(scope, f"from {text}{where}")

    def scalar(self, scope: dict[str, str]) -> str:
        there = self.paths(scope)
        some = [text for kind in ("int", "str", "ref") for text, _ in there[kind]] or ["1"]
        return self.pick(
            *some, f"sum({self.ints(scope)})", f"max({self.ints(scope)})", f"count({self.source(scope)[0]})",
            self.condition(scope, 1), f"nvl({self.number_of(there)}, 7)",
        )  # fmt: skip

    def as_struct(self, scope, rest):
        return f"select struct(f: {self.scalar(scope)}, g: {self.scalar(scope)}) {rest}"

    def as_distinct(self, scope, rest):
        return f"select distinct {self.scalar(scope)} {rest}"

    def as_inner(self, scope, rest):
        return f"select f: {self.scalar(scope)}, g: ({self.ints(scope)}) {rest}"

    def as_group(self, scope, rest):
        there = self.paths(scope)
        some = [text for kind in ("int", "str", "ref") for text, _ in there[kind]]
        number = f"x.{self.number_of(self.paths({'a': scope['a']}))}"
        having = f" having count(partition) {self.pick('>', '=')} 1" if self.draw(st.booleans()) else ""
        head = f"k: k, n: count(partition), t: sum(select {number} from x in partition)"
        return f"select {head} {rest} group by k: {self.pick(*some)}{having}"

    def as_combined(self, scope, rest):
        one, two = self.ints({}), self.ints({})
        operator = self.pick("union", "intersect", "except")
        made = f"({one}) {operator} ({two})"
        return f"distinct({made})" if self.draw(st.booleans()) else made

    def as_first(self, scope, rest):
        number = self.number_of(self.paths(scope))
        ordered = f"select {number} {rest} order by {number} {self.pick('asc', 'desc')}"
        return self.pick(f"struct(f: first({ordered}), l: last({ordered}))", f"({ordered})[0:1]")


@st.composite
def queries(draw, model: Catalog) -> str:
    return Queries(draw, model).query()


# -- changes


@st.composite
def changes(draw, model: Catalog, data: Data) -> tuple[str, Any]:
    """A change that leaves the references good: what to do, and with what. ``data`` is as before."""
    tables = [table for table in model if data[table]]
    kind = (
        draw(st.sampled_from(["insert", "update", "update", "update", "delete", "move"]))
        if tables
        else "insert"
    )
    if kind == "insert":
        table = draw(st.sampled_from(sorted(model)))
        row = draw(keys(model, table))
        root = model.entry(table).extends or table
        is_new = {name: row[name] for name in row} not in [
            {name: other[name] for name in row} for member in family(model, root) for other in data[member]
        ]
        if not is_new or not draw(columns(model, data, table, row)):
            return "nothing", None
        return "insert", (table, row)
    table = draw(st.sampled_from(tables))
    row = draw(st.sampled_from(data[table]))
    if kind == "update":
        names = [name for name in row if name not in model.key(table)]
        name = draw(st.sampled_from(names))
        value = draw(values(model, data, table, name))
        return ("update", (table, row, {name: value})) if value != "nothing" else ("nothing", None)
    if kind == "move" and "D" in model and table in ("A", "D"):
        other = "D" if table == "A" else "A"
        moved = {name: row.get(name, 0) for name in model[other].names}  # type: ignore[union-attr] # a row
        return "move", (table, row, other, moved)
    left = {t: [other for other in rows if other is not row] for t, rows in data.items()}
    if all(is_good(model, left, t, other) for t, rows in left.items() for other in rows):
        return "delete", (table, row)
    return "nothing", None
