"""Random types, values, queries and updates, all well typed.

Queries are drawn top down for a wanted element type. Three fragments: ``"inc"`` (IncNRC⁺: an inner bag never
depends on the input), ``"nrc"`` (NRC⁺) and ``"full"`` (with count-wise operators, folds and groups). The domain
is small, so that joins meet, bags repeat, inner bags are equal or empty, and deletions cancel.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st

from nestling.calculus.aggregates import AGGREGATES
from nestling.calculus.build import TRUE, call, elements, where
from nestling.calculus.terms import (
    BagVar,
    Const,
    CountWise,
    Empty,
    Expr,
    Field,
    Flatten,
    Fold,
    For,
    Group,
    Guard,
    Let,
    Negate,
    Product,
    Relation,
    Sing,
    SingBag,
    Term,
    Tuple,
    Union,
    Var,
)
from nestling.calculus.types import (
    BOOL,
    INT,
    STR,
    UNIT,
    Bag,
    Record,
    Scalar,
    Type,
    bag_levels,
    is_base,
    nullable,
    record,
)
from nestling.calculus.typing import element_type, fold_type, term_type
from nestling.transform.shred import ShreddedValue, Surrogates, flat_type, shred_value
from nestling.values.bag import ZBag
from nestling.values.update import Update

Draw = Callable[[st.SearchStrategy[Any]], Any]

MAYBE = nullable(INT)
ITEMS = record(a=INT, items=Bag(INT))

#: Flat, keyed by nothing, nested once, nested twice, bags of bags, and with nulls.
CATALOG: dict[str, Bag] = {
    "S": Bag(INT),
    "T": Bag(record(a=INT, b=INT)),
    "R": Bag(ITEMS),
    "N": Bag(Bag(ITEMS)),
    "U": Bag(record(a=INT, m=MAYBE)),
}

WANTED: tuple[Type, ...] = (INT, record(a=INT, b=INT), ITEMS, Bag(INT), Bag(ITEMS), UNIT, MAYBE)
FLAT: tuple[Type, ...] = (INT, record(a=INT, b=INT), UNIT)


def scalars(type_: Scalar) -> st.SearchStrategy[Any]:
    """Values of a scalar type, few of them."""
    some: dict[str, st.SearchStrategy[Any]] = {
        "int": st.integers(0, 2),
        "str": st.sampled_from("ab"),
        "bool": st.booleans(),
        "float": st.sampled_from([0.0, 0.5, -1.25]),
    }
    values = some[type_.name]
    return st.none() | values if type_.nullable else values


def values(type_: Type, most: int = 3) -> st.SearchStrategy[Any]:
    """Values of a type; bags inside are non-negative, as in every stored state."""
    match type_:
        case Scalar():
            return scalars(type_)
        case Record(fields):
            return st.tuples(*(values(field, most) for _, field in fields))
        case Bag(element):
            return bags(element, most=most)
    raise TypeError(type_)


def bags(element: Type, *, signed: bool = False, most: int = 3) -> st.SearchStrategy[ZBag]:
    """Bags of a type; ``signed`` admits negative multiplicities at the top."""
    counts = st.sampled_from([-2, -1, 1, 2]) if signed else st.sampled_from([1, 1, 2])
    return st.lists(st.tuples(values(element, 2), counts), max_size=most).map(ZBag)


def types(depth: int = 3) -> st.SearchStrategy[Type]:
    """Element types: scalars, records and bags, nested at most ``depth`` deep."""
    base = st.sampled_from([INT, STR, BOOL, MAYBE])
    if depth == 0:
        return base
    inner = types(depth - 1)
    records = st.lists(inner, max_size=3).map(lambda ts: Record(tuple(zip("abc", ts, strict=False))))
    return base | records | st.builds(Bag, inner, st.booleans())


def databases(catalog: dict[str, Bag] = CATALOG) -> st.SearchStrategy[dict[str, ZBag]]:
    """One non-negative bag per relation."""
    return st.fixed_dictionaries({name: bags(type_.element) for name, type_ in catalog.items()})


@st.composite
def updates(
    draw: Draw,
    database: dict[str, ZBag],
    catalog: dict[str, Bag] = CATALOG,
    touching: frozenset[str] = frozenset(),
) -> Update:
    """A change of some relations: insertions, deletions of what is there, and of what is not.

    Of the relations ``touching`` names, at least one changes.
    """
    among = sorted(touching) or sorted(catalog)
    names = draw(st.lists(st.sampled_from(among), min_size=1, max_size=3, unique=True))
    changes = {}
    for name in names:
        change = draw(bags(catalog[name].element, signed=True))
        if database[name] and draw(st.booleans()):
            gone = draw(st.sampled_from(sorted(database[name], key=repr)))
            change = change + ZBag([(gone, -database[name][gone])])
        changes[name] = change
    return Update(changes)


@st.composite
def good_updates(draw: Draw, database: dict[str, ZBag], catalog: dict[str, Bag] = CATALOG) -> Update:
    """A change after which every relation is non-negative again."""
    update = draw(updates(database, catalog))
    clipped = {
        name: ZBag((v, max(times, -database[name][v])) for v, times in change.items())
        for name, change in update.relations.items()
    }
    return Update(clipped)


@dataclass(frozen=True)
class Scope:
    """What a query may mention where it is being drawn."""

    vars: tuple[Var, ...] = ()
    bags: tuple[BagVar, ...] = ()
    inputs: bool = True

    def with_var(self, var: Var) -> "Scope":
        return replace(self, vars=(*self.vars, var))

    def with_bag(self, var: BagVar) -> "Scope":
        return replace(self, bags=(*self.bags, var))

    def without_inputs(self) -> "Scope":
        return replace(self, inputs=False, bags=())


@st.composite
def queries(
    draw: Draw,
    fragment: str = "nrc",
    wanted: tuple[Type, ...] = WANTED,
    fuel: int = 4,
    catalog: dict[str, Bag] = CATALOG,
) -> Expr:
    """A closed query of one of the ``wanted`` element types."""
    want = draw(st.sampled_from(wanted))
    return _Drawing(draw, fragment, catalog).expr(want, Scope(), fuel)


@dataclass
class _Drawing:
    draw: Draw
    fragment: str
    catalog: dict[str, Bag]
    names: int = 0
    sites: int = 0
    moves: dict[str, Callable[..., Expr]] = field(init=False)

    def __post_init__(self) -> None:
        self.moves = {
            "for": self.for_, "union": self.union, "negate": self.negate, "flatten": self.flatten,
            "let": self.let, "guard": self.guard, "countwise": self.countwise, "fold": self.fold,
            "group": self.group,
        }  # fmt: skip

    def fresh(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def pick(self, options: list[Any]) -> Any:
        return self.draw(st.sampled_from(options))

    def expr(self, want: Type, scope: Scope, fuel: int) -> Expr:
        leaves = self.leaves(want, scope)
        shapes = self.shapes(want, scope, fuel)
        if fuel <= 0:
            ready = [*leaves, *shapes]
            return self.pick(ready)() if ready else Empty(Bag(want))
        moves = ["for", "for", "for", "union", "negate", "flatten", "guard"]
        if scope.inputs:
            moves.append("let")
        if self.fragment == "full" and scope.inputs:
            moves += ["countwise", "fold", "fold", "group"]
        options: list[Callable[[], Expr]] = [*leaves, *shapes] if fuel < 3 else []
        options += [lambda move=move: self.moves[move](want, scope, fuel) for move in moves]
        return self.pick(options)()

    def leaves(self, want: Type, scope: Scope) -> list[Callable[[], Expr]]:
        found: list[Callable[[], Expr]] = []
        if scope.inputs:
            found += [
                lambda name=name, type_=type_: Relation(name, type_)
                for name, type_ in self.catalog.items()
                if type_.element == want
            ]
            found += [lambda var=var: var for var in scope.bags if var.type.element == want]
        if is_base(want) or self.projections(want, scope):
            found.append(lambda: Sing(self.term(want, scope)))
        if isinstance(want, Record) and want.names == () and scope.vars:
            found.append(lambda: Guard(self.condition(scope)))
        return found

    def shapes(self, want: Type, scope: Scope, fuel: int) -> list[Callable[[], Expr]]:
        match want:
            case Bag(element, opaque):
                return [lambda: self.singleton(element, opaque, scope, fuel)]
            case Record(fields) if fields and (fuel > 0 or not is_base(want)):
                return [lambda: Product(tuple((n, self.expr(t, scope, fuel - 1)) for n, t in fields))]
        return []

    def singleton(self, element: Type, opaque: bool, scope: Scope, fuel: int) -> Expr:
        self.sites += 1
        site = self.sites
        inner = scope if self.fragment != "inc" else scope.without_inputs()
        return SingBag(site, self.expr(element, inner, fuel - 1), opaque)

    def for_(self, want: Type, scope: Scope, fuel: int) -> Expr:
        source = self.source(scope, fuel)
        var = Var(self.fresh("x"), element_type(source))
        return For(var, source, self.expr(want, scope.with_var(var), fuel - 1))

    def source(self, scope: Scope, fuel: int) -> Expr:
        inner = [elements(term) for term in self.inner_bags(scope)]
        if inner and self.draw(st.booleans()):
            return self.pick(inner)  # type: ignore[no-any-return]
        if scope.inputs and self.draw(st.integers(0, 3)):
            name = self.pick(sorted(self.catalog))
            return Relation(name, self.catalog[name])
        return self.expr(self.pick(list(WANTED)), scope, fuel - 2)

    def union(self, want: Type, scope: Scope, fuel: int) -> Expr:
        return Union(tuple(self.expr(want, scope, fuel - 1) for _ in range(2)))

    def negate(self, want: Type, scope: Scope, fuel: int) -> Expr:
        return Negate(self.expr(want, scope, fuel - 1))

    def flatten(self, want: Type, scope: Scope, fuel: int) -> Expr:
        return Flatten(self.expr(Bag(want), scope, fuel - 1))

    def guard(self, want: Type, scope: Scope, fuel: int) -> Expr:
        return where(self.condition(scope), self.expr(want, scope, fuel - 1))

    def let(self, want: Type, scope: Scope, fuel: int) -> Expr:
        bound = self.expr(self.pick([*WANTED, want]), scope, fuel - 2)
        var = BagVar(self.fresh("X"), Bag(element_type(bound)))
        return Let(var, bound, self.expr(want, scope.with_bag(var), fuel - 1))

    def countwise(self, want: Type, scope: Scope, fuel: int) -> Expr:
        operator = self.pick(["distinct", "exists", "clip", "monus", "min", "max", "differ", "exceed"])
        arity = 1 if operator in ("distinct", "exists", "clip") else 2
        return CountWise(operator, tuple(self.expr(want, scope, fuel - 1) for _ in range(arity)))

    def fold(self, want: Type, scope: Scope, fuel: int) -> Expr:
        aggregate = self.pick(["count", "sum", "min", "max", "avg", "var", "count_distinct"])
        source = self.expr(INT, scope, fuel - 1)
        var = Var(self.fresh("n"), fold_type(aggregate, source))
        return Fold(var, aggregate, source, self.expr(want, scope.with_var(var), fuel - 1))

    def group(self, want: Type, scope: Scope, fuel: int) -> Expr:
        source = self.source(scope, fuel)
        var = Var(self.fresh("g"), element_type(source))
        key = self.term(self.pick(list(FLAT)), scope.with_var(var))
        key_var = Var(self.fresh("k"), term_type(key))
        rows = BagVar(self.fresh("G"), Bag(var.type))
        body = self.expr(want, scope.with_var(key_var).with_bag(rows), fuel - 1)
        return Group(var, source, key, key_var, rows, body)

    def condition(self, scope: Scope, depth: int = 2) -> Term:
        if depth and not self.draw(st.integers(0, 2)):
            name = self.pick(["and", "or", "not"])
            args = [self.condition(scope, depth - 1) for _ in range(1 if name == "not" else 2)]
            return call(name, *args)
        type_ = self.pick([INT, MAYBE])
        operator = self.pick(["==", "!=", "<", "<=", ">", "="])
        return call(operator, self.term(type_, scope), self.term(type_, scope))

    def term(self, want: Type, scope: Scope, depth: int = 1) -> Term:
        options = self.projections(want, scope)
        if options and self.draw(st.integers(0, 4)):
            return self.pick(options)  # type: ignore[no-any-return]
        match want:
            case Record(fields):
                return Tuple(tuple((name, self.term(field, scope, depth)) for name, field in fields))
            case Scalar("int", False) if depth and not self.draw(st.integers(0, 3)):
                args = [self.term(INT, scope, depth - 1) for _ in range(2)]
                return call(self.pick(["+", "-", "*"]), *args)
            case Scalar("bool"):
                return TRUE
            case Scalar():
                return Const(self.draw(scalars(want)), want)
        return self.pick(options)  # type: ignore[no-any-return]

    def projections(self, want: Type, scope: Scope) -> list[Term]:
        return [term for term in self.all_projections(scope) if term_type(term) == want]

    def inner_bags(self, scope: Scope) -> list[Term]:
        return [term for term in self.all_projections(scope) if isinstance(term_type(term), Bag)]

    def all_projections(self, scope: Scope) -> list[Term]:
        found: list[Term] = []
        pending: list[Term] = [var for var in scope.vars]
        while pending:
            term = pending.pop(0)
            found.append(term)
            match term_type(term):
                case Record(fields):
                    pending += [Field(term, name) for name, _ in fields]
        return found


@dataclass
class ShreddedInstance:
    """A nested database, its shredded form, an update of the latter with deep changes, and both after it."""

    shredded: dict[str, Any]
    changes: dict[str, Any]
    after: dict[str, Any]


@st.composite
def shredded_instances(
    draw: Draw, catalog: dict[str, Bag], *, deep: bool = True, signed: bool = False
) -> ShreddedInstance:
    """A shredded database and a change of it: rows with fresh labels, and elements under labels in use."""
    policy = Surrogates()
    before: dict[str, Any] = {}
    relations: dict[str, ZBag] = {}
    changed: dict[str, dict[Any, ZBag]] = {}
    for name, type_ in catalog.items():
        old = shred_value(name, draw(bags(type_.element)), type_.element, policy)
        new = shred_value(name, draw(bags(type_.element, signed=signed)), type_.element, policy)
        before |= old.as_database(name)
        relations[name] = new.flat + _some_gone(draw, old)
        changed |= new.dictionaries
        if deep:
            _add_deep(draw, name, type_, before, changed, policy)
    update = Update(relations, changed)
    return ShreddedInstance(before, update.as_changes(), update.apply(before))


def _some_gone(draw: Draw, old: ShreddedValue) -> ZBag:
    if not old.flat or not draw(st.booleans()):
        return ZBag()
    gone = draw(st.sampled_from(sorted(old.flat, key=repr)))
    return ZBag([(gone, -1)])


def _add_deep(
    draw: Draw,
    name: str,
    type_: Bag,
    before: dict[str, Any],
    changed: dict[str, dict[Any, ZBag]],
    policy: Surrogates,
) -> None:
    for path, level in bag_levels(type_.element):
        site = ".".join((name, *path))
        if level.opaque or not before[site] or not draw(st.booleans()):
            continue
        label = draw(st.sampled_from(sorted(before[site], key=repr)))
        # Elements of an inner bag whose own inner bags need labels too are shredded like rows.
        inner = shred_value(name, draw(bags(level.element, most=2)), level.element, policy)
        extra = {_below(name, path, key): rows for key, rows in inner.dictionaries.items()}
        gone = {v: -1 for v in before[site][label] if draw(st.booleans())}
        changed[site][label] = changed[site].get(label, ZBag()) + inner.flat + ZBag(gone)
        for key, rows in extra.items():
            changed[key] |= rows


def _below(name: str, path: tuple[str, ...], key: str) -> str:
    """The dictionary of a level below ``path``, from its name relative to the elements there."""
    relative = tuple(key.split(".")[1:])
    return ".".join((name, *path, *relative))


__all__ = [
    "AGGREGATES",
    "CATALOG",
    "bags",
    "databases",
    "flat_type",
    "good_updates",
    "queries",
    "shredded_instances",
    "types",
    "updates",
    "values",
]
