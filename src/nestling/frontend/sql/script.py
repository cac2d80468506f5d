"""Scripts: statements that define, change and ask, one after the other.

A statement is read as far as its own words go; its query is translated when its turn comes, since a statement before
it may have defined what it reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sqlglot import exp

from nestling.calculus.build import for_, union
from nestling.calculus.terms import Expr, Field, Sing, Tuple
from nestling.calculus.types import Record, Type
from nestling.calculus.typing import check, element_type
from nestling.frontend.sql.alter import AlterTable, altered
from nestling.frontend.sql.assign import check_columns, row_of_values, table_of, updated_row
from nestling.frontend.sql.bind import Params, bind
from nestling.frontend.sql.columns import same
from nestling.frontend.sql.conditions import guarded
from nestling.frontend.sql.context import QueryRows, SqlEnv, SqlTranslation, only
from nestling.frontend.sql.declare import declared
from nestling.frontend.sql.joins import columns
from nestling.frontend.sql.merge import Merged, merged
from nestling.frontend.sql.queries import of_query
from nestling.frontend.sql.tables import of_name
from nestling.frontend.sql.text import Text
from nestling.frontend.sql.translate import expression, of_tree
from nestling.frontend.values import Row, Value, of_term, singleton
from nestling.frontend.view_query import ViewQuery

Query: TypeAlias = Callable[[Mapping[str, Type]], ViewQuery]
#: A change of a table: its name as it was declared, and the rows that are concerned.
Changes: TypeAlias = Callable[[Mapping[str, Type]], tuple[str, Expr]]


@dataclass(frozen=True)
class MakeTable:
    """``CREATE TABLE``."""

    name: str
    record: Record
    key: tuple[str, ...]
    if_missing: bool


@dataclass(frozen=True)
class MakeView:
    """``CREATE [OR REPLACE] [MATERIALIZED] VIEW [IF NOT EXISTS]``; every view is materialised."""

    name: str
    query: Query
    replaces: bool = False
    if_missing: bool = False


@dataclass(frozen=True)
class InsertRows:
    """``INSERT INTO``: the rows that come."""

    rows: Changes


@dataclass(frozen=True)
class DeleteRows:
    """``DELETE FROM``: the rows that go."""

    rows: Changes


@dataclass(frozen=True)
class UpdateRows:
    """``UPDATE``: pairs of a row that goes and the row that comes for it."""

    pairs: Changes


@dataclass(frozen=True)
class MergeRows:
    """``MERGE INTO``: pairs of rows, rows that go, and rows that come."""

    changes: Callable[[Mapping[str, Type]], Merged]


@dataclass(frozen=True)
class Drop:
    """``DROP TABLE`` or ``DROP VIEW``."""

    name: str
    if_there: bool


@dataclass(frozen=True)
class Ask:
    """A query: its rows, in its order and cut after ``limit``."""

    query: Query
    limit: int | None


Statement: TypeAlias = (
    MakeTable | MakeView | AlterTable | InsertRows | DeleteRows | UpdateRows | MergeRows | Drop | Ask
)


def read(text: str, params: Params = ()) -> list[Statement]:
    """The statements of a script, with ``params`` for its marks."""
    source = Text(text)
    return [_statement(tree, source) for tree in bind(source.statements(), params, source)]


def _statement(tree: Any, source: Text) -> Statement:
    env = _env({}, source)
    match tree:
        case exp.Create():
            return _create(tree, source, env)
        case exp.Alter():
            return altered(tree, env)
        case exp.Drop():
            return _drop(tree, env)
        case exp.Insert():
            only(tree, env, "this", "expression", what="INSERT")
            return InsertRows(lambda catalog: _inserted(tree, _env(catalog, source)))
        case exp.Delete():
            only(tree, env, "this", "where", what="DELETE")
            return DeleteRows(lambda catalog: _changed(tree, _env(catalog, source)))
        case exp.Update():
            only(tree, env, "this", "where", "expressions", what="UPDATE")
            return UpdateRows(lambda catalog: _changed(tree, _env(catalog, source)))
        case exp.Merge():
            return MergeRows(lambda catalog: _merged(tree, _env(catalog, source)))
        case exp.Query() | exp.Values():
            return _ask(tree, source, env)
    raise env.error(
        tree,
        f"{tree.key.upper()} is not supported",
        "CREATE, ALTER, DROP, INSERT, UPDATE, DELETE, MERGE and SELECT are",
    )


def _env(catalog: Mapping[str, Type], source: Text) -> SqlEnv:
    return SqlEnv(SqlTranslation(catalog, source, expression, of_query))


def _create(tree: Any, source: Text, env: SqlEnv) -> Statement:
    only(tree, env, "this", "kind", "expression", "exists", "properties", "replace", what="CREATE")
    kind, query = tree.args["kind"], tree.args.get("expression")
    if kind == "TABLE" and query is None and isinstance(tree.this, exp.Schema):
        if tree.args.get("properties") is not None:
            raise env.error(
                tree, "a table has columns and a key, nothing else", "drop what stands behind them"
            )
        record, key = declared(tree.this, env)
        return MakeTable(tree.this.this.name, record, key, bool(tree.args.get("exists")))
    if kind == "VIEW" and query is not None:
        properties = tree.args.get("properties")
        for part in properties.expressions if properties is not None else ():
            if not isinstance(part, exp.MaterializedProperty):
                raise env.error(tree, "a view is a name and a query", "drop what stands between them")
        names, target = _view_columns(tree.this, env)
        replaces, if_missing = bool(tree.args.get("replace")), bool(tree.args.get("exists"))
        return MakeView(
            target,
            lambda catalog: _renamed(of_tree(query, source, catalog), names, tree, env),
            replaces,
            if_missing,
        )
    raise env.error(
        tree, f"this CREATE {kind} is not supported", "write CREATE TABLE t (…) or CREATE VIEW v AS …"
    )


def _view_columns(node: Any, env: SqlEnv) -> tuple[list[str], str]:
    """The names that a view gives its columns, if it does, and its own."""
    if not isinstance(node, exp.Schema):
        return [], node.name
    for part in node.expressions:
        if isinstance(part, exp.ColumnDef):
            only(part, env, "this", "constraints", what="a column of a view")
            for constraint in part.args.get("constraints") or ():
                if not isinstance(constraint.args.get("kind"), exp.CommentColumnConstraint):
                    raise env.error(part, "a column of a view is a name", "drop what stands behind it")
    return [part.name for part in node.expressions], node.this.name


def _renamed(found: ViewQuery, names: list[str], tree: Any, env: SqlEnv) -> ViewQuery:
    """``found`` with its columns called ``names``."""
    expr = found.expr
    type_ = element_type(expr)
    assert isinstance(type_, Record)
    if not names:
        return found
    if len(names) != len(type_.names) or len({name.lower() for name in names}) != len(names):
        raise env.error(
            tree.this, f"{len(names)} names are given to {len(type_.names)} columns", "name each once"
        )
    var = SqlTranslation({}, env.run.text, expression, of_query).var("x", expr)
    new = dict(zip(type_.names, names, strict=True))
    row = Tuple(tuple((name, Field(var, column)) for column, name in new.items()))
    orders = tuple(
        (level, tuple(key._replace(path=(new[key.path[0]], *key.path[1:])) for key in order))
        for level, order in found.orders
    )
    return ViewQuery(for_(var, expr, Sing(row)), orders, found.fixpoints)


def _drop(tree: Any, env: SqlEnv) -> Drop:
    only(tree, env, "tables", "kind", "exists", "materialized", what="DROP")
    if tree.args["kind"] not in ("TABLE", "VIEW") or len(tree.args["tables"]) != 1:
        raise env.error(tree, "this DROP is not supported", "drop one TABLE or VIEW")
    return Drop(tree.args["tables"][0].name, bool(tree.args.get("exists")))


def _ask(tree: Any, source: Text, env: SqlEnv) -> Ask:
    limit = tree.args.get("limit")
    if tree.args.get("order") is None or limit is None or tree.args.get("offset") is not None:
        return Ask(lambda catalog: of_tree(tree, source, catalog), None)
    # The rows are read once, and sorted when they are there: the first need not be found before.
    if not isinstance(limit.expression, exp.Literal) or limit.expression.is_string:
        raise env.error(limit, "LIMIT takes a number", "write LIMIT 10")
    plain = tree.copy()
    plain.set("limit", None)
    return Ask(lambda catalog: of_tree(plain, source, catalog), int(limit.expression.this))


def _inserted(tree: Any, env: SqlEnv) -> tuple[str, Expr]:
    target = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    name, record = table_of(target, env)
    wanted = (
        [part.name for part in tree.this.expressions] if isinstance(tree.this, exp.Schema) else record.names
    )
    check_columns(wanted, name, record, tree.this, env)

    def row(values: Sequence[Value], node: Any) -> Expr:
        if len(values) != len(wanted):
            raise env.error(node, f"{len(values)} values are given to {len(wanted)} columns")
        given = dict(zip((column.lower() for column in wanted), values, strict=True))
        return singleton(row_of_values(record, given, node, env), env.run.site)

    if isinstance(tree.expression, exp.Values):
        # Value by value: a string written out becomes what its column is.
        tuples = [p.expressions if isinstance(p, exp.Tuple) else [p] for p in tree.expression.expressions]

        def rows() -> Expr:
            return union(
                record, *(row([env.value(part) for part in parts], tree.expression) for parts in tuples)
            )

        return name, _checked(env.run.enclosed(rows))
    found = env.query(tree.expression)
    var = env.run.var("x", found.expr)
    own = element_type(found.expr)
    assert isinstance(own, Record)
    body = row([of_term(Field(var, field)) for field in own.names], tree.expression)
    return name, _checked(for_(var, found.expr, body))


def _merged(tree: Any, env: SqlEnv) -> Merged:
    found = merged(tree, env)
    for expr in (found.pairs, found.gone, found.come):
        check(expr)
    return found


def _changed(tree: Any, env: SqlEnv) -> tuple[str, Expr]:
    """The rows that DELETE removes, or pairs ⟨old, new⟩ of UPDATE."""
    name, record = table_of(tree.this, env)
    rows = QueryRows(of_name(tree.this, env).expr, record.names)
    var = env.run.var(tree.this.alias or name, rows.expr)
    inner = env.inside(columns(tree.this.alias or name, rows, var))
    sets = tree.expressions if isinstance(tree, exp.Update) else []

    def finish(place: SqlEnv) -> Expr:
        if isinstance(tree, exp.Delete):
            return Sing(var)
        new = updated_row(record, sets, lambda column: of_term(Field(var, column)), place)
        return singleton(Row((("old", of_term(var)), ("new", new))), env.run.site)

    for part in sets:
        if not isinstance(part, exp.EQ) or not any(same(part.this.name, c) for c in record.names):
            raise env.error(
                part, "SET gives a column of the table a value", f"{name} has {', '.join(record.names)}"
            )
    where = tree.args.get("where")
    body = env.run.enclosed(
        lambda: guarded(where.this, inner, finish) if where is not None else finish(inner)
    )
    return name, _checked(for_(var, rows.expr, body))


def _checked(expr: Expr) -> Expr:
    check(expr)
    return expr
