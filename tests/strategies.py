"""Random types, values, queries and updates, all well typed.

Queries are drawn top down for a wanted element type. Three fragments: ``"inc"`` (IncNRC⁺: an inner bag
never depends on the input), ``"nrc"`` (NRC⁺) and ``"full"`` (with count-wise operators, folds and groups).
The domain is small, so that joins meet, bags repeat, inner bags are equal or empty, and deletions cancel.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, TypeVar

from hypothesis import strategies as st

from nestling.calculus.aggregates import AGGREGATES
from nestling.calculus.build import call, elements, where
from nestling.calculus.countwise import OPERATORS
from nestling.calculus.terms import (
    BagVar,
    Const,
    CountWise,
    Empty,
    Expr,
    Field,
    First,
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
from nestling.calculus.traverse import relations
from nestling.calculus.types import (
    BOOL,
    FLOAT,
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
from nestling.transform.shred import ShreddedValue, Surrogates, shred_value
from nestling.values.bag import EMPTY, ZBag
from nestling.values.update import Update

Draw = Callable[[st.SearchStrategy[Any]], Any]
T = TypeVar("T")

MAYBE, FLAG, MEAN = nullable(INT), nullable(BOOL), nullable(FLOAT)
PAIR = record(a=INT, b=INT)
FLAT: tuple[Type, ...] = (INT, PAIR, UNIT)


@dataclass(frozen=True)
class Schema:
    """The relations of a database, and the element types that queries over it go through."""

    catalog: dict[str, Bag]
    types: tuple[Type, ...]

    @property
    def nested(self) -> tuple[Type, ...]:
        """The types with a bag inside, records of them more than once."""
        found = [type_ for type_ in self.types if not is_base(type_)]
        return (*found, *(2 * [type_ for type_ in found if isinstance(type_, Record)]))

    def flags(self, element: Type) -> list[bool]:
        """The flags that bags of ``element`` may have."""
        found = [type_.opaque for type_ in self.types if isinstance(type_, Bag) and type_.element == element]
        return found or [False]


def schema(items: bool = False, rows: bool = False) -> Schema:
    """Relations that are flat, nested once, nested twice as bags of bags, and with nulls.

    ``items`` and ``rows`` say which of the two inner levels are opaque.
    """
    row = record(a=INT, items=Bag(INT, items))
    catalog = {
        "S": Bag(INT),
        "T": Bag(PAIR),
        "R": Bag(row),
        "N": Bag(Bag(row, rows)),
        "U": Bag(record(a=INT, m=MAYBE)),
    }
    return Schema(catalog, (*FLAT, MAYBE, FLAG, row, Bag(INT, items), Bag(row, rows)))


def schemas() -> st.SearchStrategy[Schema]:
    """The same relations under all flags."""
    return st.builds(schema, st.booleans(), st.booleans())


SCHEMA = schema()
CATALOG = SCHEMA.catalog


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


@cache
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


@cache
def bags(element: Type, *, signed: bool = False, least: int = 0, most: int = 3) -> st.SearchStrategy[ZBag]:
    """Bags of a type; ``signed`` admits negative multiplicities at the top."""
    counts = st.sampled_from([-2, -1, 1, 2]) if signed else st.sampled_from([1, 1, 2])
    return st.lists(st.tuples(values(element, 2), counts), min_size=least, max_size=most).map(ZBag)


def types(depth: int = 3) -> st.SearchStrategy[Type]:
    """Element types: scalars, records and bags, nested at most ``depth`` deep."""
    base = st.sampled_from([INT, STR, BOOL, MAYBE])
    if depth == 0:
        return base
    inner = types(depth - 1)
    records = st.lists(inner, max_size=3).map(lambda ts: Record(tuple(zip("abc", ts, strict=False))))
    return base | records | st.builds(Bag, inner, st.booleans())


@st.composite
def databases(
    draw: Draw,
    catalog: dict[str, Bag] = CATALOG,
    read: frozenset[str] | None = None,
    *,
    signed: bool = False,
) -> dict[str, ZBag]:
    """One bag per relation, not often empty; empty where it is not ``read``.

    Bags are non-negative, as every stored state is; ``signed`` ones may arise in between.
    """
    return {
        name: draw(_mostly_some(type_.element, signed)) if read is None or name in read else EMPTY
        for name, type_ in catalog.items()
    }


@cache
def _mostly_some(element: Type, signed: bool = False) -> st.SearchStrategy[ZBag]:
    return st.integers(0, 5).flatmap(lambda often: bags(element, signed=signed, least=1 if often else 0))


@st.composite
def updates(
    draw: Draw,
    database: dict[str, ZBag],
    catalog: dict[str, Bag] = CATALOG,
    touching: frozenset[str] = frozenset(),
) -> Update:
    """A change of some relations: insertions, deletions of what is there, and of what is not, modifications.

    Of the relations ``touching`` names, at least one changes.
    """
    among = sorted(touching) or sorted(catalog)
    names = draw(st.lists(st.sampled_from(among), min_size=1, max_size=3, unique=True))
    return Update({name: draw(_changes(database[name], catalog[name].element)) for name in names})


@st.composite
def _changes(draw: Draw, old: ZBag, element: Type) -> ZBag:
    kind = draw(_positions(4)) if old else 0
    if kind < 2:
        change: ZBag = draw(bags(element, signed=True, least=1))
        return change - old if kind else change
    row = draw(st.sampled_from(sorted(old, key=repr)))
    if kind == 2:
        return ZBag([(row, -old[row])])
    return ZBag([(row, -1), (draw(values(element)), 1)])


@cache
def _positions(count: int) -> st.SearchStrategy[int]:
    # Strategies are dear to make; sampled_from would be made anew for every list of options.
    return st.integers(0, count - 1)


@st.composite
def good_updates(
    draw: Draw,
    database: dict[str, ZBag],
    catalog: dict[str, Bag] = CATALOG,
    touching: frozenset[str] = frozenset(),
) -> Update:
    """A change after which every relation is non-negative again."""
    update = draw(updates(database, catalog, touching))
    clipped = {
        name: ZBag((v, max(times, -database[name][v])) for v, times in change.items())
        for name, change in update.relations.items()
    }
    return Update(clipped)


@dataclass(frozen=True)
class Scope:
    """What a query may mention where it is being drawn; ``depth`` counts the binders around it."""

    vars: tuple[Var, ...] = ()
    bags: tuple[BagVar, ...] = ()
    inputs: bool = True
    depth: int = 0

    def with_var(self, var: Var) -> "Scope":
        return replace(self, vars=(*self.vars, var), depth=self.depth + 1)

    def with_bag(self, var: BagVar) -> "Scope":
        return replace(self, bags=(*self.bags, var), depth=self.depth + 1)

    def without_inputs(self) -> "Scope":
        return replace(self, inputs=False, bags=())


@st.composite
def queries(
    draw: Draw,
    fragment: str = "nrc",
    wanted: tuple[Type, ...] = (),
    fuel: int = 4,
    schema: Schema = SCHEMA,
    negation: bool = True,
    outermost: str = "",
) -> Expr:
    """A closed query of one of the ``wanted`` element types.

    Without ``negation`` it has no ``⊖``; ``outermost`` is the construct to begin with.
    """
    want = draw(st.sampled_from(wanted or schema.types))
    drawing = _Drawing(draw, fragment, schema, negation, reuse=draw(st.booleans()))
    return drawing.moves.get(outermost, drawing.expr)(want, Scope(), fuel)


@dataclass
class _Drawing:
    draw: Draw
    fragment: str
    schema: Schema
    negation: bool
    reuse: bool  # binders apart from each other only where one is inside the other, as people write them
    names: int = 0
    sites: int = 0
    moves: dict[str, Callable[..., Expr]] = field(init=False)

    def __post_init__(self) -> None:
        self.moves = {
            "for": self.for_, "union": self.union, "negate": self.negate, "flatten": self.flatten,
            "let": self.let, "guard": self.guard, "countwise": self.countwise, "first": self.first, "fold": self.fold,
            "group": self.group, "twins": self.twins, "product": self.product,
        }  # fmt: skip

    def fresh(self, prefix: str, scope: Scope) -> str:
        self.names += 1
        return f"{prefix}{scope.depth if self.reuse else self.names}"

    def pick(self, options: Sequence[T]) -> T:
        return options[self.draw(_positions(len(options)))]

    def expr(self, want: Type, scope: Scope, fuel: int) -> Expr:
        leaves = self.leaves(want, scope)
        shapes = self.shapes(want, scope, fuel)
        if fuel <= 0:
            ready = [*leaves, *shapes]
            return self.pick(ready)() if ready else Empty(Bag(want))
        if self.draw(_positions(40)) == 17:
            return Empty(Bag(want))
        options = [*leaves, *shapes, *shapes] if fuel < 3 else []
        options += [partial(self.moves[move], want, scope, fuel) for move in self.usable(want, scope)]
        return self.pick(options)()

    def usable(self, want: Type, scope: Scope) -> list[str]:
        """The moves that may be made in ``scope``, by name; some are likelier than others."""
        moves = ["for", "for", "for", "union", "flatten"]
        moves += ["guard", "guard"] if scope.vars else []
        moves += ["negate"] * self.negation
        moves += ["twins", "twins"] * (isinstance(want, Record) and not is_base(want))
        if scope.inputs:
            moves.append("let")
        if self.fragment == "full" and scope.inputs:
            moves += ["countwise", "first", "fold", "fold", "group"]
        return moves

    def leaves(self, want: Type, scope: Scope) -> list[Callable[[], Expr]]:
        found: list[Callable[[], Expr]] = []
        if scope.inputs:
            catalog = self.schema.catalog
            found += [
                partial(Relation, name, catalog[name]) for name in catalog if catalog[name].element == want
            ]
            bags = [partial(BagVar, var.name, var.type) for var in scope.bags if var.type.element == want]
            found += [*bags, *bags]
        inner = [term for term in self.inner_bags(scope) if term_type(term) in (Bag(want), Bag(want, True))]
        found += [partial(elements, term) for term in (*inner, *inner)]
        if self.has_term(want, scope):
            found += [lambda: Sing(self.term(want, scope))] * (1 + bool(scope.vars))
        if want == INT and scope.vars and self.fragment == "full" and self.has_term(INT, scope):
            found.append(lambda: elements(call("numbers", self.term(INT, scope))))
        if isinstance(want, Record) and want.names == () and scope.vars:
            found.append(lambda: Guard(self.condition(scope)))
        return found

    def shapes(self, want: Type, scope: Scope, fuel: int) -> list[Callable[[], Expr]]:
        match want:
            case Bag(element, opaque):
                return [lambda: self.singleton(element, opaque, scope, fuel)]
            case Record(fields) if fields and (fuel > 0 or not is_base(want)):
                return [partial(self.product, want, scope, fuel)]
        return []

    def product(self, want: Record, scope: Scope, fuel: int) -> Expr:
        return Product(tuple((name, self.expr(type_, scope, fuel - 1)) for name, type_ in want.fields))

    def singleton(self, element: Type, opaque: bool, scope: Scope, fuel: int) -> Expr:
        self.sites += 1
        site = self.sites
        inner = scope if self.fragment != "inc" else scope.without_inputs()
        # The first inner bags are never mere leaves: they are what shredding is about.
        least = 1 if site <= 3 else 0
        return SingBag(site, self.expr(element, inner, max(fuel - 1, least)), opaque)

    def for_(self, want: Type, scope: Scope, fuel: int) -> Expr:
        source = self.source(scope, fuel)
        var = Var(self.fresh("x", scope), element_type(source))
        return For(var, source, self.expr(want, scope.with_var(var), fuel - 1))

    def source(self, scope: Scope, fuel: int) -> Expr:
        near: list[Expr] = [*map(elements, self.inner_bags(scope)), *scope.bags]
        if near and self.draw(st.booleans()):
            return self.pick(near)
        if scope.inputs and self.draw(st.integers(0, 3)):
            name = self.pick(sorted(self.schema.catalog))
            return Relation(name, self.schema.catalog[name])
        return self.expr(self.pick(self.schema.types), scope, fuel - 2)

    def union(self, want: Type, scope: Scope, fuel: int) -> Expr:
        left = self.expr(want, scope, fuel - 1)
        right = self.expr(want, scope, fuel - 1) if self.draw(_positions(5)) else left
        negated = self.negation and not self.draw(_positions(3))
        return Union((left, Negate(right) if negated else right))

    def twins(self, want: Record, scope: Scope, fuel: int) -> Expr:
        """Rows, and again with other scalars: what is in their inner bags is then shared."""
        rows = self.expr(want, scope, fuel - 1)
        var = Var(self.fresh("x", scope), want)
        inner = scope.with_var(var)
        fields = [(n, self.term(t, inner) if is_base(t) else Field(var, n)) for n, t in want.fields]
        twins = For(var, rows, Sing(Tuple(tuple(fields))))
        return Union((rows, Negate(twins) if self.negation and self.draw(st.booleans()) else twins))

    def negate(self, want: Type, scope: Scope, fuel: int) -> Expr:
        return Negate(self.expr(want, scope, fuel - 1))

    def flatten(self, want: Type, scope: Scope, fuel: int) -> Expr:
        opaque = self.pick(self.schema.flags(want))
        return Flatten(self.expr(Bag(want, opaque), scope, fuel - 1))

    def guard(self, want: Type, scope: Scope, fuel: int) -> Expr:
        return where(self.condition(scope), self.expr(want, scope, fuel - 1))

    def let(self, want: Type, scope: Scope, fuel: int) -> Expr:
        bound = self.expr(want if self.draw(st.booleans()) else self.pick(self.schema.types), scope, fuel - 2)
        var = BagVar(self.fresh("X", scope), Bag(element_type(bound)))
        return Let(var, bound, self.expr(want, scope.with_bag(var), fuel - 1))

    def countwise(self, want: Type, scope: Scope, fuel: int) -> Expr:
        operator = OPERATORS[self.pick(sorted(OPERATORS.keys() - {"restrict"}))]
        return CountWise(
            operator.name, tuple(self.expr(want, scope, fuel - 1) for _ in range(operator.arity))
        )

    def first(self, want: Type, scope: Scope, fuel: int) -> Expr:
        limit, greatest = self.draw(st.integers(0, 3)), self.draw(st.booleans())
        return First(limit, self.expr(want, scope, fuel - 1), greatest)

    def fold(self, want: Type, scope: Scope, fuel: int) -> Expr:
        aggregate = self.pick(sorted(name for name, a in AGGREGATES.items() if a.result(INT) is not None))
        source = self.expr(INT, scope, fuel - 1)
        var = Var(self.fresh("n", scope), fold_type(aggregate, source))
        return Fold(var, aggregate, source, self.expr(want, scope.with_var(var), fuel - 2))

    def group(self, want: Type, scope: Scope, fuel: int) -> Expr:
        source = self.source(scope, fuel)
        var = Var(self.fresh("g", scope), element_type(source))
        key = self.term(self.pick(FLAT), scope.with_var(var))
        key_var = Var(self.fresh("k", scope), term_type(key))
        rows = BagVar(self.fresh("G", scope), Bag(var.type))
        body = self.expr(want, scope.with_var(key_var).with_bag(rows), fuel - 1)
        return Group(var, source, key, key_var, rows, body)

    def condition(self, scope: Scope, depth: int = 2) -> Term:
        if depth and not self.draw(st.integers(0, 2)):
            name = self.pick(["and", "or", "not"])
            args = [self.condition(scope, depth - 1) for _ in range(1 if name == "not" else 2)]
            return call(name, *args)
        type_ = self.pick([INT, *(type_ for type_ in (MAYBE, MEAN) if self.projections(type_, scope))])
        operator = self.pick(["==", "!=", "<", "<=", ">", "="])
        left, right = self.term(type_, scope), self.term(type_, scope)
        return call(operator, left, right if left != right else Const(1, type_))

    def term(self, want: Type, scope: Scope, depth: int = 1) -> Term:
        options = self.projections(want, scope)
        if options and self.draw(st.integers(0, 4)):
            return self.pick([*options, *self.projections(want, replace(scope, vars=scope.vars[-1:]))])
        match want:
            case Record(fields):
                return Tuple(tuple((name, self.term(field, scope, depth)) for name, field in fields))
            case Scalar() if depth and want != MEAN and not self.draw(_positions(3)):
                return self.call(want, scope)
            case Scalar():
                return Const(self.draw(scalars(want)), want)
        return self.pick(options)

    def call(self, want: Scalar, scope: Scope) -> Term:
        """A function of leaves, with a result of type ``want``."""
        number, other, maybe, flag = (
            partial(self.term, type_, scope, 0) for type_ in (INT, INT, MAYBE, FLAG)
        )
        test = partial(self.condition, scope, 1)
        forms: dict[Scalar, list[Callable[[], Term]]] = {
            INT: [
                *(partial(self.apply, name, number, other) for name in "+-*"),
                partial(self.apply, "abs", number),
                partial(self.apply, "coalesce", maybe, number),
                partial(self.apply, "if", test, number, other),
            ],
            MAYBE: [
                partial(self.apply, "nullable", number),
                partial(self.apply, "+", maybe, number),
                partial(self.apply, "if", test, maybe, number),
            ],
            FLAG: [
                partial(self.apply, "=", maybe, number),
                *(partial(self.apply, name, flag, test) for name in ("and", "or")),
            ],
        }
        return self.pick(forms[want])()

    def apply(self, name: str, *args: Callable[[], Term]) -> Term:
        return call(name, *(arg() for arg in args))

    def has_term(self, want: Type, scope: Scope) -> bool:
        if is_base(want) or self.projections(want, scope):
            return True
        return isinstance(want, Record) and all(self.has_term(field, scope) for field in want.types)

    def projections(self, want: Type, scope: Scope) -> list[Term]:
        return [term for term in self.all_projections(scope) if term_type(term) == want]

    def inner_bags(self, scope: Scope) -> list[Term]:
        return [term for term in self.all_projections(scope) if isinstance(term_type(term), Bag)]

    def all_projections(self, scope: Scope) -> list[Term]:
        found: list[Term] = []
        pending: list[Term] = list(scope.vars)
        while pending:
            term = pending.pop(0)
            found.append(term)
            match term_type(term):
                case Record(fields):
                    pending += [Field(term, name) for name, _ in fields]
        return found


@dataclass(frozen=True)
class Instance:
    """A query, a database, and an update of it."""

    query: Expr
    database: dict[str, Any]
    update: Update

    @property
    def changed(self) -> frozenset[str]:
        """U, the relations that change."""
        return frozenset(self.update.relations)

    @property
    def with_changes(self) -> dict[str, Any]:
        """The old state and the changes: what a delta reads."""
        return {**self.database, **self.update.as_changes()}

    @property
    def after(self) -> dict[str, Any]:
        """The new state."""
        return self.update.apply(self.database)


@st.composite
def instances(
    draw: Draw,
    fragment: str = "full",
    wanted: tuple[Type, ...] = (),
    *,
    fuel: int = 4,
    good: bool = False,
    negation: bool = True,
    outermost: str = "",
) -> Instance:
    """A query and an update of what it reads, and sometimes of what it does not.

    No relation of a ``good`` instance ever has negative multiplicities.
    """
    query = draw(queries(fragment, wanted, fuel=fuel, negation=negation, outermost=outermost))
    signed = not good and not draw(st.integers(0, 3))
    database = draw(databases(CATALOG, relations(query), signed=signed))
    touching = relations(query) if draw(_positions(6)) < 5 else frozenset()
    return Instance(query, database, draw((good_updates if good else updates)(database, CATALOG, touching)))


@dataclass(frozen=True)
class ShreddedInstance:
    """A shredded database and an update of it with deep changes."""

    database: dict[str, Any]
    update: Update

    @property
    def with_changes(self) -> dict[str, Any]:
        return {**self.database, **self.update.as_changes()}

    @property
    def after(self) -> dict[str, Any]:
        return self.update.apply(self.database)


@st.composite
def shredded_instances(draw: Draw, catalog: dict[str, Bag]) -> ShreddedInstance:
    """A shredded database and a change of it.

    Rows come with fresh labels or copy a label in use, rows go, and inner bags in use gain and lose elements.
    """
    policy = Surrogates()
    before: dict[str, Any] = {}
    rows: dict[str, ZBag] = {}
    changed: dict[str, dict[Any, ZBag]] = {}
    for name, type_ in catalog.items():
        old = shred_value(name, draw(_mostly_some(type_.element)), type_.element, policy)
        new = shred_value(name, draw(bags(type_.element)), type_.element, policy)
        before |= old.as_database(name)
        rows[name] = new.flat + _some_gone(draw, old) + _some_copied(draw, old, type_.element)
        changed |= new.dictionaries
        _add_deep(draw, name, type_, before, changed, policy)
    return ShreddedInstance(before, Update(rows, changed))


def _some_gone(draw: Draw, old: ShreddedValue) -> ZBag:
    if not old.flat or not draw(st.booleans()):
        return ZBag()
    gone = draw(st.sampled_from(sorted(old.flat, key=repr)))
    return ZBag([(gone, -old.flat[gone])])


def _some_copied(draw: Draw, old: ShreddedValue, element: Type) -> ZBag:
    """Another row with the inner bags of one that is there: both have the same labels."""
    if not old.flat or not isinstance(element, Record) or not draw(st.booleans()):
        return ZBag()
    row = draw(st.sampled_from(sorted(old.flat, key=repr)))
    copy = [
        draw(scalars(type_)) if isinstance(type_, Scalar) else value
        for value, type_ in zip(row, element.types, strict=True)
    ]
    return ZBag.of(tuple(copy))


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
        if level.opaque or not before[site] or not draw(st.integers(0, 3)):
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
