"""Mutants of the code that the embedded engine writes, and of what it looks things up in."""

from tests.engines import test_in_order, test_inequalities, test_knobs, test_program_laws, test_stores
from tests.engines.worlds import KEYED, KEYLESS
from tests.mutants.lowering import queries
from tests.mutants.mutant import Mutant, example, law
from tests.mutants.viewlet import JOINS, TINY

MAPS = law(test_program_laws.test_every_map_equals_its_query, world=KEYED)
UNDONE = law(test_program_laws.test_opposite_events_restore_everything, world=KEYLESS)
BATCHES = law(test_knobs.test_a_batch_is_the_sum_of_its_events, world=KEYLESS)
WHERE = law(test_inequalities.test_sums_where_a_test_of_other_sums_holds)
BETWEEN = law(test_in_order.test_between_is_a_scan)

MUTANTS = [
    Mutant(
        "an entry is gone with its first measure",
        "engine/local/writes", "_add_up",
        "sums[: 1 if is_positive else None]", "sums[:1]",
        queries("floats_joined_twice"),
    ),
    Mutant(
        "an index keeps parts that are empty",
        "engine/local/writes", "_forget",
        'out.line(f"del {store.index(known)}[{bound}]")', 'out.line("pass")',
        UNDONE,
    ),
    Mutant(
        "a row that goes stays in the indexes of its table",
        "engine/local/writes", "_drop_keyed",
        "        _forget(out, store, known, _known(known, columns), key)", "        pass",
        law(test_program_laws.test_every_map_of_a_join_equals_its_query, world=KEYED),
    ),
    Mutant(
        "an index has the total before",
        "engine/local/writes", "_put_number",
        "[{free}] = {total}", "[{free}] = 1",
        MAPS,
    ),
    Mutant(
        "the last of two changes collected for a key counts",
        "engine/local/writes", "collect",
        "{name}.get({whole}, 0) + {amounts[0]}", "{amounts[0]}",
        TINY,
    ),
    Mutant(
        "a self-join is changed from one side",
        "engine/local/merge", "_sum",
        'call("*", const(2), a) if a == b', "a if a == b",
        JOINS,
    ),
    Mutant(
        "statements share steps though one adds to what another reads",
        "engine/local/merge", "together",
        "if joins and (written | target).isdisjoint(read | source):", "if joins:",
        JOINS,
    ),
    Mutant(
        "what is collected twice is one change",
        "engine/local/merge", "single_changes",
        "targets.count(s.target) == 1 and ", "",
        TINY,
    ),
    Mutant(
        "a key at the turn belongs to the other side",
        "engine/python/where", "summed_where",
        'after = operator in (">", "<=")', 'after = operator in (">", "<")',
        WHERE, quick=True,
    ),
    Mutant(
        "sums that fell have only grown",
        "engine/python/where", "summed_where",
        "if inner.was_negative:", "if False:",
        WHERE, quick=True,
    ),
    Mutant(
        "both ends of a range are included",
        "engine/local/inorder", "InOrder.between",
        "if key > high or (key == high and not upper_included):", "if key > high:",
        BETWEEN, quick=True,
    ),
    Mutant(
        "a key that goes stays in the order",
        "engine/local/inorder", "InOrder.__delitem__",
        "self._order.add(key, -1)", "pass",
        BETWEEN, quick=True,
    ),
    Mutant(
        "a bound that moves passes what lay at its old place",
        "engine/ranges", "_between",
        'operator in ("<=", ">")', 'operator in ("<", ">=")',
        queries("bounds_that_move"), quick=True,
    ),
    Mutant(
        "a condition decides though its aggregate is used elsewhere",
        "engine/ranges", "_used_elsewhere",
        "return var.name in term_vars(*others, *statement.keys, *statement.amounts)", "return False",
        queries("aggregates_beside_equal_keys"),
    ),
    Mutant(
        "an aggregate binds what is bound",
        "transform/plan", "_resolved",
        "case Measure(var) | Total(var) | NewAndOld(var) if var.name in bound:",
        "case Measure(var) if var.name in bound:",
        queries("aggregates_beside_equal_keys"), quick=True,
    ),
    Mutant(
        "collected changes have plain names",
        "engine/local/writer", "FunctionWriter.scope",
        "Scope(self.taken,", "Scope([*RESERVED, *(store.python for store in self.stores.values())],",
        queries("collected_while_looped"), quick=True,
    ),
    Mutant(
        "an aggregate of one measure is a sum",
        "engine/local/loops", "read_group",
        "if is_sum else f\"read_{aggregate}([{cell}] * {len(measures)})\"", "",
        queries("impossible_joins"),
    ),
    Mutant(
        "what adds nothing has an entry",
        "engine/local/writes", "_if_any",
        "if not any(map(_is_never_zero, amounts)):", "if False:",
        example(test_stores.test_what_adds_nothing_has_no_entry), quick=True,
    ),
    Mutant(
        "NaN has a place in an order",
        "engine/local/writes", "_where_ordered",
        'type_.name == "float"', "False",
        example(test_stores.test_nan_has_no_place_in_an_order), quick=True,
    ),
    Mutant(
        "an index that was asked for is not followed",
        "engine/local/writes", "_indexes",
        "for known in sorted(store.on_demand):", "for known in ():",
        law(test_stores.test_look_ups_find_what_reading_finds),
    ),
    Mutant(
        "a part in which nothing was put stays",
        "engine/local/writes", "_leave_nothing",
        'out.line(f"del {store.slices}[{bound}]")', 'out.line("pass")',
        MAPS,
    ),
    Mutant(
        "rows that are found by their key have an index too",
        "engine/local/storage", "_is_index",
        " and not by_key", "",
        example(test_stores.test_rows_found_by_their_key_need_no_index), quick=True,
    ),
]  # fmt: skip
