"""PIVOT, written out: one aggregate with a FILTER for each value, by the columns that it does not mention."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from nestling.frontend.sql.context import SqlEnv, only


def pivoted(node: Any, env: SqlEnv) -> tuple[str, Any]:
    """The name and the query that ``node``, a part of FROM with a PIVOT, is short for.

    ``t PIVOT (sum(x) FOR g IN (1 AS a))`` is ``SELECT k, CASE WHEN count(*) FILTER (WHERE g <=> 1) > 0 THEN sum(x)
    FILTER (WHERE g <=> 1) END AS a FROM t GROUP BY k``: where a group has no row with the value it is null, also a
    count.
    """
    (pivot, *others) = node.args["pivots"]
    fields = pivot.args.get("fields") or []
    if others or pivot.args.get("unpivot") or len(fields) != 1 or not isinstance(fields[0], exp.In):
        raise env.error(node, "this PIVOT is not supported", "write PIVOT (sum(x) FOR column IN (1, 2))")
    by = fields[0].this
    if not isinstance(by, exp.Column):
        raise env.error(node, "PIVOT is FOR one column", "name it: FOR column IN (…)")
    only(fields[0], env, "this", "expressions", what="PIVOT")
    plain = node.copy()
    plain.set("pivots", None)
    names = env.query(exp.Select(expressions=[exp.Star()], from_=exp.From(this=plain.copy()))).names
    mentioned = {by.name.lower()}
    for part in pivot.expressions:
        mentioned |= {column.name.lower() for column in part.find_all(exp.Column)}
    keys = [
        exp.column(exp.to_identifier(name, quoted=True)) for name in names if name.lower() not in mentioned
    ]
    items = [
        *keys,
        *(
            _item(part, value, by, pivot, env)
            for value in fields[0].expressions
            for part in pivot.expressions
        ),
    ]
    found = exp.Select(expressions=items, from_=exp.From(this=plain))
    if keys:
        found.set("group", exp.Group(expressions=[key.copy() for key in keys]))
    alias = pivot.args.get("alias")
    return (alias.name if alias is not None else ""), found


def _item(part: Any, value: Any, by: Any, pivot: Any, env: SqlEnv) -> Any:
    """One aggregate for one value."""
    call, called = (part.this, part.alias) if isinstance(part, exp.Alias) else (part, "")
    if not isinstance(call, exp.Anonymous):
        raise env.error(part, "PIVOT takes aggregates", "write PIVOT (sum(x) FOR …)")
    meant = value.this if isinstance(value, exp.PivotAlias | exp.Alias) else value
    name = value.alias_or_name or str(meant.this)
    if len(pivot.expressions) > 1:
        if not called:
            raise env.error(part, "one of several aggregates of PIVOT has no name", "write sum(x) AS total")
        name = f"{name}_{called}"
    test = exp.NullSafeEQ(this=by.copy(), expression=meant.copy())
    rows = exp.Filter(
        this=exp.Anonymous(this="count", expressions=[exp.Star()]), expression=exp.Where(this=test.copy())
    )
    some = exp.GT(this=rows, expression=exp.Literal.number(0))
    found = exp.Filter(this=call.copy(), expression=exp.Where(this=test))
    case = exp.Case(ifs=[exp.If(this=some, true=found)])
    return exp.Alias(this=case, alias=exp.to_identifier(name, quoted=True))
