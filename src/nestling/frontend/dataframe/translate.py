"""The plan of a DataFrame as one SQL query.

Law: the view from a DataFrame equals the DataFrame. For every state of the tables, Spark's SQL yields for
``to_sql(frame)`` the rows of ``frame``, and the front end of SQL has that law for its texts; so three-valued logic,
groups, aggregates and decimals are written once, there. Each class of a plan is on a list here or refused by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from nestling.errors import QueryError
from nestling.frontend.dataframe.aggregates import is_aggregate, sort_key
from nestling.frontend.dataframe.block import Block, Id, OutputColumn, labels_of
from nestling.frontend.dataframe.expressions import (
    PlanTranslation,
    Reach,
    condition,
    expression,
    id_of,
    listed,
    references,
    unknown,
)
from nestling.frontend.dataframe.leaves import PREFIX
from nestling.frontend.dataframe.places import place_of, refused
from nestling.frontend.dataframe.plan import Node, plan_of
from nestling.frontend.dataframe.values import values_of
from nestling.quoting import sql_name

#: The columns of a plan that something above it reads; ``None``: all.
Needed = Collection[Id] | None


def to_sql(frame: Any, tables: Mapping[str, str]) -> str:
    """What ``frame`` computes, in Spark's SQL; ``tables`` maps the marks of leaves to names."""
    zone = str(frame.sparkSession.conf.get("spark.sql.session.timeZone"))
    plan = plan_of(frame)
    block = Translation(frame, tables, zone).block(plan, None, None)
    names = [name.lower() for name in frame.columns]
    for name in frame.columns:
        if names.count(name.lower()) > 1:
            hint = "rename one of them: withColumnRenamed, alias, or drop it"
            raise QueryError(f"two columns of the DataFrame are called {name}", hint=hint)
    return block.text


class Translation:
    """One DataFrame on its way to SQL."""

    def __init__(self, frame: Any, tables: Mapping[str, str], zone: str) -> None:
        self.frame, self.tables = frame, tables
        self.run = PlanTranslation(zone, lambda plan, reach: self.block(plan, None, reach))
        self.common: dict[int, Node] = {}

    def block(self, node: Node, needed: Needed, outer: Reach | None) -> Block:
        """The SELECT of a plan, which may name the columns in reach of ``outer``."""
        if node.kind in _NO_MATTER:
            return self.block(node.children[-1], needed, outer)
        translate = _PLANS.get(node.kind)
        if translate is None:
            raise self.foreign(node) if not node.children else unknown(node)
        try:
            return translate(self, node, needed, outer)
        except QueryError as error:
            if error.at is None:
                error.located(place_of(node))
            raise

    def foreign(self, node: Node) -> QueryError:
        """The refusal of rows that are of no table."""
        return refused(
            node,
            f"the DataFrame reads rows of no table of this database ({node.kind})",
            'start from db.table("…").df(), or make a table of these rows',
        )

    def as_table(self, block: Block, needed: Needed) -> Block:
        """``block`` as a table of the next SELECT."""
        return block.named(self.run.alias(), needed)

    def open(self, block: Block, needed: Needed, used: Collection[Id]) -> Block:
        """``block`` if a condition on ``used`` can be added to it, or else a SELECT over it."""
        if block.is_open and block.is_plain(used):
            return block
        self.check_order(block)
        return self.as_table(block, needed)

    def check_order(self, block: Block) -> None:
        if block.order and not block.limit:
            hint = "order last, or take the first rows right after it: orderBy(…).limit(k)"
            raise QueryError("rows inside a view have no order: orderBy alone says nothing", hint=hint)

    # -- rows

    def alias(self, node: Node, needed: Needed, outer: Reach | None) -> Block:
        name = str(node.fields["identifier"]["name"])
        if name not in self.tables:
            if name.startswith(PREFIX):
                raise refused(
                    node, f"{name.rpartition(':')[2]} is a table of another database", "read it as rows"
                )
            return self.block(node.child, needed, outer)
        alias, output = self.run.alias(), node.jvm.output()
        attributes = [output.apply(i) for i in range(output.size())]
        columns = tuple(
            OutputColumn(int(a.exprId().id()), str(a.name()), f"{alias}.{sql_name(str(a.name()))}")
            for a in attributes
        )
        return Block(columns, f"{sql_name(self.tables[name])} AS {alias}", single=True)

    def project(self, node: Node, needed: Needed, outer: Reach | None) -> Block:
        items: list[Node] = node.fields["projectList"]
        items = [item for item in items if needed is None or id_of(item) in needed]
        used = references(*items)
        block = self.block(node.child, used, outer)
        computed = [item for item in items if item.kind != "AttributeReference" and not _is_renaming(item)]
        fits = block.is_plain(references(*computed)) and (block.groups is None or not computed)
        if not fits or block.distinct or block.body:
            self.check_order(block)
            block = self.as_table(block, used)
        reach, own = Reach(block.scope, outer), {column.id: column for column in block.columns}
        columns = tuple(self.item(item, own, reach) for item in items)
        is_same = [column.name for column in columns] == [column.name for column in block.columns]
        return replace(block, columns=columns, single=block.single and not computed and is_same)

    def item(self, node: Node, own: Mapping[Id, OutputColumn], reach: Reach) -> OutputColumn:
        """One item of a select list."""
        source = _as_it_is(node.child) if _is_renaming(node) else node
        name = str(node.fields["name"])
        if source.kind == "AttributeReference" and id_of(source) in own:
            return replace(own[id_of(source)], id=id_of(node), name=name)
        return OutputColumn(id_of(node), name, expression(node, reach, self.run), plain=False)

    def filter(self, node: Node, needed: Needed, outer: Reach | None) -> Block:
        test = node.fields["condition"]
        used = references(test)
        wanted = None if needed is None else {*needed, *used}
        block = self.open(self.block(node.child, wanted, outer), wanted, used)
        tests = [condition(part, Reach(block.scope, outer), self.run) for part in _conjuncts(test)]
        return replace(block, where=(*block.where, *tests), single=False)

    def aggregate(self, node: Node, needed: Needed, outer: Reach | None) -> Block:
        keys, items = node.fields["groupingExpressions"], node.fields["aggregateExpressions"]
        kept = [item for item in items if needed is None or id_of(item) in needed] or items[:1]
        used = references(*keys, *kept)
        block = self.open(self.block(node.child, used, outer), used, used)
        reach = Reach(block.scope, outer)
        if not keys and not any(map(is_aggregate, kept)):
            raise refused(node, "this groups without a key and without an aggregate", "add F.count('*')")
        columns = tuple(
            OutputColumn(
                id_of(item), str(item.fields["name"]), expression(item, reach, self.run), plain=False
            )
            for item in kept
        )
        groups = tuple(dict.fromkeys(expression(key, reach, self.run) for key in keys))
        return replace(block, columns=columns, groups=groups, single=False)

    def join(self, node: Node, needed: Needed, outer: Reach | None) -> Block:
        kind = str(node.fields["joinType"].get("object", "")).rpartition(".")[2].rstrip("$")
        if kind not in _JOINS:
            raise refused(
                node, f"{kind or 'this'} join is not supported", "use inner, left, right, full, semi, anti"
            )
        test = node.fields.get("condition")
        used = references(test) if isinstance(test, Node) else set()
        wanted = None if needed is None else {*needed, *used}
        left, right = (self.block(child, wanted, outer) for child in node.children)
        keeps_left = kind not in ("RightOuter", "FullOuter")
        if not (left.is_open and left.is_plain()) or (left.where and not keeps_left):
            self.check_order(left)
            left = self.as_table(left, wanted)
        if not (right.single and right.is_plain()):
            self.check_order(right)
            right = self.as_table(right, wanted)
        reach = Reach({**left.scope, **right.scope}, outer)
        on = expression(test, reach, self.run) if isinstance(test, Node) else ""
        word = _JOINS[kind] if on or kind not in ("Inner", "Cross") else "CROSS JOIN"
        text = f"{left.source}\n  {word} {right.source}"
        if word != "CROSS JOIN":
            text += f" ON {on or 'TRUE'}"
        columns = left.columns if kind in ("LeftSemi", "LeftAnti") else (*left.columns, *right.columns)
        return replace(left, columns=columns, source=text, single=False)

    def lateral(self, node: Node, needed: Needed, outer: Reach | None) -> Block:
        if "Inner" not in str(node.fields["joinType"]) and "Cross" not in str(node.fields["joinType"]):
            raise refused(node, "an outer lateral join is not supported", "join a grouped DataFrame")
        query, test = node.fields["right"], node.fields.get("condition")
        used = references(query, *([test] if isinstance(test, Node) else []))
        wanted = None if needed is None else {*needed, *used}
        left = self.block(node.child, wanted, outer)
        if not (left.is_open and left.is_plain()):
            left = self.as_table(left, wanted)
        inner = self.block(query.fields["plan"], None, Reach(left.scope, outer))
        right = self.as_table(inner, None)
        block = replace(
            left,
            columns=(*left.columns, *right.columns),
            source=f"{left.source}, LATERAL {right.source}",
            single=False,
        )
        if isinstance(test, Node):
            block = replace(block, where=(*block.where, condition(test, Reach(block.scope, outer), self.run)))
        return block

    def generate(self, node: Node, needed: Needed, outer: Reach | None) -> Block:
        generator, output = node.fields["generator"], node.fields["generatorOutput"]
        name = _GENERATORS.get(generator.kind)
        if name is None:
            raise unknown(generator)
        used = references(generator)
        wanted = None if needed is None else {*needed, *used}
        block = self.block(node.child, wanted, outer)
        # A condition before the rows are made is asked after it, unless the array itself might have no value.
        if not (block.is_open and block.is_plain()) or (
            block.where and generator.child.kind != "AttributeReference"
        ):
            self.check_order(block)
            block = self.as_table(block, wanted)
        array = listed(generator.children, Reach(block.scope, outer), self.run)
        alias, labels = self.run.alias(), labels_of(str(column.fields["name"]) for column in output)
        word = "LATERAL VIEW OUTER" if node.fields["outer"] else "LATERAL VIEW"
        names = ", ".join(map(sql_name, labels))
        made = tuple(
            OutputColumn(id_of(column), str(column.fields["name"]), f"{alias}.{sql_name(label)}")
            for column, label in zip(output, labels, strict=True)
        )
        text = f"{block.source}\n  {word} {name}({array}) {alias} AS {names}"
        return replace(block, columns=(*block.columns, *made), source=text, single=False)

    def window(self, node: Node, needed: Needed, outer: Reach | None) -> Block:
        items = node.fields["windowExpressions"]
        used = references(*items)
        wanted = None if needed is None else {*needed, *used}
        block = self.block(node.child, wanted, outer)
        if not (block.takes_windows and block.is_plain(used)):
            self.check_order(block)
            block = self.as_table(block, wanted)
        reach = Reach(block.scope, outer)
        made = tuple(
            OutputColumn(
                id_of(item), str(item.fields["name"]), expression(item, reach, self.run), plain=False
            )
            for item in items
        )
        return replace(block, columns=(*block.columns, *made), windows=True, single=False)

    # -- sets of rows

    def distinct(self, node: Node, needed: Needed, outer: Reach | None) -> Block:
        block = self.block(node.child, None, outer)
        if node.kind == "Deduplicate" and {column.id for column in block.columns} - references(
            *node.fields["keys"]
        ):
            raise unknown(node)
        if block.distinct or block.body or block.limit or block.order or block.windows:
            self.check_order(block)
            block = self.as_table(block, None)
        return replace(block, distinct=True, single=False)

    def set_operation(self, node: Node, needed: Needed, outer: Reach | None) -> Block:
        word = _SETS[node.kind] + " ALL" * bool(node.fields.get("isAll", node.kind == "Union"))
        parts = [self.block(child, None, outer) for child in node.children]
        for part in parts:
            self.check_order(part)
        return self.united(parts, word)

    def united(self, parts: list[Block], word: str) -> Block:
        columns = tuple(
            replace(column, name=label)
            for column, label in zip(
                parts[0].columns, labels_of(c.name for c in parts[0].columns), strict=True
            )
        )
        return Block(columns, body=f"\n{word}\n".join(f"({part.text})" for part in parts))

    def expand(self, node: Node, needed: Needed, outer: Reach | None) -> Block:
        """Each row once for every projection: what ROLLUP and CUBE group, and what unpivots."""
        output, projections = node.fields["output"], node.fields["projections"]
        places = [i for i, column in enumerate(output) if needed is None or id_of(column) in needed]
        used = references(*(projection[i] for projection in projections for i in places))
        block = self.block(node.child, used, outer)
        if not (block.is_open and block.is_plain(used)):
            self.check_order(block)
            block = self.as_table(block, used)
        reach = Reach(block.scope, outer)
        parts = []
        for projection in projections:
            columns = tuple(
                OutputColumn(
                    id_of(output[i]),
                    str(output[i].fields["name"]),
                    expression(projection[i], reach, self.run),
                    False,
                )
                for i in places
            )
            parts.append(replace(block, columns=columns, single=False))
        return self.united(parts, "UNION ALL")

    # -- the first rows

    def sort(self, node: Node, needed: Needed, outer: Reach | None) -> Block:
        if not node.fields["global"]:
            return self.block(node.child, needed, outer)
        keys = node.fields["order"]
        used = references(*keys)
        wanted = None if needed is None else {*needed, *used}
        block = self.open(self.block(node.child, wanted, outer), wanted, used)
        reach = Reach(block.scope, outer)
        return replace(block, order=tuple(sort_key(key, reach, self.run) for key in keys), single=False)

    def limit(self, node: Node, needed: Needed, outer: Reach | None) -> Block:
        block = self.block(node.child, needed, outer)
        if not block.order:
            raise refused(node, "limit alone takes any rows", "say which: orderBy(…).limit(k)")
        if block.limit:
            raise refused(node, "a limit of a limit is not supported", "take the lesser")
        limit = node.fields["limitExpr"]
        return replace(block, limit=expression(limit, Reach({}), self.run))

    # -- queries with a name

    def with_common(self, node: Node, needed: Needed, outer: Reach | None) -> Block:
        *definitions, plan = node.children
        self.common |= {int(part.fields["id"]): part for part in definitions}
        return self.block(plan, needed, outer)

    def common_query(self, node: Node, needed: Needed, outer: Reach | None) -> Block:
        definition = self.common.get(int(node.fields["cteId"]))
        if definition is None or node.fields.get("recursive"):
            raise refused(
                node, "a recursive query is not supported", "write the steps out as views over views"
            )
        block = self.block(definition.child, None, None)
        pairs = zip(block.columns, node.fields["output"], strict=True)
        return replace(block, columns=tuple(replace(column, id=id_of(own)) for column, own in pairs))

    def one_row(self, node: Node, needed: Needed, outer: Reach | None) -> Block:
        return Block(())

    def constants(self, node: Node, needed: Needed, outer: Reach | None) -> Block:
        return values_of(node, self.frame, self.run)


def _is_renaming(node: Node) -> bool:
    return node.kind == "Alias" and _as_it_is(node.child).kind == "AttributeReference"


def _as_it_is(node: Node) -> Node:
    """``node`` without a cast to its own type, which Spark puts around each column of a view that it keeps as text."""
    if node.kind == "Cast" and node.fields["dataType"] == node.child.fields.get("dataType"):
        return node.child
    return node


def _conjuncts(node: Node) -> list[Node]:
    return [*_conjuncts(node.children[0]), *_conjuncts(node.children[1])] if node.kind == "And" else [node]


_JOINS = {
    "Inner": "JOIN", "Cross": "CROSS JOIN", "LeftOuter": "LEFT JOIN", "RightOuter": "RIGHT JOIN",
    "FullOuter": "FULL JOIN", "LeftSemi": "LEFT SEMI JOIN", "LeftAnti": "LEFT ANTI JOIN",
}  # fmt: skip
_SETS = {"Union": "UNION", "Except": "EXCEPT", "Intersect": "INTERSECT"}
_GENERATORS = {"Explode": "explode", "Inline": "inline", "PosExplode": "posexplode"}
#: What says how to compute and not what.
_NO_MATTER = (
    "View", "ResolvedHint", "Repartition", "RepartitionByExpression", "RebalancePartitions", "LocalLimit",
)  # fmt: skip
_PLANS: dict[str, Callable[[Translation, Node, Needed, Reach | None], Block]] = {
    "Aggregate": Translation.aggregate,
    "CTERelationRef": Translation.common_query,
    "Deduplicate": Translation.distinct,
    "Distinct": Translation.distinct,
    "Except": Translation.set_operation,
    "Expand": Translation.expand,
    "Filter": Translation.filter,
    "Generate": Translation.generate,
    "GlobalLimit": Translation.limit,
    "Intersect": Translation.set_operation,
    "Join": Translation.join,
    "LateralJoin": Translation.lateral,
    "LocalRelation": Translation.constants,
    "OneRowRelation": Translation.one_row,
    "OneRowRelation$": Translation.one_row,
    "Project": Translation.project,
    "Sort": Translation.sort,
    "SubqueryAlias": Translation.alias,
    "Union": Translation.set_operation,
    "Window": Translation.window,
    "WithCTE": Translation.with_common,
}
