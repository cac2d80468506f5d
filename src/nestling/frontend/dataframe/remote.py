"""The plan of a DataFrame of Spark Connect as one SQL query.

A client has its plan as it was built, without types or numbers of columns. The server says which columns the rows of
a part have; a reference is found among these by its plan, its alias or its name. What a function means, and whether it
can be maintained, is for the front end of SQL, as of a text.

Law: that of ``translate``: the view from a DataFrame equals the DataFrame.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from nestling.errors import QueryError
from nestling.frontend.dataframe.block import indented, labels_of
from nestling.frontend.dataframe.leaves import PREFIX
from nestling.frontend.dataframe.remote_terms import (
    GENERATORS,
    RemoteColumn,
    RemoteScope,
    bare,
    expression,
    generator,
    names_in,
    refused,
    sort_key,
)
from nestling.quoting import sql_name


@dataclass(frozen=True)
class RemoteRows:
    """What stands after FROM, and its columns; rows in an order are a query to its end."""

    source: str
    columns: tuple[RemoteColumn, ...]
    order: str = ""

    @property
    def text(self) -> str:
        """The SELECT of all columns."""
        return f"{_select(self.columns)}\nFROM {self.source}{self.order}"


@dataclass(frozen=True)
class RemoteQuery:
    """A DataFrame as SQL, and the texts of SQL in it, which name tables as the session knows them."""

    text: str
    texts: tuple[str, ...]


def remote_query(frame: Any, tables: Mapping[str, str]) -> RemoteQuery:
    """What ``frame`` computes, in Spark's SQL; ``tables`` maps the marks of leaves to names."""
    session = frame.sparkSession
    if str(session.conf.get("spark.sql.ansi.enabled")).lower() != "true":
        raise QueryError(
            "this session is not in ANSI mode: it would be NULL where a view has no value",
            hint='spark.conf.set("spark.sql.ansi.enabled", "true")',
        )
    plan = frame._plan.to_proto(session.client)
    found = _Plan(session.client, plan, tables)
    top = found.rows(plan.root)
    names = [name.lower() for name in frame.columns]
    for name in frame.columns:
        if names.count(name.lower()) > 1:
            hint = "rename one of them: withColumnRenamed, alias, or drop it"
            raise QueryError(f"two columns of the DataFrame are called {name}", hint=hint)
    if plan.root.WhichOneof("rel_type") == "sql":
        return RemoteQuery(plan.root.sql.query, tuple(found.texts))
    return RemoteQuery(top.text, tuple(found.texts))


class _Plan:
    """One DataFrame on its way to SQL."""

    def __init__(self, client: Any, plan: Any, tables: Mapping[str, str]) -> None:
        self.client, self.plan, self.tables = client, plan, tables
        self.aliases, self.ids = count(1), count(1)
        self.texts: list[str] = []
        #: The columns of each part that the plan numbers.
        self.outputs: dict[int, tuple[RemoteColumn, ...]] = {}

    def rows(self, relation: Any) -> RemoteRows:
        kind = relation.WhichOneof("rel_type")
        reader = _RELATIONS.get(kind)
        if reader is None:
            raise refused(f"a DataFrame with {kind} in it")
        found = reader(self, relation)
        number = relation.common.plan_id
        if number in self.outputs and {c.id for c in self.outputs[number]} != {c.id for c in found.columns}:
            self.outputs[number] = ()  # one DataFrame twice: its columns are found by their aliases
        else:
            self.outputs[number] = found.columns
        return found

    def below(self, relation: Any) -> RemoteRows:
        """The rows of a part whose order says nothing."""
        found = self.rows(relation)
        if found.order and "LIMIT" not in found.order:
            hint = "order last, or take the first rows right after it: orderBy(…).limit(k)"
            raise QueryError("rows inside a view have no order: orderBy alone says nothing", hint=hint)
        return self.table(found) if found.order else found

    def scope(self, rows: RemoteRows) -> RemoteScope:
        return RemoteScope(rows.columns, self.outputs)

    def schema(self, relation: Any) -> list[tuple[str, Any]]:
        """The columns of a part, as the server says them."""
        plan = type(self.plan)(root=relation)
        return [(f["name"], f["type"]) for f in self.client.schema(plan).jsonValue()["fields"]]

    def table(
        self, rows: RemoteRows, text: str | None = None, columns: Sequence[RemoteColumn] | None = None
    ) -> RemoteRows:
        """A SELECT as a table of the next one; ``columns`` are those that it yields."""
        alias, own = f"t{next(self.aliases)}", columns or rows.columns
        labels = labels_of(column.name for column in own)
        named = (replace(c, text=f"{alias}.{sql_name(label)}") for c, label in zip(own, labels, strict=True))
        return RemoteRows(f"({indented(text or rows.text)}) AS {alias}", tuple(named))

    def made(
        self, relation: Any, texts: Sequence[str], rows: RemoteRows, kept: Sequence[RemoteColumn | None]
    ) -> list[RemoteColumn]:
        """The columns that a part yields; those that it passes on keep their number and their aliases."""
        fields = self.schema(relation)
        if len(fields) != len(texts):
            raise refused("this list of columns")
        return [
            RemoteColumn(
                old.id if old else next(self.ids), name, type_, text, old.aliases if old else frozenset()
            )
            for (name, type_), text, old in zip(fields, texts, kept, strict=True)
        ]

    # -- tables

    def alias(self, relation: Any) -> RemoteRows:
        name = relation.subquery_alias.alias
        if name in self.tables:
            alias = f"t{next(self.aliases)}"
            columns = tuple(
                RemoteColumn(next(self.ids), column, type_, f"{alias}.{sql_name(column)}")
                for column, type_ in self.schema(relation)
            )
            return RemoteRows(f"{sql_name(self.tables[name])} AS {alias}", columns)
        if name.startswith(PREFIX):
            raise QueryError(
                f"{name.rpartition(':')[2]} is a table of another database", hint="read it as rows"
            )
        found = self.rows(relation.subquery_alias.input)
        return replace(
            found, columns=tuple(replace(c, aliases=frozenset([name.lower()])) for c in found.columns)
        )

    def sql(self, relation: Any) -> RemoteRows:
        given = relation.sql
        if given.args or given.pos_args or given.named_arguments or given.pos_arguments:
            raise refused("spark.sql with arguments")
        return self._text(relation, given.query)

    def read(self, relation: Any) -> RemoteRows:
        if relation.read.WhichOneof("read_type") != "named_table" or relation.read.is_streaming:
            raise QueryError(
                "the DataFrame reads rows of no table of this database",
                hint='start from db.table("…").df(), or make a table of these rows',
            )
        names = names_in(relation.read.named_table.unparsed_identifier)
        found = self._text(relation, f"SELECT * FROM {'.'.join(map(sql_name, names))}")
        aliases = frozenset([names[-1].lower()])
        return replace(found, columns=tuple(replace(c, aliases=aliases) for c in found.columns))

    def _text(self, relation: Any, text: str) -> RemoteRows:
        self.texts.append(text)
        alias = f"t{next(self.aliases)}"
        columns = tuple(
            RemoteColumn(next(self.ids), name, type_, f"{alias}.{sql_name(name)}")
            for name, type_ in self.schema(relation)
        )
        return RemoteRows(f"({indented(text.rstrip().rstrip(';'))}) AS {alias}", columns)

    # -- columns

    def project(self, relation: Any) -> RemoteRows:
        if not relation.project.HasField("input"):
            raise refused("a DataFrame that begins with constants")
        rows = self.below(relation.project.input)
        return self.selected(relation, rows, list(relation.project.expressions))

    def selected(self, relation: Any, rows: RemoteRows, items: list[Any]) -> RemoteRows:
        texts: list[str] = []
        kept: list[RemoteColumn | None] = []
        source, scope = rows.source, self.scope(rows)
        for item in items:
            if item.WhichOneof("expr_type") == "unresolved_star":
                for column in _starred(item.unresolved_star, rows):
                    texts.append(column.text)
                    kept.append(column)
            elif (function := generator(item)) is not None:
                if source is not rows.source:
                    raise refused("two generators in one list of columns")
                alias = f"t{next(self.aliases)}"
                width = len(self.schema(relation)) - len(items) + 1
                names = [f"c{number}" for number in range(width)]
                outer = "OUTER " * function.function_name.endswith("_outer")
                call = f"{GENERATORS[function.function_name]}({expression(function.arguments[0], scope)})"
                source += f"\n  LATERAL VIEW {outer}{call} {alias} AS {', '.join(names)}"
                texts += [f"{alias}.{name}" for name in names]
                kept += [None] * width
            else:
                texts.append(expression(item, scope))
                kept.append(_passed(item, scope))
        columns = self.made(relation, texts, rows, kept)
        if source is rows.source and all(kept):
            return RemoteRows(source, tuple(columns))
        return self.table(rows, f"{_select(columns)}\nFROM {source}", columns)

    def with_columns(self, relation: Any) -> RemoteRows:
        rows = self.below(relation.with_columns.input)
        fields, scope = self.schema(relation), self.scope(rows)
        new = {item.name[0].lower(): item.expr for item in relation.with_columns.aliases}
        if any(generator(item) is not None for item in new.values()):
            return self._with_rows(relation, rows, new)
        own = {column.name.lower(): column for column in rows.columns}
        if len(own) != len(rows.columns):
            raise refused("withColumn over columns that are called alike")
        texts = [
            expression(new[n.lower()], scope) if n.lower() in new else own[n.lower()].text for n, _ in fields
        ]
        kept = [None if n.lower() in new else own[n.lower()] for n, _ in fields]
        columns = self.made(relation, texts, rows, kept)
        return self.table(rows, f"{_select(columns)}\nFROM {rows.source}", columns)

    def _with_rows(self, relation: Any, rows: RemoteRows, new: Mapping[str, Any]) -> RemoteRows:
        """``withColumn("x", explode(…))``: one new column, last."""
        if len(new) > 1 or {c.name.lower() for c in rows.columns} & set(new):
            raise refused("explode beside other new columns")
        (item,) = new.values()
        star = type(item)()
        star.unresolved_star.SetInParent()
        return self.selected(relation, rows, [star, item])

    def renamed(self, relation: Any) -> RemoteRows:
        rows = self.below(relation.with_columns_renamed.input)
        return self._named(relation, rows)

    def to_df(self, relation: Any) -> RemoteRows:
        return self._named(relation, self.below(relation.to_df.input))

    def _named(self, relation: Any, rows: RemoteRows) -> RemoteRows:
        fields = self.schema(relation)
        pairs = zip(rows.columns, fields, strict=True)
        return replace(rows, columns=tuple(replace(column, name=name) for column, (name, _) in pairs))

    def drop(self, relation: Any) -> RemoteRows:
        rows = self.below(relation.drop.input)
        gone = {name.lower() for name in relation.drop.column_names}
        ids = {
            column.id
            for item in relation.drop.columns
            if (column := _passed(item, self.scope(rows))) is not None
        }
        return replace(
            rows, columns=tuple(c for c in rows.columns if c.name.lower() not in gone and c.id not in ids)
        )

    def filter(self, relation: Any) -> RemoteRows:
        rows = self.below(relation.filter.input)
        test = expression(relation.filter.condition, self.scope(rows))
        return self.table(rows, f"{rows.text}\nWHERE {test}")

    def aggregate(self, relation: Any) -> RemoteRows:
        given = relation.aggregate
        if given.group_type != given.GROUP_TYPE_GROUPBY:
            raise refused("rollup, cube and pivot")
        rows = self.below(given.input)
        scope, items = self.scope(rows), [*given.grouping_expressions, *given.aggregate_expressions]
        texts = [expression(item, scope) for item in items]
        groups = list(dict.fromkeys(texts[: len(given.grouping_expressions)]))
        if not groups and not given.aggregate_expressions:
            raise QueryError("this groups without a key and without an aggregate", hint="add F.count('*')")
        columns = self.made(relation, texts, rows, [_passed(item, scope) for item in items])
        by = f"\nGROUP BY {', '.join(groups)}" if groups else ""
        return self.table(rows, f"{_select(columns)}\nFROM {rows.source}{by}", columns)

    # -- several tables

    def join(self, relation: Any) -> RemoteRows:
        given = relation.join
        word = _JOINS.get(given.join_type)
        if word is None:
            raise refused("this kind of join")
        left, right = self.below(given.left), self.below(given.right)
        both = RemoteRows("", (*left.columns, *right.columns))
        using = [name.lower() for name in given.using_columns]
        tests = []
        pairs = {
            name: tuple(
                next((c for c in side.columns if c.name.lower() == name), None) for side in (left, right)
            )
            for name in using
        }
        for name, (one, other) in pairs.items():
            if one is None or other is None:
                raise QueryError(f"there is no column {name} on both sides of the join")
            tests.append(f"{one.text} = {other.text}")
        if given.HasField("join_condition"):
            tests.append(expression(given.join_condition, self.scope(both)))
        if not tests and word not in ("JOIN", "CROSS JOIN"):
            raise refused("an outer join without a condition")
        on = f" ON {' AND '.join(tests)}" if tests else ""
        source = f"{left.source}\n  {word if tests else 'CROSS JOIN'} {right.source}{on}"
        is_half = word in ("LEFT SEMI JOIN", "LEFT ANTI JOIN")
        kept = [*left.columns, *(() if is_half else right.columns)]
        if using and not is_half:
            keys = [self._key(word, *pairs[name]) for name in using]
            kept = [*keys, *(c for c in kept if c.name.lower() not in using)]
        return self.table(both, f"{_select(kept)}\nFROM {source}", kept)

    def _key(self, word: str, left: Any, right: Any) -> RemoteColumn:
        """A column by which two tables were joined."""
        if word == "FULL JOIN":
            return RemoteColumn(next(self.ids), left.name, left.type, f"coalesce({left.text}, {right.text})")
        found: RemoteColumn = right if word == "RIGHT JOIN" else left
        return found

    def set_operation(self, relation: Any) -> RemoteRows:
        given = relation.set_op
        word = _SETS.get(given.set_op_type)
        if word is None or given.by_name or given.allow_missing_columns:
            raise refused("a union by name")
        parts = [self.below(each) for each in (given.left_input, given.right_input)]
        text = f"\n{word}{' ALL' * given.is_all}\n".join(f"({part.text})" for part in parts)
        columns = self.made(relation, [""] * len(parts[0].columns), parts[0], [None] * len(parts[0].columns))
        return self.table(parts[0], text, columns)

    def distinct(self, relation: Any) -> RemoteRows:
        if not relation.deduplicate.all_columns_as_keys:
            raise QueryError(
                "any of the rows would be kept", hint="group by these columns and aggregate the others"
            )
        rows = self.below(relation.deduplicate.input)
        return self.table(rows, rows.text.replace("SELECT ", "SELECT DISTINCT ", 1))

    # -- the first rows

    def sort(self, relation: Any) -> RemoteRows:
        rows = self.below(relation.sort.input)
        if not relation.sort.is_global:
            return rows
        keys = ", ".join(sort_key(key, self.scope(rows)) for key in relation.sort.order)
        return replace(rows, order=f"\nORDER BY {keys}")

    def limit(self, relation: Any) -> RemoteRows:
        rows = self.rows(relation.limit.input)
        if not rows.order or "LIMIT" in rows.order:
            raise QueryError("limit alone takes any rows", hint="say which: orderBy(…).limit(k)")
        return replace(rows, order=f"{rows.order} LIMIT {relation.limit.limit}")


def _select(columns: Sequence[RemoteColumn]) -> str:
    labels = labels_of(column.name for column in columns)
    items = [f"{column.text} AS {sql_name(label)}" for column, label in zip(columns, labels, strict=True)]
    return f"SELECT {', '.join(items)}"


def _starred(star: Any, rows: RemoteRows) -> list[RemoteColumn]:
    """The columns that a star stands for."""
    target = star.unparsed_target.removesuffix("*").rstrip(".").strip("`").lower()
    found = [column for column in rows.columns if not target or target in column.aliases]
    if not found or star.HasField("plan_id"):
        raise refused(f"{star.unparsed_target or 'this star'}")
    return found


def _passed(item: Any, scope: RemoteScope) -> RemoteColumn | None:
    """The column that an item passes on as it is, whatever it is called."""
    inner = bare(item)
    if inner.WhichOneof("expr_type") != "unresolved_attribute":
        return None
    given = inner.unresolved_attribute
    column, fields = scope.find(
        names_in(given.unparsed_identifier), given.plan_id if given.HasField("plan_id") else None
    )
    return None if fields else column


#: By the numbers of the protocol.
_JOINS = {
    1: "JOIN", 2: "FULL JOIN", 3: "LEFT JOIN", 4: "RIGHT JOIN", 5: "LEFT ANTI JOIN", 6: "LEFT SEMI JOIN",
    7: "CROSS JOIN",
}  # fmt: skip
_SETS = {1: "INTERSECT", 2: "UNION", 3: "EXCEPT"}

_RELATIONS: dict[str | None, Callable[[_Plan, Any], RemoteRows]] = {
    "aggregate": _Plan.aggregate,
    "deduplicate": _Plan.distinct,
    "drop": _Plan.drop,
    "filter": _Plan.filter,
    "hint": lambda plan, relation: plan.rows(relation.hint.input),
    "join": _Plan.join,
    "limit": _Plan.limit,
    "project": _Plan.project,
    "read": _Plan.read,
    "repartition": lambda plan, relation: plan.rows(relation.repartition.input),
    "set_op": _Plan.set_operation,
    "sort": _Plan.sort,
    "sql": _Plan.sql,
    "subquery_alias": _Plan.alias,
    "to_df": _Plan.to_df,
    "with_columns": _Plan.with_columns,
    "with_columns_renamed": _Plan.renamed,
}
