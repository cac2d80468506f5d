"""Statements that only join, test and multiply, run by Arrow over columns: what changes, joined with what is stored.

A row of Python costs some microseconds for each statement, one of Arrow a tenth of it. What is not of this kind, and
whatever may round or overflow, is left to the rows, which say what is wrong.

Law: it adds what the functions of ``write`` add.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nestling.calculus.build import leaves
from nestling.calculus.terms import Call, Const, Term, Tuple, Var
from nestling.calculus.types import BOOL, INT, STR, LabelType, Record, Scalar, Type
from nestling.engine.spark.columns import Layout
from nestling.engine.spark.driver.exact import is_key
from nestling.engine.spark.driver.labelled import is_labelled
from nestling.engine.spark.merging import fits, is_summed_here
from nestling.engine.spark.state import LakeState
from nestling.engine.spark.totals import totals
from nestling.engine.spark.types import arrow_schema, arrow_type, sql_type
from nestling.program.batches import is_change
from nestling.program.statements import Check, Find, Statement, Step
from nestling.program.steps import uses
from nestling.program.traverse import term_vars

DECIMAL = Scalar("decimal")
_COMPARED = {
    "==": "equal", "=": "equal", "!=": "not_equal", "<": "less", "<=": "less_equal", ">": "greater",
    ">=": "greater_equal",
}  # fmt: skip

#: Finds the rows of a source that have some value of a column at a place, each key once; ``None``: they are for others.
Look = Callable[[str, int, Any], Any]


def is_joined(statement: Statement, layouts: Mapping[str, Layout], target: Layout) -> bool:
    """Whether ``statement`` is of this kind: it goes through a change, and looks up by one known column at a time."""
    first, *rest = statement.steps or (None,)
    if not isinstance(first, Find) or not is_change(first.source) or first.known or not _binds(first):
        return False
    if not target.keys or any(measure not in (INT, DECIMAL) for measure in target.measures):
        return False
    parts = [part for key in statement.keys for part in _parts(key)]
    return (
        all(_is_next(step, layouts) for step in rest)
        and all(map(_is_column, parts))
        and [len(_parts(key)) for key in statement.keys] == [len(_leaves(type_)) for type_ in target.keys]
        and all(is_key(type_) for type_ in _all_leaves(target))
        and all(map(_is_amount, statement.amounts))
    )


def _is_next(step: Step, layouts: Mapping[str, Layout]) -> bool:
    match step:
        case Find(source, args, known) if not is_change(source):
            keys = layouts[source].keys
            sides = [(args[place], keys[place]) for place in known]
            joins = [type_ for arg, key in sides if isinstance(arg, Var) for type_ in (arg.type, key)]
            others = [arg for arg, _ in sides if not isinstance(arg, Var)]
            return (
                bool(joins)
                and len({arg.name for arg, _ in sides if isinstance(arg, Var)}) == len(joins) // 2
                and _binds(step)
                and all(map(_is_looked_up, joins))
                and all(isinstance(arg, Const) and _is_column(arg) for arg in others)
            )
        case Check(test):
            return _is_test(test)
    return False


def _is_looked_up(type_: Type) -> bool:
    return isinstance(type_, LabelType) or type_ in (INT, STR, Scalar("date"))


def _binds(step: Find) -> bool:
    """Whether every other column is a variable of its own."""
    free = [arg for i, arg in enumerate(step.args) if i not in step.known]
    names = [arg.name for arg in free if isinstance(arg, Var)]
    return len(names) == len(free) == len({*names})


def _is_test(term: Term) -> bool:
    match term:
        case Call(name, (Var(_, left) | Const(_, left), Var(_, right) | Const(_, right))) if (
            name in _COMPARED
        ):
            return left == right and left in (INT, BOOL, STR)
        case Call("and" | "or", args):
            return all(map(_is_test, args))
    return False


def _is_column(term: Term) -> bool:
    match term:
        case Var():
            return True
        case Const(value, type_):
            return value is not None and type_ in (INT, BOOL, STR)
        case Call("neg", (Var(_, type_),)):
            return type_ in (INT, DECIMAL)
    return False


def _is_amount(term: Term) -> bool:
    match term:
        case Var(_, type_) | Const(_, type_):
            return type_ in (INT, DECIMAL)
        case Call("neg", (arg,)):
            return _is_amount(arg)
        case Call("*", args):
            return all(map(_is_amount, args))
    return False


def _parts(key: Term) -> list[Term]:
    return list(leaves(key)) if isinstance(key, Tuple) else [key]


def _leads(layout: Layout, place: int) -> bool:
    """Whether a column leads to few groups of rows."""
    return layout.is_sorted_by((place,)) or is_labelled(layout, (place,))


def _leaves(type_: Type) -> list[Type]:
    return [leaf for part in type_.types for leaf in _leaves(part)] if isinstance(type_, Record) else [type_]


def _all_leaves(layout: Layout) -> list[Type]:
    return [leaf for type_ in layout.keys for leaf in _leaves(type_)]


def joined(statements: Sequence[Statement], target: Layout, moment: LakeState, look: Look) -> Any:
    """What ``statements`` add, summed by key; ``None`` where that is for others."""
    import pyarrow as pa

    parts = []
    try:
        for statement in statements:
            rows = _Rows(moment, look)
            for number, step in enumerate(statement.steps):
                later = [*(t for s in statement.steps[number + 1 :] for t in uses(s)), *statement.keys]
                rows.step(step, term_vars(*later, *statement.amounts))
            parts.append(rows.added(statement, target))
        return _summed(pa.concat_tables(parts), target)
    except (_LeftError, pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


class _LeftError(Exception):
    """This is left to the rows."""


@dataclass
class _Rows:
    """The solutions so far: a column for each variable that is still used."""

    moment: LakeState
    look: Look
    table: Any = None
    #: What columns are called, which need not be as variables are.
    names: dict[str, str] = field(default_factory=dict)

    def step(self, step: Step, later: frozenset[str]) -> None:
        match step:
            case Check(test):
                self.table = self.table.filter(self._truth(test))
            case Find(source) if self.table is None:
                found = self.moment.changes[source].table
                self.table = self._named(step, found, later)
            case Find():
                self._join(step, later)

    def _join(self, step: Find, later: frozenset[str]) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        joins = {place: arg for place in step.known if isinstance(arg := step.args[place], Var)}
        layout = self.moment.layouts[step.source]
        first = min(joins, key=lambda place: not _leads(layout, place))
        found = self.look(step.source, first, self.table.column(self.names[joins[first].name]))
        if found is None:
            raise _LeftError
        for place in step.known:
            if isinstance(arg := step.args[place], Const):
                column = found.column(f"k{place}")
                found = found.filter(pc.equal(column, pa.scalar(arg.value, column.type)))
        by = {arg.name for arg in joins.values()}
        right = self._named(step, found, later | by)
        keys = sorted(self.names[name] for name in by)
        kept = {self.names[name] for name in later if name in self.names} | {*keys}
        left = self.table.select([name for name in self.table.column_names if name in kept])
        self.table = left.join(right, keys=keys, right_keys=keys, join_type="inner", use_threads=False)

    def _named(self, step: Find, found: Any, later: frozenset[str]) -> Any:
        """The columns of what was found that are used."""
        columns = {}
        for i, arg in enumerate(step.args):
            if isinstance(arg, Var) and arg.name in later:
                columns[self._name(arg)] = found.column(f"k{i}")
        for i, count in enumerate(step.counts):
            if count.name in later:
                columns[self._name(count)] = found.column(f"m{i}")
        if not columns:  # how many there are says something
            columns["n"] = found.column("k0")
        import pyarrow as pa

        return pa.table(columns)

    def _name(self, var: Var) -> str:
        return self.names.setdefault(var.name, f"v{len(self.names)}")

    # -- terms

    def _truth(self, term: Term) -> Any:
        import pyarrow.compute as pc

        match term:
            case Call(name, (left, right)) if name in _COMPARED:
                return getattr(pc, _COMPARED[name])(self._column(left), self._column(right))
            case Call(name, args):
                tests = [self._truth(arg) for arg in args]
                found = tests[0]
                for test in tests[1:]:
                    found = pc.and_(found, test) if name == "and" else pc.or_(found, test)
                return found
        raise _LeftError

    def _column(self, term: Term) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        match term:
            case Var(name):
                return self.table.column(self.names[name])
            case Const(value, type_):
                some = pa.scalar(value, arrow_type(sql_type(type_)))
                return pa.chunked_array([pa.repeat(some, self.table.num_rows)])
            case Call("neg", (arg,)):
                column = self._column(arg)
                is_int = pa.types.is_integer(column.type)
                return pc.negate_checked(column) if is_int else pc.negate(column)
            case Call("*", (left, right)):
                return _product(self._column(left), self._column(right))
        raise _LeftError

    def added(self, statement: Statement, target: Layout) -> Any:
        """Keys and amounts; a record is as many columns as it has parts."""
        import pyarrow as pa

        apart = _apart(target)
        terms = [part for key in statement.keys for part in _parts(key)] + list(statement.amounts)
        schema = arrow_schema(apart.sql)
        columns = [self._column(term).cast(field.type) for term, field in zip(terms, schema, strict=True)]
        return pa.Table.from_arrays(columns, schema=schema)


def _product(left: Any, right: Any) -> Any:
    """A product that has room for all its digits."""
    import pyarrow as pa
    import pyarrow.compute as pc

    ints = [pa.types.is_integer(side.type) for side in (left, right)]
    if all(ints):
        return pc.multiply_checked(left, right)
    if not any(ints):
        raise _LeftError
    times, number = (left, right) if ints[0] else (right, left)
    if pc.all(pc.equal(pc.abs(times), 1)).as_py() is not False:
        return pc.if_else(pc.greater(times, 0), number, pc.negate(number))
    wide = pc.multiply(times.cast(pa.decimal128(19, 0)), number.cast(pa.decimal256(37, 18)))
    return wide.cast(number.type)


def _apart(layout: Layout) -> Layout:
    """The columns of a relation with the parts of its records in place of these."""
    return replace(layout, keys=tuple(_all_leaves(layout)), key=(), order=())


def _summed(rows: Any, layout: Layout) -> Any:
    import pyarrow as pa

    apart, schema = _apart(layout), arrow_schema(layout.sql)
    if not all(fits(rows.column(f"m{i}"), type_) for i, type_ in enumerate(layout.measures)):
        raise _LeftError
    found = totals(rows, apart).cast(arrow_schema(apart.sql))
    if len(apart.keys) == len(layout.keys):
        return found
    left = iter(found.select(apart.key_names).combine_chunks().columns)
    keys = [_built(type_, left) for type_ in layout.keys]
    return pa.Table.from_arrays([*keys, *(found.column(m) for m in layout.names[len(keys) :])], schema=schema)


def _built(type_: Type, left: Any) -> Any:
    """The next column of ``type_``."""
    import pyarrow as pa

    if not isinstance(type_, Record):
        column = next(left)
        return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    parts = [_built(part, left) for part in type_.types]
    return pa.StructArray.from_arrays(parts, fields=list(arrow_type(sql_type(type_))))


def once(rows: Any, layout: Layout) -> Any:
    """``rows`` summed by key; ``None`` where Arrow does not sum as Spark does."""
    import pyarrow.compute as pc

    if not is_summed_here(layout):
        return None
    if not all(fits(rows.column(f"m{i}"), type_) for i, type_ in enumerate(layout.measures)):
        return None
    found = totals(rows, layout).cast(rows.schema)
    return found.filter(pc.not_equal(found.column("m0"), 0)) if layout.positive else found
