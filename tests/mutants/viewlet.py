"""Mutants of the way from flat queries to trigger programs."""

from tests.engines import test_batches, test_defer, test_fill, test_program_laws, test_storing
from tests.engines.worlds import KEYED, KEYLESS
from tests.frontends.sql import test_classes
from tests.mutants.lowering import queries
from tests.mutants.mutant import Mutant, any_of, example, law, spec

JOINS = law(test_program_laws.test_every_map_of_a_join_equals_its_query, world=KEYLESS)
PARENT = example(test_program_laws.test_a_parent_that_is_looked_for_by_a_value_is_not_implied)
FILLED = law(test_fill.test_filled_maps_equal_their_definitions, world=KEYLESS)
LABELS = law(test_program_laws.test_labels_defined_are_those_in_use, world=KEYED)
TINY = any_of("test_classes::agrees", test_classes.agrees, 20)

MUTANTS = [
    Mutant(
        "a row differs from itself",
        "transform/viewlet/specialise", "_One.statement",
        "if verdict is False:", "if verdict is None and False:",
        example(test_batches.test_what_a_row_cannot_be_is_left_out), quick=True,
    ),
    Mutant(
        "one atom changes at a time",
        "transform/viewlet/deltas", "subsets",
        "range(1, len(items) + 1)", "range(1, 2)",
        JOINS, quick=True,
    ),
    Mutant(
        "a row that stands for two atoms counts once",
        "transform/viewlet/deltas", "replaced",
        "for factor in times:", "for factor in times[:1]:",
        JOINS,
    ),
    Mutant(
        "writers come before readers",
        "transform/viewlet/schedule", "_readers_first",
        "return [statements[i] for i in sorter.static_order()]",
        "return [statements[i] for i in sorter.static_order()][::-1]",
        JOINS,
    ),
    Mutant(
        "the row is written before statements on it have run",
        "transform/viewlet/schedule", "_actions",
        "        *collected,\n", "        Write(table),\n        *collected,\n",
        JOINS,
    ),
    Mutant(
        "outer maps are passed on before inner ones",
        "transform/viewlet/schedule", "_propagations",
        "[_propagate(name, events) for name in sorter.static_order()]",
        "[_propagate(name, events) for name in [*sorter.static_order()][::-1]]",
        TINY,
    ),
    Mutant(
        "a parent that is referred to never changes",
        "transform/viewlet/references", "follows_updates",
        "return all(_changes(atom, monomial, tables) for atom in chosen)", "return False",
        queries("changing_parents"), quick=True,
    ),
    Mutant(
        "a child that comes has no parent yet",
        "transform/viewlet/references", "adds_nothing",
        "refers(child, parent, tables)", "refers(parent, child, tables)",
        example(test_program_laws.test_a_row_that_comes_meets_the_row_of_its_table_that_it_refers_to), quick=True,
    ),
    Mutant(
        "nothing of a parent is ever used",
        "transform/viewlet/references", "_is_unused",
        " and used.isdisjoint(names)", "",
        PARENT, quick=True,
    ),
    Mutant(
        "what is known of a parent is not used",
        "transform/viewlet/references", "_is_unused",
        "used = known | factor_vars", "used = factor_vars",
        PARENT, quick=True,
    ),
    Mutant(
        "what may fail waits",
        "transform/viewlet/defer", "deferred",
        " - _partial(program)", "",
        example(test_defer.test_what_may_fail_does_not_wait, text=test_defer.FAILS), quick=True,
    ),
    Mutant(
        "what an impatient view reads waits",
        "transform/viewlet/defer", "deferred",
        " - needed_at_once(program, patient)", "",
        example(test_defer.test_what_an_eager_view_needs_does_not_wait), quick=True,
    ),
    Mutant(
        "what waits is passed on to what does not",
        "transform/viewlet/defer", "deferred",
        "if name in found and target not in found}", "if False}",
        example(test_defer.test_what_is_late_is_passed_on_to_what_waits), quick=True,
    ),
    Mutant(
        "the rest of a slice is not tested",
        "transform/viewlet/slices", "_filtered",
        "checks.append(", "str(",
        spec("viewlet"),
    ),
    Mutant(
        "a label is in use while its rows do not cancel",
        "transform/viewlet/domains", "_holders",
        "if is_nonnegative(rows):", "if True:",
        example(test_storing.test_rows_that_cancel_still_hold_their_label), quick=True,
    ),
    Mutant(
        "inner bags are stored for labels that nobody holds",
        "transform/viewlet/domains", "restricted",
        "(in_use, *m.factors)", "m.factors",
        LABELS,
    ),
    Mutant(
        "filling counts every row once",
        "transform/viewlet/fill", "_pass_over",
        'times = () if table.key else (Var(compiler.fresh("n"), INT),)', "times = ()",
        FILLED,
    ),
    Mutant(
        "atoms that share an unknown variable are apart",
        "transform/viewlet/components", "components",
        "if free & (factor_vars(*group) - known)]", "if False]",
        spec("viewlet"), quick=True,
    ),
    Mutant(
        "a null is within the bounds of a range",
        "transform/viewlet/components", "_ranged",
        "if _may_be_null(column) else []", "if False else []",
        queries("joins_by_order"), quick=True,
    ),
]  # fmt: skip
