"""Maps in which some columns determine the others: one row for each, as in a table with a key.

``Sum_{no, name} orders(no, c) · customers(c, name)`` has for each ``no`` one row at most, and it once: ``no`` is the
key of ``orders``, whose row has the key of ``customers``. Such a map is stored as ``{no: name}``, and what takes the
place of another row is one assignment; of more columns beside the key it is ``{no: (city, name, no)}``.

Law: under the keys of its tables, a map of this kind has at no time two rows that agree in these columns, nor one
twice. Each trigger adds to it by one statement, once for each solution; an update takes the old row away before it adds
the new one, under the same key.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from nestling.calculus.build import call, const
from nestling.calculus.terms import Call, Const, Term, Var
from nestling.calculus.types import INT
from nestling.engine.local.ranges import every_local_step
from nestling.engine.local.storage import Positions, statements
from nestling.program.flat import Atom, Monomial, Test
from nestling.program.statements import (
    Action,
    Add,
    Find,
    MapDecl,
    Plan,
    Program,
    Propagate,
    RowUpdate,
    Statement,
    TableDecl,
    Trigger,
)
from nestling.program.steps import every_trigger
from nestling.program.traverse import term_vars

Keys = Mapping[str, Positions]
OnRow = TypeVar("OnRow", Trigger, RowUpdate)


def unique_keys(program: Program) -> dict[str, Positions]:
    """By map, the columns that determine its rows; of maps that have such, and are written and read as is needed."""
    found = {name: key for name, decl in program.maps.items() if (key := _key_of(decl, program.tables))}
    found = {name: key for name, key in found.items() if name not in _otherwise_read(program)}
    while bad := {name for name in found if not _is_written_by_rows(name, found, program)}:
        found = {name: key for name, key in found.items() if name not in bad}
    return found


def counted_once(program: Program, unique: Keys) -> Program:
    """``program``, in which the rows of ``unique`` maps are counted as what they are: one each."""

    def plan(each: Plan) -> Plan:
        return replace(each, statements=tuple(_once(s, unique) for s in each.statements))

    if not unique:
        return program
    return replace(
        program,
        triggers={name: _in_trigger(trigger, unique) for name, trigger in program.triggers.items()},
        updates={name: _in_trigger(update, unique) for name, update in program.updates.items()},
        views={
            name: replace(
                view,
                rows=plan(view.rows),
                lookup=view.lookup and plan(view.lookup),
                definitions={shape: plan(each) for shape, each in view.definitions.items()},
            )
            for name, view in program.views.items()
        },
        totals={name: plan(each) for name, each in program.totals.items()},
    )


# -- what the columns of a query determine


def _key_of(decl: MapDecl, tables: Mapping[str, TableDecl]) -> Positions:
    """The fewest columns, the last ones left out first, that determine all others; none where it takes all of them."""
    if decl.ordered or decl.width != 1 or decl.role == "watch" or len(decl.query.monomials) != 1:
        return ()
    monomial = decl.query.monomials[0]
    everything = tuple(range(len(monomial.keys)))
    if monomial.weights != (const(1),) or not _determines(everything, monomial, tables):
        return ()
    key = everything
    for position in reversed(everything):
        fewer = tuple(i for i in key if i != position)
        if fewer and _determines(fewer, monomial, tables):
            key = fewer
    return key if len(key) < len(everything) else ()


def _determines(positions: Positions, monomial: Monomial, tables: Mapping[str, TableDecl]) -> bool:
    """Whether there is one solution at most for what stands at ``positions``, and so one row."""
    known = {key.name for i in positions if isinstance(key := monomial.keys[i], Var)}
    atoms = [factor for factor in monomial.factors if isinstance(factor, Atom)]
    if len(atoms) + sum(isinstance(factor, Test) for factor in monomial.factors) < len(monomial.factors):
        return False
    while found := [atom for atom in atoms if _is_found(atom, known, tables)]:
        known |= {name for atom in found for name in term_vars(*atom.args)}
        atoms = [atom for atom in atoms if not any(atom is other for other in found)]
    return not atoms and term_vars(*monomial.keys) <= known


def _is_found(atom: Atom, known: set[str], tables: Mapping[str, TableDecl]) -> bool:
    key = tables[atom.name].key if atom.name in tables else ()
    return bool(key) and term_vars(*(atom.args[i] for i in key)) <= known


# -- how it is read and written


def _otherwise_read(program: Program) -> set[str]:
    """What is read by other steps than those that find entries."""
    found: set[str] = set()
    for statement in statements(program):
        for step in every_local_step(statement):
            if not isinstance(step, Find):
                for part in (step, *(getattr(step, name, None) for name in ("find", "range", "measure"))):
                    found.add(getattr(part, "source", ""))
    return found


def _is_written_by_rows(name: str, unique: Keys, program: Program) -> bool:
    for trigger in every_trigger(program):
        adds = [action for action in trigger.actions if isinstance(action, Add)]
        own = [add for add in adds if add.statement.target == name]
        if any(add.later for add in own) or name in _passed_on(trigger.actions):
            return False
        written = [_once(add.statement, unique) for add in own]
        if isinstance(trigger, Trigger):
            if [s.amounts for s in written] not in ([], [(trigger.times,)]):
                return False
        elif not _is_replaced(written, unique[name]):
            return False
    return True


def _passed_on(actions: Sequence[Action]) -> set[str]:
    """The maps that changes of maps change, and these."""
    passed = [action for action in actions if isinstance(action, Propagate)]
    targets = {add.statement.target for action in passed for _, adds in action.events for add in adds}
    return targets | {action.map for action in passed}


def _is_replaced(written: Sequence[Statement], key: Positions) -> bool:
    """Whether the old row goes first, and the new one comes under its key."""
    if [s.amounts for s in written] not in ([], [(const(-1),)], [(const(1),)], [(const(-1),), (const(1),)]):
        return False
    return len({tuple(statement.keys[i] for i in key) for statement in written}) <= 1


# -- counts


def _in_trigger(trigger: OnRow, unique: Keys) -> OnRow:
    return replace(trigger, actions=tuple(_in_action(action, unique) for action in trigger.actions))


def _in_action(action: Action, unique: Keys) -> Action:
    match action:
        case Add(statement, later):
            return Add(_once(statement, unique), later)
        case Propagate(name, events):
            return Propagate(
                name,
                tuple(
                    (event, tuple(Add(_once(a.statement, unique), a.later) for a in adds))
                    for event, adds in events
                ),
            )
    return action


def _once(statement: Statement, unique: Collection[str]) -> Statement:
    ones = {
        count
        for step in statement.steps
        if isinstance(step, Find) and step.source in unique
        for count in step.counts
    }
    if not ones:
        return statement
    return replace(statement, amounts=tuple(_without(amount, ones) for amount in statement.amounts))


def _without(amount: Term, ones: Collection[Var]) -> Term:
    """A product without the factors that are one."""
    sign, rest = 1, list[Term]()
    for factor in _factors(amount):
        if isinstance(factor, Const) and factor.type == INT and factor.value in (1, -1):
            sign *= factor.value
        elif factor not in ones:
            rest.append(factor)
    if not rest:
        return const(sign)
    product = rest[0]
    for factor in rest[1:]:
        product = call("*", product, factor)
    return product if sign == 1 else call("*", const(-1), product)


def _factors(term: Term) -> Iterator[Term]:
    if isinstance(term, Call) and term.function == "*":
        for arg in term.args:
            yield from _factors(arg)
    else:
        yield term
