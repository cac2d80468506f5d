"""Trigger programs as text, for people to read.

::

    A1[gen, name] := Sum M(name, gen, _)
    on M(name, gen, dir) × times:
      V[name2] += n · times  for name2 ↦ n in A1[gen, ·]  where name != name2
      ΔL2[gen] += times
      M(name, gen, dir) += times
      then each ΔL2[k], old → new:
        …

Where a source is read, what is known stands in its brackets and ``·`` for the rest: without ``·`` it is one
look-up, with ``·`` the slice of an index, with nothing else a scan. ``Δ`` marks what is collected and added
later. Columns lose the table in front where that leaves them distinct; ``_`` is a value nothing uses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import assert_never

from nestling.calculus.layout import LINE, Doc, group, nest, render
from nestling.calculus.terms import Call, Const, Term, Var
from nestling.calculus.traverse import walk
from nestling.program.flat import Atom, Factor, Lift, Monomial, Pointwise, Query, Test, Unnest
from nestling.program.phrases import Phrases, phrases
from nestling.program.statements import (
    Add,
    MapDecl,
    MapEvent,
    Plan,
    Program,
    Propagate,
    Statement,
    TableDecl,
    Trigger,
    Write,
)
from nestling.program.traverse import factor_terms, substitute

WIDTH = 100


def show_program(program: Program, width: int = WIDTH) -> str:
    """Tables, maps with their definitions, triggers, and how views are read."""
    docs: list[Doc] = [_table(table) for table in program.tables.values()]
    docs += [_map(decl) for decl in program.maps.values()]
    docs += [_trigger(trigger) for trigger in program.triggers.values()]
    for name, view in program.views.items():
        docs.append(_plan(f"view {name}", view.rows))
        if view.lookup is not None:
            docs.append(_plan(f"view {name}", view.lookup))
        docs += [_plan(f"view {name} bag {shape[0]}", plan) for shape, plan in view.definitions.items()]
    docs += [_plan(f"total {name}", plan) for name, plan in program.totals.items()]
    return "\n".join(render(doc, width) for doc in docs)


def show_query(query: Query, width: int = WIDTH) -> str:
    """``Sum[keys] weights · factor · … + …``."""
    columns, doc = _sum(query)
    return render(group(f"Sum[{', '.join(columns)}]", nest(doc)), width)


def show_statement(
    statement: Statement,
    given: Sequence[Var] = (),
    *,
    later: bool = False,
    skipped: int = 0,
    width: int = WIDTH,
) -> str:
    """``target[keys] += amounts``, and behind it what binds their variables, from those ``given``."""
    return render(phrases(statement, given).statement(statement, later, skipped), width)


def _table(table: TableDecl) -> str:
    say = Phrases.of(table.columns)
    key = say.list(table.columns[i] for i in table.key)
    return f"table {table.name}({say.list(table.columns)}){f' by {key}' if key else ''}"


def _map(decl: MapDecl) -> Doc:
    columns, doc = _sum(decl.query)
    order = ", in order of its last column" * decl.ordered + ", with sums" * (decl.order == "sums")
    return (
        group(f"{decl.name}[{', '.join(columns)}] := Sum", nest(doc)),
        nest(LINE, f"({decl.role}{order}: {decl.why})"),
    )


def _trigger(trigger: Trigger) -> Doc:
    given = (*trigger.columns, trigger.times)
    say = Phrases.of(given)
    row, times = say.list(trigger.columns), say.term(trigger.times)
    docs: list[Doc] = []
    for action in trigger.actions:
        match action:
            case Add(statement, later):
                docs.append(phrases(statement, given).statement(statement, later))
            case Write(table):
                docs.append(f"{table}({row}) += {times}")
            case Propagate(name, events):
                docs += [_event(name, event, adds) for event, adds in events]
            case _:
                assert_never(action)
    return (f"on {trigger.table}({row}) × {times}:", _below(docs))


def _event(name: str, event: MapEvent, adds: Sequence[Add]) -> Doc:
    given = event_vars(event)
    docs = [phrases(add.statement, given).statement(add.statement, add.later) for add in adds]
    return (f"{show_event(name, event)}:", _below(docs))


def show_event(name: str, event: MapEvent) -> str:
    """``then each Δmap[keys], old → new``: what the statements it sets off start from."""
    say = Phrases.of(event_vars(event))
    change = f"{say.products(event.old)} → {say.products(event.new)}"
    return (
        f"then each Δ{name}[{say.list(event.keys)}], {event.aggregate}{' ' * bool(event.aggregate)}{change}"
    )


def event_vars(event: MapEvent) -> tuple[Var, ...]:
    """The variables that an event binds."""
    return (*event.keys, *event.old, *event.new)


def _plan(title: str, plan: Plan) -> Doc:
    params = f"({Phrases.of(plan.params).list(plan.params)})" if plan.params else ""
    docs = [phrases(s, plan.params).statement(s, skipped=plan.skipped) for s in plan.statements]
    return (f"{title}{params}:", _below(docs))


def _below(docs: Sequence[Doc]) -> Doc:
    return nest(*((LINE, doc) for doc in docs))


def _sum(query: Query) -> tuple[list[str], Doc]:
    """What the columns of a query are called, and its monomials, one to a line where there are several."""
    columns = column_vars(query)
    renamed = [_with_keys(monomial, columns) for monomial in query.monomials]
    say = Phrases.of([*columns, *(term for monomial in renamed for term in _terms(monomial))])
    names = say.terms(columns)
    docs = [_monomial(monomial, names, say) for monomial in renamed] or ["0"]
    return names, (LINE, docs[0], *((LINE, "+ ", doc) for doc in docs[1:]))


def column_vars(query: Query) -> tuple[Var, ...]:
    """The columns of ``query``: those of the first monomial where they are variables, which tell more."""
    first = query.monomials[0].keys if query.monomials else query.keys
    found = tuple(dict.fromkeys(key for key in first if isinstance(key, Var)))
    return found if len(found) == len(first) else query.keys


def _with_keys(monomial: Monomial, columns: Sequence[Var]) -> Monomial:
    """``monomial`` with its key variables called as the columns, where no other variable is called so."""
    keys = [key.name for key in monomial.keys if isinstance(key, Var)]
    others = {name for term in _terms(monomial) for name in _names(term)} - set(keys)
    if len(set(keys)) < len(monomial.keys) or not others.isdisjoint(column.name for column in columns):
        return monomial
    return substitute(monomial, dict(zip(keys, columns, strict=True)))


def _monomial(monomial: Monomial, columns: Sequence[str], say: Phrases) -> Doc:
    """``keys ← weights · factor · …``; keys that are the columns and a weight of one go without saying."""
    keys = say.terms(monomial.keys)
    times = Counter(name for term in _terms(monomial) for name in _names(term))
    unused = frozenset(name for name, n in times.items() if n == 1)
    weights: list[Doc] = [] if _is_one(monomial.weights) else [_weights(monomial, say)]
    parts = [*weights, *(_factor(factor, unused, say) for factor in monomial.factors)] or ["1"]
    head = "" if keys == list(columns) else f"{', '.join(keys)} ← "
    return group(head, parts[0], nest(*((LINE, "· ", part) for part in parts[1:])))


def _weights(monomial: Monomial, say: Phrases) -> str:
    match monomial.weights:
        case (Call(name) as sum_,) if name != "*" and monomial.factors:
            return say.factor(sum_)
    return say.products(monomial.weights)


def _factor(factor: Factor, unused: frozenset[str], say: Phrases) -> Doc:
    def columns(args: Sequence[Term]) -> str:
        return ", ".join(
            "_" if isinstance(arg, Var) and arg.name in unused else say.term(arg) for arg in args
        )

    match factor:
        case Atom(name, args):
            return f"{name}({columns(args)})"
        case Test(test):
            return f"[{say.term(test)}]"
        case Unnest(bag, pattern):
            return f"{say.term(pattern)} ∈ {say.term(bag)}"
        case Lift(var, aggregate, query, args, bounds):
            return (f"{say.term(var)} := {aggregate}", _inner(query), f"[{say.within(args, bounds)}]")
        case Pointwise(operator, query, args):
            return (operator, _inner(query), f"[{columns(args)}]")
        case _:
            assert_never(factor)


def _inner(query: Query) -> Doc:
    columns, doc = _sum(query)
    return group(f"(Sum[{', '.join(columns)}]", nest(doc), ")")


def _terms(monomial: Monomial) -> list[Term]:
    inner = [term for factor in monomial.factors for term in factor_terms(factor)]
    return [*monomial.keys, *monomial.weights, *inner]


def _names(term: Term) -> list[str]:
    return [node.name for node in walk(term) if isinstance(node, Var)]


def _is_one(weights: Sequence[Term]) -> bool:
    return len(weights) == 1 and isinstance(weights[0], Const) and weights[0].value == 1
