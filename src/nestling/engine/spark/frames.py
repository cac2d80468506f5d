"""A view as one DataFrame, its inner bags as arrays, assembled by Spark level by level.

The rows of a view contain labels. The plan of a label's shape reads the bags of all labels of that shape at once;
the statement of a row says which values its labels contain, so no label is parsed. Labels of tables are looked up
in the dictionaries whose elements have their type.

Law (6): the frame holds what ``read`` answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from nestling.calculus.build import const, leaves
from nestling.calculus.terms import InL, Term
from nestling.calculus.types import LABEL, Bag, Record, Scalar, Type, flat_type
from nestling.calculus.typing import term_type
from nestling.engine.spark.columns import Layout
from nestling.engine.spark.plans import plan_layout
from nestling.engine.spark.relations import Sources, joins_text, nothing, summed, sums
from nestling.engine.spark.state import LakeState
from nestling.engine.spark.statements import PlanStart, StatementWriter
from nestling.engine.spark.types import sql_type
from nestling.program.flat import Shape
from nestling.program.statements import Plan, Program
from nestling.quoting import sql_name, sql_text

#: A bag cannot hold an element less than no times.
COPIES = "CASE WHEN n < 0 THEN raise_error('a view with negative counts is read with bag()') ELSE CAST(n AS INT) END"


_AS_OFTEN = f"LATERAL VIEW explode(array_repeat(0, {COPIES})) AS copy"


class NamedSources(Sources, Protocol):
    """The relations of a program, of which all layouts are known."""

    @property
    def layouts(self) -> Mapping[str, Layout]: ...


def view_text(program: Program, sources: NamedSources, view: str) -> str:
    """The rows of ``view``, as often as they occur, as SQL."""
    columns = "v.*" if isinstance(program.views[view].element, Record) else "v AS value"
    return f"SELECT {columns} FROM ({_view_rows(program, sources, view)}) {_AS_OFTEN}"


def frame(program: Program, moment: LakeState, view: str) -> Any:
    """The rows of ``view``, as often as they occur."""
    return moment.session.sql(view_text(program, moment, view))


def counted_frame(program: Program, moment: LakeState, view: str) -> Any:
    """The rows of ``view``, ``v``, and how often each occurs, ``n``; equal ones may come apart."""
    return moment.session.sql(_view_rows(program, moment, view))


def _view_rows(program: Program, sources: NamedSources, view: str) -> str:
    plan = program.views[view]
    writer = StatementWriter(sources, broadcast=False)
    rows = _Frame(program, sources, view, writer).plan(plan.rows, None, 0, plan.element)
    return writer.text(f"SELECT v, n FROM {rows}")


def table_text(program: Program, sources: NamedSources, name: str, element: Type) -> str:
    """The rows of a table, as often as they occur, as SQL."""
    layout = sources.layouts[name]
    text = table_rows(program, sources, name, element, summed(sources.raw(name), layout))
    return f"SELECT v.* FROM ({text}) {_AS_OFTEN}"


def table_frame(program: Program, moment: LakeState, name: str, element: Type) -> Any:
    """The rows of a table, as often as they occur."""
    return moment.session.sql(table_text(program, moment, name, element))


def table_rows(program: Program, sources: NamedSources, name: str, element: Type, rows: str) -> str:
    """Some rows of a table: ``o0, o1, …`` their columns, ``v`` the nested value, ``n`` how often."""
    writer = StatementWriter(sources, broadcast=False)
    layout = sources.layouts[name]
    width = len(layout.keys)
    again = [f"k{i} AS k{width + i}" for i in range(width)]
    twice = writer.cte(f"SELECT {', '.join([*layout.key_names, *again, 'm0'])} FROM ({rows})")

    def labels(position: int) -> dict[Shape | None, list[str]]:
        return {None: [f"SELECT k{width + position} AS k0, 1L AS m0 FROM {twice}"]}

    nested = _Frame(program, sources, "", writer).nested(twice, layout, width, element, labels)
    return writer.text(f"SELECT * FROM {nested}")


class _Frame:
    def __init__(self, program: Program, sources: NamedSources, view: str, writer: StatementWriter) -> None:
        self.program, self.sources, self.view, self.writer = program, sources, view, writer

    def plan(self, plan: Plan, given: PlanStart | None, width: int, element: Type) -> str:
        """The rows of a plan: ``o0, o1, …`` the parameters, ``v`` the nested value, ``n`` how often."""
        layout = plan_layout(plan) if plan.statements else Layout((LABEL,) * (width + len(_columns(element))))
        some = [s for s in plan.statements if not self.writer.finds_nothing(s)]
        texts = [self.writer.statement(s, layout, given) for s in some]
        rows = self.writer.cte(sums(" UNION ALL ".join(texts), layout) if texts else nothing(layout))

        def labels(position: int) -> dict[Shape | None, list[str]]:
            found: dict[Shape | None, list[str]] = {}
            for statement in some:
                term = statement.keys[width + position]
                terms = (term, *_environment(term)) if isinstance(term, InL) else (term,)
                asked = replace(statement, keys=terms, amounts=(const(1),))
                columns = Layout(tuple(map(term_type, terms)))
                kind = shape_of(term) if isinstance(term, InL) else None
                found.setdefault(kind, []).append(self.writer.statement(asked, columns, given))
            return found

        return self.nested(rows, layout, width, element, labels)

    def nested(self, rows: str, layout: Layout, width: int, element: Type, labels: Any) -> str:
        """``rows`` with every label replaced by its bag."""
        joins: list[str] = []
        columns = iter(range(len(_columns(element))))

        def value(type_: Type) -> str:
            match type_:
                case Record(fields):
                    parts = ", ".join(f"{sql_text(name)}, {value(field)}" for name, field in fields)
                    return f"named_struct({parts})"
                case Bag(inner, False):
                    position = next(columns)
                    bags = self.bags(labels(position), inner)
                    joins.append(f"LEFT JOIN {bags} b{position} ON r.k{width + position} = b{position}.l")
                    return f"coalesce(b{position}.bag, {_no_bag(inner)})"
                case Scalar("timedelta"):
                    micros = f"CAST(r.k{width + next(columns)} AS DECIMAL(24,6))"
                    return f"make_dt_interval(0, 0, 0, CAST({micros} / 1000000 AS DECIMAL(18,6)))"
            return f"r.k{width + next(columns)}"

        nested = value(element)
        keys = "".join(f"r.k{i} AS o{i}, " for i in range(width))
        there = "r.m0 <> 0"
        return self.writer.cte(
            f"SELECT {keys}{nested} AS v, r.m0 AS n FROM {rows} r {' '.join(joins)} WHERE {there}"
        )

    def bags(self, labels: dict[Shape | None, list[str]], element: Type) -> str:
        """The bag of every label: ``l, bag``."""
        texts = [
            self.defined(kind, texts, element) if kind is not None else self.looked_up(texts, element)
            for kind, texts in labels.items()
        ]
        empty = f"SELECT CAST(NULL AS STRING) AS l, {_no_bag(element)} AS bag WHERE false"
        return self.writer.cte(" UNION ALL ".join(texts) or empty)

    def defined(self, kind: Shape, texts: list[str], element: Type) -> str:
        plan = self.program.views[self.view].definitions[kind]
        width = len(plan.params)
        params = "".join(f"k{i + 1} AS k{i}, " for i in range(width))
        named = self.writer.cte(f"SELECT DISTINCT {params}k0 AS l FROM ({' UNION ALL '.join(texts)})")
        given = PlanStart(named, plan.params) if width else None
        rows = self.plan(plan, given, width, element)
        on = " AND ".join(joins_text(f"d.k{i}", f"r.o{i}", p.type) for i, p in enumerate(plan.params))
        return self.collected(
            f"{rows} r {'JOIN' if on else 'CROSS JOIN'} {named} d{f' ON {on}' if on else ''}", "d.l"
        )

    def looked_up(self, texts: list[str], element: Type) -> str:
        named = self.writer.cte(f"SELECT DISTINCT k0 AS l FROM ({' UNION ALL '.join(texts)})")
        wanted = [LABEL, *_columns(flat_type(element))]
        found = []
        for name, decl in self.program.tables.items():
            types = [column.type for column in decl.columns]
            if "." in name and types == wanted:
                rows = self.dictionary(name, element)
                found.append(self.collected(f"{rows} r JOIN {named} d ON d.l = r.o0", "d.l"))
        return " UNION ALL ".join(found)

    def dictionary(self, name: str, element: Type) -> str:
        """The elements of an inner bag of a table, nested, behind their labels."""
        layout = self.sources.layouts[name]
        rows = self.writer.cte(summed(self.sources.raw(name), layout))

        def labels(position: int) -> dict[Shape | None, list[str]]:
            return {None: [f"SELECT k{1 + position} AS k0, 1L AS m0 FROM {rows}"]}

        return self.nested(rows, layout, 1, element, labels)

    def collected(self, source: str, label: str) -> str:
        bag = f"flatten(collect_list(array_repeat(v, {COPIES})))"
        return f"SELECT {label} AS l, {bag} AS bag FROM {source} GROUP BY {label}"


def _no_bag(element: Type) -> str:
    """An empty bag of a known type."""
    return f"CAST(array() AS ARRAY<{_nested_type(element)}>)"


def _nested_type(type_: Type) -> str:
    match type_:
        case Record(fields):
            parts = (f"{sql_name(name)}: {_nested_type(field)}" for name, field in fields)
            return f"STRUCT<{', '.join(parts)}>"
        case Bag(element, False):
            return f"ARRAY<{_nested_type(element)}>"
        case Scalar("timedelta"):
            return "INTERVAL DAY TO SECOND"
    return sql_type(type_)


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
