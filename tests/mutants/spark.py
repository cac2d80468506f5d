"""Mutants of what Spark runs, and of what the driver does in its place."""

from functools import partial

from nestling.calculus.terms import Call, Var
from nestling.calculus.types import INT
from tests.engines.spark import test_cost, test_driver, test_filling, test_pieces, test_snapshots
from tests.engines.spark.small import maintains
from tests.mutants.mutant import Check, Mutant, any_of, example, folder, law


def on_spark(*names: str) -> Check:
    """Small programs, by Spark's queries."""
    return Check(f"small::maintains[{', '.join(names)}]", [partial(maintains, name) for name in names])


def by_driver(*names: str) -> Check:
    """The same by the driver."""
    cases = [partial(maintains, name, by_queries=False) for name in names]
    return Check(f"small::maintains[{', '.join(names)}, by the driver]", cases)


FOUND = any_of(
    "test_driver::test_entries_are_found_wherever_they_are",
    lambda number: example(
        test_driver.test_entries_are_found_wherever_they_are,
        tmp_path=folder, positions=((0,), (1,), (0, 1))[number], many=400,
    ).cases[0](),
    3,
)  # fmt: skip

MUTANTS = [
    Mutant(
        "every row is read without being summed",
        "engine/spark/linear", "is_linear",
        "counts = {count.name for count in step.counts}", "return True",
        on_spark("count", "condition", "exists"),
    ),
    Mutant(
        "all tables start in one query",
        "engine/spark/batch", "together",
        "return number\n", "pass\n",
        on_spark("other", "product"),
    ),
    Mutant(
        "a map that is passed on is not itself changed",
        "engine/spark/batch", "propagate",
        "moment.add(action.map, added_rows)", "pass",
        on_spark("condition"),
    ),
    Mutant(
        "an event says that nothing was there before",
        "engine/spark/events", "event_sql",
        "*(f\"m{i} AS o{i}\" for i, _ in measures)", "*(f\"{zero(t)} AS o{i}\" for i, t in measures)",
        on_spark("condition"),
    ),
    Mutant(
        "an aggregate that stays is an event",
        "engine/spark/events", "_groups",
        "WHERE NOT (m0 <=> m1)", "WHERE (m0 <=> m1)",
        on_spark("greatest", "least"),
    ),
    Mutant(
        "what lies at a bound is within it",
        "engine/spark/ranges", "_running",
        'entry_first = operator.endswith("=")', "entry_first = True",
        on_spark("below"),
    ),
    Mutant(
        "values that went are still the least",
        "engine/spark/aggregates", "ordered",
        'f"{aggregate}(CASE WHEN {count} > 0 THEN {value} END)"', 'f"{aggregate}({value})"',
        on_spark("least"),
    ),
    Mutant(
        "what is there no times is there once",
        "engine/spark/aggregates", "combined",
        '"distinct": f"CASE WHEN {a} > 0 ', '"distinct": f"CASE WHEN {a} >= 0 ',
        on_spark("set"),
    ),
    Mutant(
        "what comes to nothing is there",
        "engine/spark/relations", "summed",
        "WHERE {layout.there}", "WHERE true",
        on_spark("product", "exists"),
    ),
    Mutant(
        "sums here keep what comes to nothing",
        "engine/spark/totals", "totals",
        ".filter(some)", "",
        example(test_cost.test_sums_here_are_those_of_spark), quick=True,
    ),
    Mutant(
        "sums here have no end",
        "engine/spark/totals", "_exactly",
        'raise NoValue("a sum has more than 64 bits")', "pass",
        example(test_cost.test_sums_here_have_64_bits), quick=True,
    ),
    Mutant(
        "a file that is not sorted by the key is bisected",
        "engine/spark/driver/lookup", "_by",
        "        if key in wanted:\n", "        if True:\n",
        FOUND, quick=True,
    ),
    Mutant(
        "what was added since is not looked at",
        "engine/spark/driver/lookup", "_recent",
        "if not stored.recent_rows:", "if True:",
        FOUND, quick=True,
    ),
    Mutant(
        "the driver's events forget what was there",
        "engine/spark/driver/events", "event_rows",
        "old = before[key][0][width:] if key in before else nothing", "old = nothing",
        by_driver("condition"),
    ),
    Mutant(
        "the views of a state go while somebody reads it",
        "engine/spark/snapshots", "Snapshots.replace",
        "one.drop_views(state, *held, files=files)", "one.drop_views(state, files=files)",
        law(test_snapshots.test_what_somebody_holds_stays), quick=True,
    ),
    Mutant(
        "files are pruned by keys as they are declared",
        "engine/spark/chain", "Chain.pruned",
        "in self.sources.layout(source).in_order(asked)", "in sorted(asked)",
        example(test_filling.test_statements_prune_by_the_order_of_files), quick=True,
    ),
    Mutant(
        "the driver multiplies decimals",
        "engine/spark/driver/exact", "_is_alike",
        'exact = name != "*" or', "exact = True or",
        example(
            test_driver.test_what_is_sparks_alone,
            term=Call("*", (Var("d", test_driver.DECIMAL),) * 2),
        ), quick=True,
    ),
    Mutant(
        "a count that is a factor twice is one factor",
        "engine/spark/linear", "_is_factor",
        "len(own) == 1 and isinstance(own[0], Var)", "isinstance(own[0], Var) if own else False",
        example(
            test_pieces.test_rows_stay_unsummed_where_one_count_of_them_is_one_factor,
            amount=Call("*", (Var("n", INT), Var("n", INT))), is_one=False,
        ), quick=True,
    ),
    Mutant(
        "the driver sums the first measure alone",
        "engine/spark/driver/lookup", "merged",
        "tuple(map(sum, zip(before, row[width:], strict=True)))", "(before[0] + row[width], *before[1:])",
        example(test_pieces.test_rows_are_summed_measure_by_measure), quick=True,
    ),
    Mutant(
        "what is there no longer is counted as a value",
        "engine/spark/aggregates", "ordered",
        'f"count(CASE WHEN {count} > 0 THEN 1 END)"', 'f"count(CASE WHEN {count} <> 0 THEN 1 END)"',
        example(
            test_pieces.test_an_aggregate_in_order_takes_what_is_there_alone,
            aggregate="count_distinct", answer=2,
        ), quick=True,
    ),
]  # fmt: skip
