"""What an OQL query means, by loops over Python objects: no calculus, no types, no plan.

It shares the parser with the front end, and nothing else. Rows are dicts; an object is its table and row, a reference
the table and the key. There is one absent value, ``None``. Collections know whether they are sets, bags or lists.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from nestling.calculus.types import Bag, Record
from nestling.frontend.catalog import Catalog
from nestling.frontend.oql import tree
from nestling.frontend.oql.parse import parse

Data = dict[str, list[dict[str, Any]]]


class NoElement(Exception):
    """``element`` of none or several."""


@dataclass(frozen=True)
class Obj:
    """An object of ``table``, met as one of ``shown``, a class that it is of."""

    table: str
    row: Any
    shown: str


@dataclass(frozen=True)
class Ref:
    """A reference that is not nil."""

    table: str
    key: Any


class Struct(dict):
    """A struct."""


class Coll(list):
    """A collection."""

    def __init__(self, items=(), kind="bag"):
        super().__init__(items)
        self.kind = kind


class Oracle:
    def __init__(self, catalog: Catalog, data: Data) -> None:
        self.catalog, self.data = catalog, data
        self.definitions: dict[str, Any] = {}
        self.tables = {catalog.entry(name).class_name: name for name in catalog}

    def run(self, text: str) -> list[Any]:
        """The answer as plain values: rows and structs as tuples, references as keys, collections as lists."""
        program = parse(text, {*self.catalog, *self.tables})
        for found in program.definitions:
            if isinstance(found, tree.UndefineQuery):
                self.definitions = {n: d for n, d in self.definitions.items() if n != found.name}
            else:
                self.definitions = {**self.definitions, found.name: (found, self.definitions)}
        value = self.value(program.query, {})
        return [self.plain(x) for x in value] if isinstance(value, Coll) else [self.plain(value)]

    # -- the objects

    def family(self, table):
        return [table, *(sub for below in self.catalog.subclasses(table) for sub in self.family(below))]

    def lineage(self, table):
        entry = self.catalog.entry(table)
        return [entry, *(self.lineage(entry.extends) if entry.extends else [])]

    def as_class(self, value, name):
        """An object or a reference as an object of a class, by the name of its table or class; else nothing."""
        one = self.load(value) if isinstance(value, Ref) else value
        table = self.tables.get(name, name)
        return Obj(one.table, one.row, table) if one is not None and one.table in self.family(table) else None

    def objects(self, table):
        return [Obj(sub, row, table) for sub in self.family(table) for row in self.data.get(sub, ())]

    def columns(self, table):
        type_ = self.catalog[table]
        return dict(type_.fields) if isinstance(type_, Record) else {}

    def key(self, one):
        if isinstance(one, Ref):
            return one.key
        found = tuple(one.row[name] for name in self.catalog.key(one.table))
        return found[0] if len(found) == 1 else found

    def load(self, ref):
        return next((one for one in self.objects(ref.table) if self.key(one) == ref.key), None)

    def inverses(self, table):
        return {
            name: found for entry in reversed(self.lineage(table)) for name, found in entry.inverses.items()
        }

    def is_collection(self, name):
        """Whether attributes of this name are collections, in the classes that have one."""
        return any(
            name in self.inverses(table) or isinstance(self.columns(table).get(name), Bag)
            for table in self.catalog
        )

    def wrapped(self, value, type_, path, table):
        """What stands in a column at ``path`` of ``table``."""
        links = [entry.references[path] for entry in self.lineage(table) if path in entry.references]
        if isinstance(type_, Bag):
            is_set = any(path in entry.sets for entry in self.lineage(table))
            items = [self.wrapped(x, type_.element, path, table) for x in value]
            return Coll(items, "set" if is_set else "bag")
        if value is None:
            return None
        if links:
            return Ref(links[0].table, tuple(value.values()) if isinstance(value, dict) else value)
        if isinstance(type_, Record):
            return Struct({n: self.wrapped(value[n], t, (*path, n), table) for n, t in type_.fields})
        return value

    def field(self, value, name):
        if value is None:
            return Coll() if self.is_collection(name) else None
        if isinstance(value, Ref):
            return self.field(self.load(value), name)
        if isinstance(value, Struct):
            return value[name]
        if isinstance(value, Obj):
            types = self.columns(value.table)
            if name in types:
                return self.wrapped(value.row[name], types[name], (name,), value.table)
            return self.inverse(value, *self.inverses(value.table)[name])
        return getattr(value, {"monthIndex": "month"}.get(name, name))

    def inverse(self, value, table, path):
        found = []
        for one in self.objects(table):
            reached, crossed = [one], False
            for name in path:
                steps = [self.field(x, name) for x in reached]
                crossed |= any(isinstance(step, Coll) for step in steps)
                reached = [x for step in steps for x in (step if isinstance(step, Coll) else [step])]
            if any(isinstance(x, Ref) and x.key == self.key(value) for x in reached):
                found.append(Ref(table, self.key(one)) if crossed else one)
        return Coll(found, "set")

    def plain(self, value):
        match value:
            case Ref():
                return value.key
            case Obj():
                types = self.columns(value.shown).items()
                return tuple(self.plain(self.wrapped(value.row[n], t, (n,), value.table)) for n, t in types)
            case Struct():
                return tuple(map(self.plain, value.values()))
            case Coll():
                return [self.plain(x) for x in value]
        return value

    # -- comparing

    def canon(self, value):
        """Something that is equal where values are: objects and references by identity."""
        match value:
            case Obj() | Ref():
                return "@", self.key(value)
            case Struct():
                return "s", tuple((n, self.canon(x)) for n, x in value.items())
            case Coll():
                return "c", tuple(sorted(map(repr, map(self.canon, value))))
            case bool() | None | str():
                return value
            case int() | float():
                return "n", float(value)
        return value

    def counts(self, items):
        return Counter(repr(self.canon(x)) for x in items)

    def distinct(self, items):
        seen: set[str] = set()
        return Coll([x for x in items if not ((k := repr(self.canon(x))) in seen or seen.add(k))], "set")  # type: ignore[func-returns-value]

    def equal(self, one, two):
        if one is None or two is None:
            return None
        if isinstance(one, Struct):
            return _all(self.equal(x, two[n]) for n, x in one.items())
        return self.canon(one) == self.canon(two)

    def compare(self, operator, one, two):
        if isinstance(one, Coll) or isinstance(two, Coll):
            a, b = self.counts(one), self.counts(two)
            return {"=": a == b, "!=": a != b, "<=": a <= b, "<": a < b, ">=": a >= b, ">": a > b}[operator]
        if operator in ("=", "!="):
            found = self.equal(one, two)
            return found if operator == "=" or found is None else not found
        if one is None or two is None:
            return None
        return {"<": one < two, "<=": one <= two, ">": one > two, ">=": one >= two}[operator]

    # -- expressions

    def value(self, node, env):
        return getattr(self, f"of_{type(node).__name__}")(node, env)

    def of_Constant(self, node, env):
        return node.value

    def of_Nil(self, node, env):
        return None

    def of_Name(self, node, env):
        if node.text in env:
            return env[node.text]
        for one in reversed(env.get("?", ())):
            if isinstance(one, Obj) and node.text in self.columns(one.table):
                return self.field(one, node.text)
        if node.text in self.definitions:
            return self.expanded(node.text, [])
        return Coll(self.objects(node.text), "set")

    def expanded(self, name, values):
        found, scope = self.definitions[name]
        before, self.definitions = self.definitions, scope
        try:
            return self.value(found.query, dict(zip(found.parameters, values, strict=True)))
        finally:
            self.definitions = before

    def of_Dot(self, node, env):
        return self.field(self.value(node.base, env), node.name)

    def of_StructOf(self, node, env):
        return Struct({name: self.value(query, env) for name, query in node.fields})

    def of_Collect(self, node, env):
        items = [self.value(item, env) for item in node.items]
        return self.distinct(items) if node.kind == "set" else Coll(items, node.kind)

    def of_Interval(self, node, env):
        return Coll(range(self.value(node.low, env), self.value(node.high, env) + 1), "list")

    def of_Unary(self, node, env):
        value = self.value(node.operand, env)
        if value is None:
            return None
        return {"not": lambda: not value, "-": lambda: -value, "+": lambda: value}[node.operator]()

    def of_Binary(self, node, env):
        operator = node.operator
        if operator in ("and", "andthen", "or", "orelse"):
            return self.connective(operator, node, env)
        if operator in ("=", "!=") and tree.Nil() in (node.left, node.right):
            value = self.value(node.right if node.left == tree.Nil() else node.left, env)
            return (value is None) == (operator == "=")
        one, two = self.value(node.left, env), self.value(node.right, env)
        if operator in ("=", "!=", "<", "<=", ">", ">="):
            return self.compare(operator, one, two)
        if operator in ("union", "except", "intersect"):
            return self.combined(operator, one, two, _mixes(node))
        return None if one is None or two is None else _arithmetic(operator, one, two)

    def connective(self, operator, node, env):
        decides = operator.startswith("or")
        left = self.value(node.left, env)
        if left is decides:
            return decides
        right = self.value(node.right, env)
        if right is decides:
            return decides
        return None if left is None or right is None else not decides

    def combined(self, operator, one, two, mixed):
        if mixed:
            one, two = (Coll([self.as_ref(x) for x in side], side.kind) for side in (one, two))
        kind = "set" if one.kind == two.kind == "set" else "bag"
        if operator == "union":
            return self.distinct([*one, *two]) if kind == "set" else Coll([*one, *two])
        there, found = self.counts(two), []
        for x in one:
            key = repr(self.canon(x))
            is_there = there[key] > 0
            there[key] -= is_there
            if is_there == (operator == "intersect"):
                found.append(x)
        return Coll(found, kind)

    def as_ref(self, value):
        return Ref(value.table, self.key(value)) if isinstance(value, Obj) else value

    def of_Among(self, node, env):
        one, many = self.value(node.element, env), self.value(node.collection, env)
        if isinstance(many, str) or (many is None and isinstance(one, str)):
            return None if one is None or many is None else one in many
        return None if one is None else any(self.equal(one, x) is True for x in many)

    def of_Versus(self, node, env):
        one, many = self.value(node.left, env), self.value(node.right, env)
        found = [self.compare(node.operator, one, x) is True for x in many]
        return all(found) if node.which == "all" else any(found)

    def of_Like(self, node, env):
        text, pattern = self.value(node.text, env), self.value(node.pattern, env)
        if text is None or pattern is None:
            return None
        signs = (".*" if c in "*%" else "." if c in "?_" else re.escape(c) for c in pattern)
        return re.fullmatch("".join(signs), text, re.DOTALL) is not None

    def of_Between(self, node, env):
        value, low, high = (self.value(part, env) for part in (node.value, node.low, node.high))
        return _all((self.compare(">=", value, low), self.compare("<=", value, high)))

    def of_Quantifier(self, node, env):
        found = (
            self.value(node.test, {**env, node.name: x}) is True for x in self.value(node.collection, env)
        )
        return any(found) if node.kind == "exists" else all(found)

    def of_Invoke(self, node, env):
        if node.name in self.definitions:
            return self.expanded(node.name, [self.value(arg, env) for arg in node.args])
        args = [self.value(arg, env) for arg in node.args]
        match node.name:
            case "is_undefined":
                return args[0] is None
            case "is_defined":
                return args[0] is not None
            case "nvl":
                return args[1] if args[0] is None else args[0]
            case "exists":
                return len(args[0]) > 0 if isinstance(args[0], Coll) else args[0] is not None
        if node.name in ("count", "sum", "min", "max", "avg"):
            return _aggregate(node.name, args[0])
        if isinstance(args[0], Coll):
            return self.of_collection(node.name, args[0])
        return None if None in args else _function(node.name, args[0])

    def of_collection(self, name, many):
        match name:
            case "distinct" | "listtoset":
                return self.distinct(many)
            case "flatten":
                flat = [x for inner in many for x in inner]
                return self.distinct(flat) if many and many[0].kind == "set" else Coll(flat)
            case "unique":
                return len(many) == 1
            case "element":
                if len(many) != 1:
                    raise NoElement
                return many[0]
            case "first" | "last":
                return many[0 if name == "first" else -1] if many else None
        raise AssertionError(name)

    def of_Index(self, node, env):
        base, place = self.value(node.base, env), self.value(node.position, env)
        if base is None:
            return None
        return base[place] if place < len(base) else "" if isinstance(base, str) else None

    def of_Slice(self, node, env):
        base = self.value(node.base, env)
        if base is None:
            return None
        found = base[self.value(node.first, env) : self.value(node.last, env) + 1]
        return found if isinstance(base, str) else Coll(found, "list")

    def of_Cast(self, node, env):
        value = self.value(node.operand, env)
        return None if value is None else self.as_class(value, node.name)

    # -- select

    def of_Select(self, node, env):
        rows = self.joined(node, env)
        if node.where is not None:
            rows = [row for row in rows if self.value(node.where, row[0]) is True]
        if node.groups:
            rows = self.grouped(node, rows, env)
        found = []
        for inner, own in rows:
            value = self.selected(node, inner, own)
            names = {**(value if isinstance(value, Struct) else {}), **inner}
            found.append(([(self.value(key.query, names), key.descending) for key in node.order], value))
        if node.order:
            self.sort(found, [key.descending for key in node.order])
        values = [value for _, value in found]
        kind = "list" if node.order else "bag"
        if not node.distinct:
            return Coll(values, kind)
        return Coll(self.distinct(values), "list" if node.order else "set")

    def joined(self, node, env):
        rows = [(env, Struct())]
        for clause in node.clauses:
            longer = []
            for inner, own in rows:
                for x in self.value(clause.collection, inner):
                    if clause.class_name is not None:
                        x = self.as_class(x, clause.class_name)
                        if x is None:
                            continue
                    name = clause.name or tree.label_of(clause.collection) or f"_{len(own)}"
                    anonymous = {"?": [*inner.get("?", ()), x]}
                    there = {**inner, **({clause.name: x} if clause.name else anonymous)}
                    longer.append((there, Struct({**own, name: x})))
            rows = longer
        return rows

    def grouped(self, node, rows, env):
        groups: dict[str, Any] = {}
        for inner, own in rows:
            keys = {
                g.label or tree.label_of(g.query): self.as_ref(self.value(g.query, inner))
                for g in node.groups
            }
            groups.setdefault(repr([self.canon(k) for k in keys.values()]), (keys, []))[1].append(own)
        found = []
        for keys, part in groups.values():
            own = {**keys, "partition": Coll(part)}
            if node.having is None or self.value(node.having, {**env, **own}) is True:
                found.append(({**env, **own}, Struct(own)))
        return found

    def selected(self, node, env, own):
        if not node.projections:
            return own
        if len(node.projections) == 1 and node.projections[0].label is None:
            return self.value(node.projections[0].query, env)
        return Struct({p.label or tree.label_of(p.query): self.value(p.query, env) for p in node.projections})

    def sort(self, found, descending):
        """By the elements, then by the keys from the last to the first; an absent one is the least."""
        found.sort(key=lambda pair: _rank(self.plain(pair[1])), reverse=all(descending))
        for i, descends in reversed(list(enumerate(descending))):
            found.sort(key=lambda pair: _rank(pair[0][i][0]), reverse=descends)


def _rank(value):
    if value is None:
        return (0,)
    if isinstance(value, tuple):
        return 1, tuple(map(_rank, value))
    return (1, sorted(map(_rank, value))) if isinstance(value, list) else (1, value)


def _all(found):
    found = list(found)
    return False if False in found else None if None in found else True


def _mixes(node):
    """Whether one side has objects by their variable, and the other references by a path."""
    kinds = {
        type(side.projections[0].query)
        for side in (node.left, node.right)
        if isinstance(side, tree.Select) and len(side.projections) == 1
    }
    return len(kinds) == 2


def _arithmetic(operator, one, two):
    if operator == "mod":
        rest = abs(one) % abs(two)
        return rest if one >= 0 else -rest
    return {
        "+": lambda: one + two, "||": lambda: one + two, "-": lambda: one - two, "*": lambda: one * two,
        "/": lambda: one / two,
    }[operator]()  # fmt: skip


def _aggregate(name, many):
    if name == "count":
        return len(many)
    there = [x for x in many if x is not None]
    if name == "sum":
        return sum(there)
    if not there:
        return None
    return sum(there) / len(there) if name == "avg" else min(there) if name == "min" else max(there)


def _function(name, value):
    match value:
        case date() | datetime():
            return getattr(value, {"monthIndex": "month"}.get(name, name))
    functions: dict[str, Any] = {
        "abs": abs, "length": len, "upper": str.upper, "lower": str.lower, "trim": str.strip
    }  # fmt: skip
    return functions[name](value)


# -- answers


def frozen(value: Any) -> Any:
    """An answer that compares: bags in any order, numbers by value."""
    match value:
        case tuple():
            return "t", tuple(map(frozen, value))
        case list():
            return "l", tuple(sorted(map(frozen, value), key=repr))
        case bool() | None | str():
            return value
        case int() | float():
            return round(float(value), 9)
    return value


def same(one: list[Any], two: list[Any]) -> bool:
    """Whether two answers are the same bag."""
    return Counter(repr(frozen(x)) for x in one) == Counter(repr(frozen(x)) for x in two)
