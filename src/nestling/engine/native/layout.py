"""Where the columns and measures of tables and maps stand, and by which parts their entries are found.

An entry is the key, the other columns, the measures. A table's one measure is how often its row is there. A map that
passes its changes on has a second one beside it, in which these are collected.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from nestling.calculus.terms import Call, Const, Term
from nestling.calculus.types import INT, Scalar, show_type
from nestling.calculus.typing import term_type
from nestling.engine.native.values import (
    VALUED_IN_ORDER,
    Unsupported,
    constant_kind,
    decimal_kind,
    is_zero,
    kind_of,
    places_of,
)
from nestling.engine.protocol import is_inner
from nestling.engine.ranges import BetweenStep, SpanStep, local_steps
from nestling.program.flat import Query
from nestling.program.statements import Find, MapDecl, Program, Propagate, Statement, TableDecl, Total
from nestling.program.steps import every_trigger, plans, trigger_statements

Positions = tuple[int, ...]

#: A map as C reads it.
MapSpecification = tuple[
    int, bytes, bytes, bytes, tuple[bytes, ...], bool, tuple[tuple[bytes, int, bool, bool], ...], bytes
]

#: What C has room for in one entry.
MAX_COLUMNS = 200


@dataclass(frozen=True)
class OrderLayout:
    """Entries in order of some columns: all but the last say the group.

    ``has_sums``: the measures of a range are summed in logarithmic time. ``is_strict``: what has no place in an order,
    NaN, is refused.
    """

    columns: Positions
    has_sums: bool = False
    is_strict: bool = False


@dataclass(frozen=True)
class EntryLayout:
    """One map of the core: of a table, of a map, or of the changes of a map."""

    number: int
    kinds: tuple[str, ...]  #: by column
    key: Positions  #: the columns that find an entry; all, where nothing else is said
    wide: tuple[bool, ...]  #: by measure, whether it has 128 bits
    patterns: tuple[Positions, ...] = ()
    is_positive: bool = False
    orders: tuple[OrderLayout, ...] = ()
    numbers: tuple[str, ...] = ("i",)  #: by measure, the kind of what it counts or sums

    @property
    def order(self) -> Positions:
        """The columns as their words stand in an entry."""
        return (*self.key, *(i for i in range(len(self.kinds)) if i not in self.key))

    @property
    def place(self) -> tuple[int, ...]:
        """By column, its word."""
        order = self.order
        return tuple(order.index(i) for i in range(len(order)))

    def order_by(self, columns: Positions) -> int:
        """The number of the order that goes by ``columns``."""
        return [order.columns for order in self.orders].index(columns)

    @property
    def specification(self) -> MapSpecification:
        """As C reads it."""
        place = self.place
        return (
            len(self.key),
            "".join(self.kinds[i] for i in self.order).encode(),
            bytes(place),
            bytes(2 if wide else 1 for wide in self.wide),
            tuple(bytes(place[i] for i in known) for known in self.patterns),
            self.is_positive,
            tuple(
                (bytes(place[i] for i in each.columns), len(each.columns) - 1, each.has_sums, each.is_strict)
                for each in self.orders
            ),
            "".join(self.numbers).encode(),
        )


@dataclass(frozen=True)
class Layouts:
    """All of them: of tables and maps by name, and of what is collected for maps."""

    stored: Mapping[str, EntryLayout]
    collected: Mapping[str, EntryLayout]

    @property
    def specifications(self) -> list[MapSpecification]:
        every = sorted((*self.stored.values(), *self.collected.values()), key=lambda each: each.number)
        return [layout.specification for layout in every]


def layouts(program: Program) -> Layouts:
    """The layouts of a program."""
    patterns, orders = _patterns(program), _orders(program)
    stored: dict[str, EntryLayout] = {}
    for name, table in program.tables.items():
        kinds = tuple(kind_of(column.type) for column in table.columns)
        key = table.key or tuple(range(len(kinds)))
        found, in_order = tuple(sorted(patterns[name])), tuple(map(OrderLayout, sorted(orders[name])))
        stored[name] = EntryLayout(len(stored), kinds, key, (False,), found, orders=in_order)
    for name, decl in program.maps.items():
        kinds = tuple(kind_of(column.type) for column in decl.columns)
        wide = tuple(_is_wide(decl.query, i) for i in range(decl.width))
        key, found = tuple(range(len(kinds))), tuple(sorted(patterns[name]))
        in_order = (_own_order(decl),) if decl.ordered else tuple(map(OrderLayout, sorted(orders[name])))
        numbers = tuple(_number_kind(decl.query, i) for i in range(decl.width))
        stored[name] = EntryLayout(len(stored), kinds, key, wide, found, decl.positive, in_order, numbers)
    collected: dict[str, EntryLayout] = {}
    for name in _passed_on(program):
        of = stored[name]
        # What changed in a map in order of its values is passed on group by group.
        is_grouped = name in program.maps and program.maps[name].order == "values"
        groups = (tuple(range(len(of.kinds) - 1)),) if is_grouped else ()
        collected[name] = EntryLayout(
            len(stored) + len(collected), of.kinds, of.key, of.wide, groups, numbers=of.numbers
        )
    if any(len(each.kinds) + 2 * len(each.wide) > MAX_COLUMNS for each in stored.values()):
        raise Unsupported(f"more than {MAX_COLUMNS} columns")
    return Layouts(stored, collected)


def _own_order(decl: MapDecl) -> OrderLayout:
    """That of a map in order of its last column."""
    last = decl.columns[-1].type
    kind = kind_of(last)
    if not isinstance(last, Scalar) or last.nullable:
        raise Unsupported(f"nulls in order ({decl.why or decl.name})")
    if not (kind in VALUED_IN_ORDER or kind.isupper()) or (kind == "f" and decl.order == "sums"):
        raise Unsupported(f"values of type {show_type(last)} in order ({decl.why or decl.name})")
    return OrderLayout(tuple(range(len(decl.columns))), decl.order == "sums", is_strict=True)


def _is_wide(query: Query, measure: int) -> bool:
    """Whether a measure is a sum of values and not a count. Values have 64 bits, their products and sums more."""
    weights = [monomial.weights[measure] for monomial in query.monomials]
    return not all(isinstance(weight, Const) for weight in weights)


def _number_kind(query: Query, measure: int) -> str:
    """The kind of what a measure counts or sums: of decimals, that of the most places."""
    kinds = [number_kind(monomial.weights[measure]) for monomial in query.monomials]
    return max((kind for kind in kinds if kind != "i"), default="i")


def number_kind(term: Term) -> str:
    """The kind of an exact number, told from the term alone; ``Terms.value`` says the same."""
    type_ = term_type(term)
    match term:
        case Const(value):
            return constant_kind(value, type_)
        case Call("float_units"):
            raise Unsupported("a sum of floats: it is exact, and has more than 128 bits")
        case Call("+" | "-", (left, right)) if type_ != INT:
            return max(number_kind(left).replace("i", "A"), number_kind(right).replace("i", "A"))
        case Call("*", (left, right)) if type_ != INT:
            places = [places_of(number_kind(each)) or 0 for each in (left, right)]
            return decimal_kind(sum(places))
        case Call("neg" | "nullable", (arg,)):
            return number_kind(arg)
        case Call("if", (_, then, otherwise)) if type_ != INT:
            kinds = {number_kind(each) for each in (then, otherwise) if not is_zero(each)}
            if len(kinds) > 1:
                raise Unsupported("a choice of decimals of different places")
            return kinds.pop() if kinds else number_kind(then)
    if not isinstance(type_, Scalar) or type_.name not in ("int", "decimal"):
        raise Unsupported("a sum of other numbers than ints and decimals")
    return kind_of(type_)


def every_statement(program: Program) -> Iterator[Statement]:
    """The statements of triggers, of plans and of totals."""
    for trigger in every_trigger(program):
        yield from trigger_statements(trigger)
    for view in program.views.values():
        for plan in plans(view):
            yield from plan.statements
    for total in program.totals.values():
        yield from total.statements


def own_steps(statement: Statement) -> tuple[Any, ...]:
    """The steps of a statement. An order of this engine has the rows themselves, and not only their values: what finds
    values between two bounds, and what finds the rows that have one, are one step."""
    found = list[Any]()
    for step in local_steps(statement):
        if found and isinstance(span := found[-1], SpanStep) and isinstance(step, Find):
            found[-1] = BetweenStep(replace(step, known=()), span.position, span.upper_included)
        else:
            found.append(step)
    return tuple(found)


def every_own_step(statement: Statement) -> Iterator[Any]:
    """These, and those that they take in turn."""
    for step in own_steps(statement):
        yield step
        if isinstance(step, Total):
            for inner in step.statements:
                yield from every_own_step(inner)


def _patterns(program: Program) -> dict[str, set[Positions]]:
    """By source, the known positions that do not hold a key: an index finds the entries."""
    decls: dict[str, TableDecl | MapDecl] = {**program.tables, **program.maps}
    found: dict[str, set[Positions]] = {name: set() for name in decls}
    for name, table in program.tables.items():
        if is_inner(table):
            found[name].add((0,))  # the rows of an inner bag are found by its label
    for statement in every_statement(program):
        for step in every_own_step(statement):
            if isinstance(step, Find) and not is_by_key(step, decls[step.source]) and step.known:
                found[step.source].add(step.known)
    return found


def _orders(program: Program) -> dict[str, set[Positions]]:
    """By source, the columns by whose order entries are found between two bounds."""
    found: dict[str, set[Positions]] = {name: set() for name in (*program.tables, *program.maps)}
    for statement in every_statement(program):
        for step in every_own_step(statement):
            if isinstance(step, BetweenStep):
                found[step.find.source].add((*step.find.known, step.position))
    return found


def is_by_key(step: Find, decl: TableDecl | MapDecl) -> bool:
    """Whether what is known says which entry is meant."""
    key = decl.key if isinstance(decl, TableDecl) and decl.key else range(len(decl.columns))
    return set(key) <= set(step.known)


def _passed_on(program: Program) -> list[str]:
    actions = (action for trigger in every_trigger(program) for action in trigger.actions)
    return list(dict.fromkeys(action.map for action in actions if isinstance(action, Propagate)))
