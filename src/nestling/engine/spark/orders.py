"""In which order the files of a source are sorted: by the columns that statements find its entries by.

A look-up reads the row groups whose least and greatest values leave room for what it asks for: one of many where the
first column of the order is among those asked for, all of them where it is not. So the first column is the one that
most look-ups give, the second the one that most of those give, and so on. Look-ups by the whole key, as where the
change of a map is passed on, gain from any order.

Law: an order is a permutation of the keys; what it is changes no answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from nestling.calculus.types import LABEL
from nestling.engine.protocol import is_inner
from nestling.program.batches import GROUPS, is_change
from nestling.program.statements import (
    Find,
    Measure,
    Program,
    Propagate,
    Range,
    Statement,
    Step,
    Total,
    Where,
)
from nestling.program.steps import plans, trigger_statements

#: How much a look-up counts that every change of a table makes, a statement's, and that of a reading.
CHECKED, MAINTAINED, READ = 4, 3, 1

#: Look-ups by the columns that they give, and how much each counts.
Lookups = Counter[tuple[int, ...]]


def orders(program: Program) -> dict[str, tuple[int, ...]]:
    """For every table and map the order of its keys in files."""
    found = lookups(program)
    widths = {name: len(table.columns) for name, table in program.tables.items()}
    widths |= {name: len(decl.columns) for name, decl in program.maps.items()}
    return {name: order(width, found.get(name, Counter())) for name, width in widths.items()}


def order(width: int, wanted: Mapping[tuple[int, ...], int]) -> tuple[int, ...]:
    """The order of so many keys for these look-ups.

    >>> order(3, {(1,): 3, (0, 1): 1, (2,): 1}), order(2, {}), order(3, {(0, 2): 3, (0,): 1})
    ((1, 0, 2), (0, 1), (0, 2, 1))
    """
    chosen: list[int] = []
    while len(chosen) < width:
        rest = [place for place in range(width) if place not in chosen]
        served = [(places, n) for places, n in wanted.items() if set(chosen) <= set(places)]
        chosen.append(
            max(rest, key=lambda place: (sum(n for places, n in served if place in places), -place))
        )
    return tuple(chosen)


def lookups(program: Program) -> dict[str, Lookups]:
    """How the entries of every source are found."""
    found: dict[str, Lookups] = {}
    for source, places, much in (*_checked(program), *_maintained(program), *_read(program)):
        if places and not is_change(source):
            found.setdefault(source, Counter())[places] += much
    return found


#: A source, the columns that it is looked up by, and how much that counts.
Noted = tuple[str, tuple[int, ...], int]


def _checked(program: Program) -> Iterator[Noted]:
    """A change looks its rows up by their key, and the elements of an inner bag by its label."""
    for name, table in program.tables.items():
        yield name, (0,) if is_inner(table) else table.key, CHECKED


def _maintained(program: Program) -> Iterator[Noted]:
    """A change looks up once what several of its statements ask for: who has the most views does not say what changes
    most often. By a label that is made from a key it asks for the key."""
    for trigger in program.triggers.values():
        places = {place for statement in trigger_statements(trigger) for place in asked(statement)}
        for source, given in sorted(places):
            yield source, _owner(program, source, given), MAINTAINED
        for action in trigger.actions:
            # The first element of a group is found among all of the group.
            if isinstance(action, Propagate) and any(
                e.aggregate not in ("", GROUPS) for e, _ in action.events
            ):
                yield action.map, tuple(range(len(program.maps[action.map].columns) - 1)), MAINTAINED


def _owner(program: Program, source: str, places: tuple[int, ...]) -> tuple[int, ...]:
    """The key of a table, where ``places`` have a label of one of its bags; else ``places``."""
    table = program.tables.get(source)
    if table is None or is_inner(table) or not table.key:
        return places
    return table.key if any(table.columns[place].type == LABEL for place in places) else places


def _read(program: Program) -> Iterator[Noted]:
    found = (s for view in program.views.values() for plan in plans(view) for s in plan.statements)
    for source, given in sorted({place for statement in found for place in asked(statement)}):
        yield source, _owner(program, source, given), READ


def asked(statement: Statement) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Where the steps of a statement look, and by which columns."""
    for step in statement.steps:
        yield from _places(step)


def _places(step: Step) -> Iterator[tuple[str, tuple[int, ...]]]:
    match step:
        case Find(source, _, known):
            yield source, tuple(known)
        case Range(source, args) | Measure(_, _, source, args):
            yield source, tuple(range(len(args)))
        case Where(source, args, _, _, measure):
            yield source, tuple(range(len(args)))
            yield measure.source, tuple(range(len(measure.args)))
        case Total():
            for statement in step.statements:
                yield from asked(statement)
