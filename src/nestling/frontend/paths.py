"""Paths through references: what ``r.a`` means where ``r`` is the key of an object, in every front end.

A type says which object its values stand for (``Identity``): a row of a table is the object itself, a reference is its
key. Law: ``r.a`` is the attribute of the one row with that key, a join.

* A kept reference that is never nil has exactly one partner: ``for c in C where c.key == r``, once per reference and
  bag, shared by all that is read after it.
* One that may be nil or dangle has at most one: ``Perhaps``, a bag of at most one element; as a scalar the greatest of
  it, null of nothing. Where what is absent ends the row anyhow (``skips_absent``), it is a join as well.
* A collection behind nil is empty. An inverse is the bag of the rows whose reference is this object, each once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from nestling.calculus.build import call, countwise, equal_terms, for_, union, where
from nestling.calculus.terms import Expr, Field, Relation, Sing, Term, Tuple, Var
from nestling.calculus.types import Bag, Identity, Record, Scalar, Type
from nestling.calculus.typing import element_type, term_type
from nestling.frontend.bindings import Bindings
from nestling.frontend.catalog import Catalog, Entry, FieldPath
from nestling.frontend.values import Many, One, Perhaps, Row, Value, default, of_term

# -- the model


def row_type(catalog: Mapping[str, Type], name: str) -> Type:
    """The type of the rows of ``name``, which says what they refer to."""
    if not isinstance(catalog, Catalog):
        return catalog[name]
    entry = catalog.entry(name)
    found = _marked(entry.element, (), lineage(catalog, name))
    if isinstance(found, Record) and entry.key:
        return replace(found, of=Identity(name, is_row=True))
    return found


def _marked(type_: Type, path: FieldPath, entries: list[Entry]) -> Type:
    links = [entry.references[path] for entry in entries if path in entry.references]
    of = Identity(links[0].table, is_kept=links[0].is_kept) if links else None
    match type_:
        case Scalar():
            return replace(type_, of=of or type_.of)
        case Record(fields):
            inner = tuple((name, _marked(field, (*path, name), entries)) for name, field in fields)
            return Record(inner, of or type_.of)
        case Bag(element):
            is_set = type_.is_set or any(path in entry.sets for entry in entries)
            return replace(type_, element=_marked(element, path, entries), is_set=is_set)
    return type_


def lineage(catalog: Mapping[str, Type], name: str) -> list[Entry]:
    """What is known of ``name`` and of the classes that it extends, from the nearest to the farthest."""
    found: list[Entry] = []
    step: str | None = name
    while step is not None and isinstance(catalog, Catalog):
        found.append(catalog.entry(step))
        step = found[-1].extends
    return found


def classes(catalog: Mapping[str, Type]) -> dict[str, str]:
    """The tables of objects, by what their class is called: like the table, or like the Python class."""
    if not isinstance(catalog, Catalog):
        return {}
    keyed = {name: catalog.entry(name) for name in catalog if catalog.key(name)}
    named = {entry.class_name: name for name, entry in keyed.items() if entry.class_name}
    return {**named, **{name: name for name in keyed}}


def ancestors(catalog: Mapping[str, Type], name: str) -> list[str]:
    """``name`` and the classes that it extends."""
    return [name, *(entry.extends for entry in lineage(catalog, name) if entry.extends is not None)]


def family(catalog: Mapping[str, Type], name: str) -> list[str]:
    """``name`` and the classes that extend it, and those that extend them."""
    below = catalog.subclasses(name) if isinstance(catalog, Catalog) else ()
    return [name, *(other for sub in below for other in family(catalog, sub))]


def common_class(catalog: Mapping[str, Type], one: str, two: str) -> str | None:
    """The nearest class that both are of, if there is one."""
    others = ancestors(catalog, two)
    return next((name for name in ancestors(catalog, one) if name in others), None)


def identity(type_: Type) -> Identity | None:
    """Which object values of ``type_`` stand for, if they do."""
    return type_.of if isinstance(type_, Scalar | Record) else None


def inverses(catalog: Mapping[str, Type], name: str) -> dict[str, tuple[str, FieldPath]]:
    """The derived collections of the objects of ``name``."""
    return {
        inverse: found
        for entry in reversed(lineage(catalog, name))
        for inverse, found in entry.inverses.items()
    }


def attributes(catalog: Mapping[str, Type], type_: Type) -> list[str]:
    """What may stand behind a dot after a value of ``type_``."""
    of = identity(type_)
    if of is not None and not of.is_row:
        return attributes(catalog, row_type(catalog, of.table))
    names = list(type_.names) if isinstance(type_, Record) else []
    return [*names, *(inverses(catalog, of.table) if of is not None else ())]


# -- tables


def relation(run: Bindings, name: str) -> Relation:
    """The table or view called ``name``, alone."""
    return Relation(name, Bag(row_type(run.catalog, name)))


def extent(run: Bindings, name: str) -> Expr:
    """The objects of a class and of those that extend it, all with the attributes of this class."""
    members = family(run.catalog, name)
    if len(members) == 1:
        return relation(run, name)
    parts = []
    for member in members:
        source = relation(run, member)
        var = Var(run.names.fresh(singular(member)), element_type(source))
        parts.append(for_(var, source, Sing(_as_class(run, var, member, name))))
    return typed(run, union(run.catalog[name], *parts), row_type(run.catalog, name))


def _as_class(run: Bindings, row: Term, of: str, wanted: str) -> Term:
    """An object of class ``of`` with the attributes of ``wanted``."""
    type_ = run.catalog[wanted]
    if of == wanted or not isinstance(type_, Record):
        return row
    return Tuple(tuple((name, Field(row, name)) for name in type_.names))


def typed(run: Bindings, expr: Expr, type_: Type) -> Expr:
    """``expr``, whose elements are of ``type_``, which says what they stand for."""
    var = Var(run.names.fresh("x"), type_)
    return for_(var, expr, Sing(var))


def singular(table: str) -> str:
    """What one row of ``table`` is called."""
    return table[:-1] if table.endswith("s") and len(table) > 2 else table


def key_of(run: Bindings, term: Term) -> Term:
    """The key of the object that ``term``, a row or a reference, stands for."""
    of = identity(term_type(term))
    assert of is not None
    return _key(run, term, of.table) if of.is_row else term


def _key(run: Bindings, row: Term, table: str) -> Term:
    assert isinstance(run.catalog, Catalog)
    names = run.catalog.key(table)
    if len(names) == 1:
        return Field(row, names[0])
    return Tuple(tuple((name, Field(row, name)) for name in names))


def reference_type(run: Bindings, table: str) -> Type:
    """The type of references to objects of ``table``."""
    row = Var("row", row_type(run.catalog, table))
    return replace(term_type(_key(run, row, table)), of=Identity(table))  # type: ignore[arg-type] # no bag is a key


def lookup(run: Bindings, table: str, key: Term) -> Expr:
    """The row of ``table``, or of a class that extends it, with this key: at most one."""
    members, parts = family(run.catalog, table), []
    for member in members:
        source = relation(run, member)
        var = Var(run.names.fresh(singular(member)), element_type(source))
        found = Sing(_as_class(run, var, member, table))
        parts.append(for_(var, source, where(equal_terms(_key(run, var, member), key), found)))
    if len(members) == 1:
        return parts[0]
    return typed(run, union(run.catalog[table], *parts), row_type(run.catalog, table))


# -- paths


def member(run: Bindings, value: Value, name: str) -> Value | None:
    """``value.name``; ``None`` where there is no such attribute."""
    match value:
        case Row(fields):
            return dict(fields).get(name)
        case Perhaps(expr) if run.skips_absent:
            return member(run, One(run.generated("x", expr)), name)
        case Perhaps(expr):
            return inside(run, expr, lambda found: member(run, found, name))
        case One(term):
            return _attribute(run, term, name)
    return None


def _attribute(run: Bindings, term: Term, name: str) -> Value | None:
    type_ = term_type(term)
    of = identity(type_)
    derived = inverses(run.catalog, of.table).get(name) if of is not None else None
    if of is not None and not of.is_row:
        if derived is not None and of.is_kept:
            return inverse(run, term, *derived)
        return member(run, object_of(run, term), name)
    if isinstance(type_, Record) and name in type_.names:
        found = of_term(Field(term, name))
        inner = dict(type_.fields)[name]
        is_set = isinstance(inner, Bag) and inner.is_set
        return replace(found, form="set") if isinstance(found, Many) and is_set else found
    return inverse(run, term, *derived) if derived is not None else None


def object_of(run: Bindings, term: Term) -> One | Perhaps:
    """The object behind a reference."""
    if term in run.joined:
        return One(run.joined[term])
    of = identity(term_type(term))
    assert of is not None
    may_be_absent = not of.is_kept or _is_nullable(term)
    if may_be_absent and not run.skips_absent:
        return Perhaps(lookup(run, of.table, term))
    if len(family(run.catalog, of.table)) == 1:
        var = run.generated(singular(of.table), relation(run, of.table))
        run.holds(equal_terms(_key(run, var, of.table), term))
    else:
        var = run.generated(singular(of.table), lookup(run, of.table, term))
    run.joined[term] = var
    return One(var)


def inside(run: Bindings, expr: Expr, read: Callable[[One], Value | None]) -> Value | None:
    """What ``read`` makes of the one element of ``expr``, where there is one: perhaps a value, or a collection."""
    found: list[Value | None] = []

    def build() -> Expr:
        run.skips_absent = True  # what is absent in here leaves nothing
        value = read(One(run.generated("x", expr)))
        found.append(value)
        match value:
            case Many(inner) | Perhaps(inner):
                return inner
            case One(term):
                return Sing(term)
        return expr

    made = run.enclosed(build)
    match found[0]:
        case Many(_, form):
            return Many(made, form)
        case One() | Perhaps():
            return Perhaps(made)
    return None


def settled(run: Bindings, value: Perhaps) -> One | None:
    """``value`` as a scalar, null where it is absent; ``None`` where it is a record, which never is."""
    if run.skips_absent:
        return One(run.generated("x", value.expr))
    type_ = element_type(value.expr)
    of = identity(type_)
    if of is not None and of.is_row:
        key = inside(run, value.expr, lambda found: One(key_of(run, found.term)))
        assert isinstance(key, Perhaps)
        value, type_ = key, reference_type(run, of.table)
    if not isinstance(type_, Scalar):
        return None
    source = solid(run, value.expr)
    var = run.known_fold("max", source) or run.folded("max", source)
    return One(replace(var, type=replace(var.type, of=type_.of)))  # type: ignore[arg-type] # of a scalar


def solid(run: Bindings, expr: Expr) -> Expr:
    """The scalars of ``expr`` that are not null."""
    type_ = element_type(expr)
    if not isinstance(type_, Scalar) or not type_.nullable:
        return expr
    var = Var(run.names.fresh("x"), type_)
    return for_(
        var, expr, where(call("not", call("is_null", var)), Sing(call("coalesce", var, default(type_))))
    )


def inverse(run: Bindings, term: Term, table: str, path: FieldPath) -> Many:
    """The objects of ``table`` whose reference at ``path`` is the object ``term``."""
    key, crossed = key_of(run, term), False

    def build() -> Expr:
        nonlocal crossed
        row = run.generated(singular(table), extent(run, table))
        step: Term = row
        for name in path:
            found = of_term(Field(step, name))
            if isinstance(found, Many):
                crossed = True
                step = run.generated(singular(name), found.expr)
            else:
                step = found.term
        run.holds(equal_terms(step, key))
        if _is_nullable(step) and _is_nullable(key):
            run.holds(call("not", call("is_null", key)))  # nil is no object, and nothing refers to it
        # Rows are met once by themselves; through a collection, once per element that refers here.
        return Sing(_key(run, row, table) if crossed else row)

    made = run.enclosed(build)
    if not crossed:
        return Many(made, "set")
    return Many(typed(run, countwise("distinct", made), reference_type(run, table)), "set")


def _is_nullable(term: Term) -> bool:
    type_ = term_type(term)
    return isinstance(type_, Scalar) and type_.nullable


def cast(run: Bindings, value: Value, table: str) -> Value | None:
    """``value`` as an object of class ``table``: perhaps it is one; ``None`` where it is no object."""
    match value:
        case Perhaps(expr):
            return inside(run, expr, lambda found: cast(run, found, table))
        case One(term):
            of = identity(term_type(term))
            if of is None:
                return None
            if table in ancestors(run.catalog, of.table):
                return value
            return Perhaps(lookup(run, table, key_of(run, term)))
    return None
