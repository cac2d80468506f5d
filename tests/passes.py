"""The passes that spec files may apply, by name.

A pass takes the input text of a case, the relations in force (name to type, both as written in the spec)
and the words after ``apply <name>``; it answers with the text that belongs below ``----``. A pass that is
meant to refuse its input answers with the message of the refusal.

The words are: for ``delta`` the relations that change, ``then`` between one round and the next (all that
the query reads, where there are none); for ``cost`` the mode and sizes such as ``R=5``, symbols where there
are none; for ``flags``, ``shred``, ``classify`` and ``derive`` the inner bags that deep updates reach, such
as ``R.items``; for ``shred`` also ``all``, which shreds every level; for ``plan`` and ``viewlet`` keys such as
``M:name``, and for ``viewlet`` the knob.
"""

from collections.abc import Callable, Mapping
from itertools import groupby
from typing import Any, TypeAlias

from nestling.calculus.parse import parse, parse_type
from nestling.calculus.show import show
from nestling.calculus.terms import Expr, InputChange, Relation, Var
from nestling.calculus.traverse import relations, walk
from nestling.calculus.types import LABEL, Bag, bag_levels, flat_type, show_type
from nestling.calculus.typing import check, type_of
from nestling.database.definitions import TableDef, flat_columns
from nestling.errors import QueryError
from nestling.program.show import show_program, show_query, show_statement
from nestling.program.statements import Program, TableDecl
from nestling.transform.classify import classify
from nestling.transform.complement import complement
from nestling.transform.defined import total, undefined
from nestling.transform.hoist import hoist
from nestling.transform.lower import FlatView
from nestling.transform.normalize import normalize
from nestling.transform.pipeline import EMBEDDED, Made, by_rows, compile_view, flat_form
from nestling.transform.shred import Shredded, dictionaries, shred
from nestling.transform.simplify import simplify
from nestling.transform.theory.cost import ONE, BagCost, Cost, Mode, cost, show_cost, symbolic_size, tcost
from nestling.transform.theory.degree import TOP, degree
from nestling.transform.theory.delta import delta
from nestling.transform.theory.derive import derive, show_change, show_cost_of_change
from nestling.transform.theory.flags import DeepPath, infer_flags
from nestling.transform.viewlet import compile_views
from nestling.transform.viewlet.compile import CannotCompile
from nestling.values.update import change_name

SpecPass: TypeAlias = Callable[[str, Mapping[str, str], tuple[str, ...]], str]
Words: TypeAlias = tuple[str, ...]


def read(text: str, types: Mapping[str, str]) -> Expr:
    catalog = {name: parse_type(type_) for name, type_ in types.items()}
    return parse(text, {name: type_ for name, type_ in catalog.items() if isinstance(type_, Bag)})


def on_query(answer: Callable[[Expr, Words], str]) -> SpecPass:
    """A pass over the query that the input says."""

    def apply(text: str, types: Mapping[str, str], words: Words) -> str:
        try:
            return answer(read(text, types), words)
        except QueryError as error:
            return str(error)

    return apply


def rewriting(rewrite: Callable[[Expr], Expr]) -> SpecPass:
    return on_query(lambda query, words: show(rewrite(query)))


def checked(query: Expr, words: Words) -> str:
    check(query)
    return show_type(type_of(query))


def changed(query: Expr, words: Words) -> str:
    rounds = [frozenset(group) for then, group in groupby(words, "then".__eq__) if not then]
    for order, names in enumerate(rounds or [relations(query)], start=1):
        query = delta(query, names, order)
    return show(query)


def of_degree(query: Expr, words: Words) -> str:
    found = degree(query)
    return "⊤" if found == TOP else str(found)


def costs(query: Expr, words: Words) -> str:
    mode: Mode = "sum" if "sum" in words else "sup"
    given = dict(word.split("=") for word in words if "=" in word)
    known: dict[str, Cost] = {name: BagCost(int(count), ONE) for name, count in given.items()}
    found = cost(query, {**symbols(query), **known}, mode)
    return f"{show_cost(found)}\ntime {tcost(found)}"


def symbols(query: Expr) -> dict[str, Cost]:
    found: dict[str, Cost] = {}
    for node in walk(query):
        match node:
            case Relation(name, type_):
                found[name] = symbolic_size(name, type_)
            case InputChange(name, type_, order):
                found[change_name(name, order)] = symbolic_size(change_name(name, order), type_)
    return found


def deep_paths(words: Words) -> frozenset[DeepPath]:
    paths = [tuple(word.split(".")) for word in words]
    return frozenset((name, tuple(path)) for name, *path in paths)


def flagged(query: Expr, words: Words) -> Expr:
    return infer_flags(normalize(query), deep_paths(words))


def with_flags(query: Expr, words: Words) -> str:
    query = flagged(query, words)
    types = {node.name: node.type for node in walk(query) if isinstance(node, Relation)}
    return "\n".join((show(query), *(f"{name}: {show_type(type_)}" for name, type_ in sorted(types.items()))))


def in_parts(query: Expr, words: Words) -> str:
    shredded = shred(normalize(query) if words == ("all",) else flagged(query, words))
    parts = [(".".join(path), show(dictionary)) for path, dictionary in dictionaries(shredded.context)]
    return "\n".join((show(shredded.flat), *(f"{path} ↦ {text}" for path, text in parts)))


def derived(query: Expr, words: Words) -> str:
    lines = []
    for part in derive("q", query, deep_paths(words)).parts:
        found = "⊤" if part.degree == TOP else part.degree
        lines += [f"{part.name}, degree {found}, cost {show_cost(part.cost)}", show(part.query)]
        lines += [f"its change, cost {show_cost_of_change(part)}", show_change(part)]
    return "\n".join(lines)


def every_step(query: Expr, words: Words) -> str:
    """The steps that change the term, and what each makes of it; then why there is no program, if there is none."""
    lines: list[str] = []
    last = [show(query)]

    def observe(step: str, result: Made) -> None:
        if isinstance(result, Shredded | FlatView | Program):
            return
        if (text := show(result)) != last[0]:
            lines.extend((f"{step}:", text))
            last[0] = text

    plan = by_rows(tables_of(query, words))
    found = compile_view(query, EMBEDDED, plan, plan, observe)
    guard = [f"no value: {show(found.undefined)}"] if found.may_have_no_value else []
    program = "evaluated on read" if found.program is None else f"{len(found.program.maps)} maps"
    return "\n".join((*lines, *guard, program))


def in_flat_form(query: Expr, words: Words) -> str:
    """The flat queries of a view: its rows, then what its labels stand for."""
    view = flat_form(query)
    texts = [show_query(view.rows)]
    for (site, _), definition in view.definitions.items():
        params = ", ".join(param.name for param in definition.params)
        texts.append(f"site {site} of {params or 'nothing'}: {show_query(definition.query)}")
    return "\n".join(texts)


def tables_of(query: Expr, words: Words) -> dict[str, TableDecl]:
    """The tables a query reads; a word ``R:a`` declares column ``a`` the key of R."""
    keys = dict(word.split(":") for word in words if ":" in word)
    found: dict[str, TableDecl] = {}
    for node in walk(query):
        if isinstance(node, Relation):
            element: Any = node.type.element
            key = (keys[node.name],) if node.name in keys else ()
            table = TableDef(node.name, element, key)
            if key:
                found |= table.declarations
            else:
                found[node.name] = TableDecl(node.name, flat_columns(flat_type(element), node.name))
                found |= table_levels(node.name, element)
    return found


def table_levels(name: str, element: Any) -> dict[str, TableDecl]:
    return {
        n: TableDecl(n, (Var(f"{n}.label", LABEL), *flat_columns(flat_type(level.element), n)))
        for path, level in bag_levels(element)
        for n in [".".join((name, *path))]
    }


def compiled(query: Expr, words: Words) -> str:
    """The whole trigger program of a view ``v``, or why there is none."""
    store: Any = next((word for word in words if word in ("full", "auto", "counts")), "auto")
    try:
        return show_program(
            compile_views(tables_of(query, words), {"v": flat_form(query)}, store={"v": store})
        )
    except CannotCompile as reason:
        return f"no program: {str(reason).split(':', maxsplit=1)[0]}"


def planned(query: Expr, words: Words) -> str:
    """The steps by which the rows of a view are read, in the order that ``plan`` found."""
    program = compile_views(tables_of(query, words), {"v": flat_form(query)}, store={"v": "counts"})
    statements = program.views["v"].rows.statements
    return "\n".join(show_statement(statement) for statement in statements)


PASSES: dict[str, SpecPass] = {
    "lower": on_query(in_flat_form),
    "plan": on_query(planned),
    "viewlet": on_query(compiled),
    "pipeline": on_query(every_step),
    "check": on_query(checked),
    "classify": on_query(lambda query, words: classify(flagged(query, words)).show()),
    "cost": on_query(costs),
    "degree": on_query(of_degree),
    "delta": on_query(changed),
    "derive": on_query(derived),
    "flags": on_query(with_flags),
    "normalize": rewriting(normalize),
    "hoist": rewriting(lambda query: hoist(normalize(query))),
    "complement": rewriting(lambda query: complement(normalize(query))),
    "shred": on_query(in_parts),
    "total": rewriting(total),
    "undefined": rewriting(undefined),
    "simplify": rewriting(simplify),
}
