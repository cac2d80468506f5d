"""A view as one DataFrame, its inner bags as arrays, assembled by Spark level by level.

The rows of a view contain labels. The plan of a label's shape reads the bags of all labels of that shape at once, by
their parameters; the statement of a row says which values its labels contain, so no label is written or parsed, but
where a column has labels of several shapes. Labels of tables are looked up in the dictionaries whose elements have
their type.

Law (6): the frame holds what ``read`` answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from nestling.calculus.build import const, leaves
from nestling.calculus.lists import AT, ITEM, is_list
from nestling.calculus.maps import is_map
from nestling.calculus.optional import held, is_optional
from nestling.calculus.terms import InL, Term, Var
from nestling.calculus.types import LABEL, Bag, Record, Scalar, Type, flat_type
from nestling.calculus.typing import term_type
from nestling.engine.spark import limits
from nestling.engine.spark.bag_types import no_bag
from nestling.engine.spark.columns import Layout
from nestling.engine.spark.linear import is_product_of
from nestling.engine.spark.plans import plan_layout
from nestling.engine.spark.relations import UNCOUNTED, Sources, joins_text, nothing, summed, sums, touched_by
from nestling.engine.spark.state import LakeState
from nestling.engine.spark.statements import PlanStart, StatementWriter
from nestling.engine.spark.terms import Sql, is_partial, joins
from nestling.program.batches import is_change
from nestling.program.flat import Shape
from nestling.program.statements import Assign, Check, Find, Plan, Program, Statement
from nestling.program.steps import uses
from nestling.quoting import sql_name, sql_text

#: A bag cannot hold an element less than no times.
COPIES = "CASE WHEN n < 0 THEN raise_error('a view with negative counts is read with bag()') ELSE CAST(n AS INT) END"


_AS_OFTEN = f" LATERAL VIEW explode(array_repeat(0, {COPIES})) AS copy"


class NamedSources(Sources, Protocol):
    """The relations of a program, of which all layouts are known."""

    @property
    def layouts(self) -> Mapping[str, Layout]: ...

    def summed(self, name: str) -> str:
        """The rows of a source, summed by key."""


def view_text(program: Program, sources: NamedSources, view: str) -> str:
    """The rows of ``view``, as often as they occur, as SQL."""
    columns = "v.*" if isinstance(program.views[view].element, Record) else "v AS value"
    rows, is_once = _view_rows(program, sources, view)
    return f"SELECT {columns} FROM ({rows}){'' if is_once else _AS_OFTEN}"


def frame(program: Program, moment: LakeState, view: str) -> Any:
    """The rows of ``view``, as often as they occur."""
    return moment.session.sql(view_text(program, moment, view))


def counted_frame(program: Program, moment: LakeState, view: str) -> Any:
    """The rows of ``view``, ``v``, and how often each occurs, ``n``; equal ones may come apart."""
    return moment.session.sql(_view_rows(program, moment, view)[0])


def _view_rows(program: Program, sources: NamedSources, view: str) -> tuple[str, bool]:
    """The rows of ``view``, ``v``, and how often, ``n``; and whether that is always once."""
    plan = program.views[view]
    writer = StatementWriter(sources, broadcast=False)
    frame = _Frame(program, sources, view, writer)
    rows = frame.plan(plan.rows, None, 0, plan.element)
    return writer.text(f"SELECT v, n FROM {rows}"), rows in frame.once


def table_text(program: Program, sources: NamedSources, name: str, element: Type) -> str:
    """The rows of a table, as often as they occur, as SQL."""
    text = table_rows(program, sources, name, element, sources.summed(name))
    return f"SELECT v.* FROM ({text}){_AS_OFTEN}"


def table_frame(program: Program, moment: LakeState, name: str, element: Type) -> Any:
    """The rows of a table, as often as they occur."""
    return moment.session.sql(table_text(program, moment, name, element))


def table_rows(
    program: Program, sources: NamedSources, name: str, element: Type, rows: str, near: str | None = None
) -> str:
    """Some rows of a table: ``o0, o1, …`` their columns, ``v`` the nested value, ``n`` how often.

    ``near``: of inner bags only those that they have are read, whose labels are joined with this hint.
    """
    writer = StatementWriter(sources, broadcast=False)
    layout = sources.layouts[name]
    width = len(layout.keys)
    twice = [f"k{i} AS k{width + i}" for i in range(width)]
    named = writer.cte(f"SELECT {', '.join([*layout.key_names, *twice, 'm0'])} FROM ({rows})")
    again = replace(layout, keys=(*layout.keys, *layout.keys))
    columns = [RowColumn((width + i,)) for i in range(width)]
    nested = _Frame(program, sources, "", writer, near).nested(named, again, width, element, columns)
    return writer.text(f"SELECT * FROM {nested}")


@dataclass(frozen=True)
class RowColumn:
    """A column of a row, and where it stands in a relation. Of a label that is made here these are the columns of its
    environment: a bag is found by these, and no label is written."""

    places: tuple[int, ...]
    shape: Shape | None = None
    #: Of labels of several shapes, as text: by shape, the queries of each label, ``k0``, and its environment.
    labels: Mapping[Shape | None, list[str]] | None = None


class _Frame:
    def __init__(
        self,
        program: Program,
        sources: NamedSources,
        view: str,
        writer: StatementWriter,
        near: str | None = None,
    ) -> None:
        self.program, self.sources, self.view, self.writer = program, sources, view, writer
        self.near = near
        #: The expressions whose rows are there once each.
        self.once: set[str] = set()

    def plan(self, plan: Plan, given: PlanStart | None, width: int, element: Type) -> str:
        """The rows of a plan: ``o0, o1, …`` the parameters, ``v`` the nested value, ``n`` how often."""
        some = [s for s in plan.statements if not self.writer.finds_nothing(s)]
        size = len(_columns(element))
        if not some:
            layout = Layout((LABEL,) * (width + size))
            columns = [RowColumn((width + i,)) for i in range(size)]
            return self.nested(self.writer.cte(nothing(layout)), layout, width, element, columns)
        columns, terms = [], [list(statement.keys[:width]) for statement in some]
        for i in range(size):
            here = [statement.keys[width + i] for statement in some]
            shapes = {shape_of(term) if isinstance(term, InL) else None for term in here}
            shape = next(iter(shapes)) if len(shapes) == 1 else None
            start = len(terms[0])
            for row, term in zip(terms, here, strict=True):
                row += [term] if shape is None or not isinstance(term, InL) else _environment(term)
            labels = self.labels(some, width + i, given) if len(shapes) > 1 else None
            columns.append(RowColumn(tuple(range(start, len(terms[0]))), shape, labels))
        spelled = [replace(s, keys=tuple(row)) for s, row in zip(some, terms, strict=True)]
        layout = plan_layout(replace(plan, statements=tuple(spelled)))
        texts = [self.writer.statement(statement, layout, given) for statement in spelled]
        rows = " UNION ALL ".join(texts)
        if not all(self.is_positive(statement) for statement in spelled):
            rows = sums(rows, layout)
        named = self.writer.cte(rows)
        if all(self.is_once(statement) for statement in spelled):
            self.once.add(named)
        return self.nested(named, layout, width, element, columns, self.most(spelled))

    def is_positive(self, statement: Statement) -> bool:
        """Whether all that it finds is there: nothing is to be taken from it, and equal rows may come apart."""
        counts: set[str] = set()
        for step in statement.steps:
            match step:
                case Find(source, _, _, found) if self.is_positive_source(source):
                    counts |= {count.name for count in found}
                case Check() | Assign():
                    pass
                case _:
                    return False
        (amount,) = statement.amounts
        return is_product_of(counts, amount)

    def is_once(self, statement: Statement) -> bool:
        """Whether all that it finds is there once, though equal rows may come apart."""
        finds = [step for step in statement.steps if isinstance(step, Find)]
        return (
            self.is_positive(statement)
            and statement.amounts == (const(1),)
            and all(bool(self.sources.layout(step.source).key) and not step.counts for step in finds)
        )

    def most(self, statements: Sequence[Statement]) -> int:
        """About how many rows ``statements`` find: those of the largest source."""
        finds = (step.source for s in statements for step in s.steps if isinstance(step, Find))
        return max(map(self.sources.rows, finds), default=0)

    def is_positive_source(self, source: str) -> bool:
        """Whether every row of it is there: of a table, unless what came and went still lies beside it."""
        return source in self.program.tables and self.sources.is_summed(source)

    def labels(
        self, statements: Sequence[Statement], place: int, given: PlanStart | None
    ) -> dict[Shape | None, list[str]]:
        """The labels at one place of the rows, by their shapes."""
        found: dict[Shape | None, list[str]] = {}
        for statement in statements:
            term = statement.keys[place]
            terms = (term, *_environment(term)) if isinstance(term, InL) else (term,)
            asked = replace(statement, keys=terms, amounts=(const(1),))
            shape = shape_of(term) if isinstance(term, InL) else None
            text = self.writer.statement(asked, Layout(tuple(map(term_type, terms))), given)
            found.setdefault(shape, []).append(text)
        return found

    def nested(
        self,
        rows: str,
        layout: Layout,
        width: int,
        element: Type,
        columns: Sequence[RowColumn],
        many: int = UNCOUNTED,
    ) -> str:
        """``rows``, of which there are about so ``many``, with every label replaced by its bag."""
        is_once = rows in self.once
        attached: list[str] = []
        left = iter(columns)

        def value(type_: Type) -> str:
            match type_:
                case Record() if is_optional(type_):
                    return f"CASE WHEN r.k{next(left).places[0]} THEN {value(held(type_))} END"
                case Record(fields):
                    parts = ", ".join(f"{sql_text(name)}, {value(field)}" for name, field in fields)
                    return f"named_struct({parts})"
                case Bag(inner, False):
                    column, name = next(left), f"b{len(attached)}"
                    bags, types = self.bags(rows, layout, column, inner)
                    pairs = zip(column.places, enumerate(types), strict=True)
                    on = [
                        _found_by(Sql(f"r.k{place}", layout.keys[place]), Sql(f"{name}.l{i}", type_))
                        for place, (i, type_) in pairs
                    ]
                    attached.append(f"LEFT JOIN {bags} {name} ON {' AND '.join(on) or 'true'}")
                    bag = f"coalesce({name}.bag, {no_bag(inner)})"
                    if is_list(type_):
                        return _in_order(bag)
                    return f"map_from_entries({bag})" if is_map(type_) else bag
                case Scalar("time"):
                    return f"time_from_micros(r.k{next(left).places[0]})"
                case Scalar("timedelta"):
                    micros = f"CAST(r.k{next(left).places[0]} AS DECIMAL(24,6))"
                    return f"make_dt_interval(0, 0, 0, CAST({micros} / 1000000 AS DECIMAL(18,6)))"
            return f"r.k{next(left).places[0]}"

        nested = value(element)
        keys = "".join(f"r.k{i} AS o{i}, " for i in range(width))
        there = "" if is_once else " WHERE r.m0 <> 0"
        hint = self.bags_hint(many, len(attached))
        found = self.writer.cte(
            f"SELECT {hint}{keys}{nested} AS v, r.m0 AS n FROM {rows} r {' '.join(attached)}{there}"
        )
        if is_once:
            self.once.add(found)
        return found

    def bags_hint(self, many: int, bags: int) -> str:
        """How so ``many`` rows meet their bags. Spark judges by compressed bytes, and would send all of them around."""
        if not bags or not limits.MAX_DRIVER_ROWS < many <= limits.MAX_PLANNED_ROWS:
            return ""
        return f"/*+ SHUFFLE_HASH({', '.join(f'b{i}' for i in range(bags))}) */ "

    def bags(self, rows: str, layout: Layout, column: RowColumn, element: Type) -> tuple[str, list[Type]]:
        """The bags of a column of ``rows``, ``bag``, by what finds them, ``l0, l1, …``; and the types of these."""
        if column.shape is not None:
            return self.writer.cte(self.defined(rows, column, element)), self._parameters(column.shape)
        if column.labels is None:
            asked = f"SELECT k{column.places[0]} AS l FROM {rows}"
            return self.writer.cte(self.looked_up(asked, element)), [LABEL]
        texts = [
            self.by_label(shape, found, element)
            if shape is not None
            else self.looked_up(f"SELECT k0 AS l FROM ({' UNION ALL '.join(found)})", element)
            for shape, found in column.labels.items()
        ]
        return self.writer.cte(" UNION ALL ".join(texts)), [LABEL]

    def _parameters(self, shape: Shape) -> list[Type]:
        return [p.type for p in self.program.views[self.view].definitions[shape].params]

    def defined(self, rows: str, column: RowColumn, element: Type) -> str:
        """The bags of one shape by their parameters: all that there are, where these are found without being asked for.

        What nobody asks for is then computed in vain, as much as there is of it; to find out what is asked for would
        be to compute the rows a second time, and a join.
        """
        assert column.shape is not None
        plan = self.program.views[self.view].definitions[column.shape]
        width, free, given = len(plan.params), freed(plan), None
        if free is None and width:
            asked = ", ".join(f"k{place} AS k{i}" for i, place in enumerate(column.places))
            given = PlanStart(self.writer.cte(f"SELECT DISTINCT {asked} FROM {rows}"), plan.params)
        return self.collected(self.plan(free or plan, given, width, element), width, element)

    def by_label(self, shape: Shape, labels: list[str], element: Type) -> str:
        """The bags of one shape by their labels, beside labels of other shapes."""
        plan = self.program.views[self.view].definitions[shape]
        width = len(plan.params)
        params = "".join(f"k{i + 1} AS k{i}, " for i in range(width))
        named = self.writer.cte(f"SELECT DISTINCT {params}k0 AS l FROM ({' UNION ALL '.join(labels)})")
        rows = self.plan(plan, PlanStart(named, plan.params) if width else None, width, element)
        on = " AND ".join(joins_text(f"d.k{i}", f"r.o{i}", p.type) for i, p in enumerate(plan.params))
        found = f"SELECT d.l AS o0, r.v, r.n FROM {rows} r JOIN {named} d ON {on or 'true'}"
        return self.collected(f"({found})", 1, element)

    def looked_up(self, asked: str, element: Type) -> str:
        """The bags of tables by their labels, ``l``; those alone that are ``asked`` for, where these are few."""
        wanted = [LABEL, *_columns(flat_type(element))]
        found = []
        for name, decl in self.program.tables.items():
            types = [column.type for column in decl.columns]
            if "." in name and types == wanted:
                found.append(self.collected(self.dictionary(name, element, asked), 1, element))
        empty = f"SELECT CAST(NULL AS STRING) AS l0, {no_bag(element)} AS bag WHERE false"
        return " UNION ALL ".join(found) or empty

    def dictionary(self, name: str, element: Type, asked: str) -> str:
        """The elements of an inner bag of a table, nested, behind their labels."""
        layout = self.sources.layouts[name]
        text = self.sources.summed(name)
        if self.near is not None:
            labels = f"SELECT l AS g0 FROM ({asked})"
            text = summed(touched_by(self.sources.raw(name), layout, (0,), labels, self.near), layout)
        columns = [RowColumn((1 + i,)) for i in range(len(layout.keys) - 1)]
        named = self.writer.cte(text)
        if self.near is None and self.sources.is_once(name):
            self.once.add(named)
        return self.nested(named, layout, 1, element, columns, self.sources.rows(name))

    def collected(self, rows: str, width: int, element: Type) -> str:
        """The bags of ``rows`` by their first columns."""
        many = f"flatten(collect_list(array_repeat(v, {COPIES})))"
        # No record is null, which a list of values would leave out.
        if rows in self.once:
            is_record = isinstance(element, Record) and not is_optional(element)
            many = "collect_list(v)" if is_record else "flatten(collect_list(array(v)))"
        elif isinstance(element, Record) and not is_optional(element):
            # Most come once.
            often = f"CASE WHEN n <> 1 THEN array_repeat(v, {COPIES}) END"
            many = f"concat(collect_list(CASE WHEN n = 1 THEN v END), flatten(collect_list({often})))"
        names = "".join(f"o{i} AS l{i}, " for i in range(width))
        by = f" GROUP BY {', '.join(f'o{i}' for i in range(width))}" if width else ""
        return f"SELECT {names}{many} AS bag FROM {rows}{by}"


def freed(plan: Plan) -> Plan | None:
    """``plan`` without being asked, for all parameters that it has an answer for; ``None`` where it must be asked.

    Each statement begins with entries that have all parameters among their columns, so it finds no more for each than
    if it were asked. And none of its terms may be undefined, as it might be for what nobody asks for.
    """
    if not plan.params:
        return None
    found = []
    for statement in plan.statements:
        first = statement.steps[0] if statement.steps else None
        if not isinstance(first, Find) or is_change(first.source):
            return None
        names = {p.name for p in plan.params}
        own = {arg.name for arg in first.args if isinstance(arg, Var)}
        others = [term for step in statement.steps for term in uses(step)]
        if not names <= own or is_partial(*statement.keys, *statement.amounts, *others):
            return None
        known = tuple(i for i in first.known if not isinstance(first.args[i], Var))
        found.append(replace(statement, steps=(replace(first, known=known), *statement.steps[1:])))
    return replace(plan, statements=tuple(found))


def _found_by(own: Sql, bag: Sql) -> str:
    """A row has the bag that is found by what it has; a label of a bag is never null."""
    return f"{own.text} = {bag.text}" if own.type == LABEL else joins(own, bag)


def _in_order(bag: str) -> str:
    """The items of a list, from its entries; its positions are all different."""
    at, item = sql_name(AT), sql_name(ITEM)
    return f"transform(array_sort({bag}, (a, b) -> CAST(signum(a.{at} - b.{at}) AS INT)), e -> e.{item})"


def _columns(type_: Type) -> list[Type]:
    if isinstance(type_, Record):
        return [column for _, field in type_.fields for column in _columns(field)]
    return [type_]


def _environment(label: InL) -> Iterator[Term]:
    """The columns of a label's environment; a label of the query stands for its own."""
    for arg in label.args:
        for leaf in leaves(arg):
            if isinstance(leaf, InL):
                yield from _environment(leaf)
            else:
                yield leaf


def shape_of(label: InL) -> Shape:
    """The shape of the labels that a term makes."""
    inner: Sequence[Term] = [leaf for arg in label.args for leaf in leaves(arg)]
    return label.site, tuple(
        shape_of(leaf) if isinstance(leaf, InL) else None
        for leaf in inner
        if isinstance(leaf, InL) or term_type(leaf) == LABEL
    )
