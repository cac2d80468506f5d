"""Mutants of transactions, policies and of what is told."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

from tests.database import (
    test_changes,
    test_elements,
    test_evolve,
    test_habits,
    test_overlay,
    test_patch,
    test_plain,
    test_references,
    test_transactions,
    test_watching,
)
from tests.engines import test_knobs
from tests.engines.worlds import KEYED
from tests.mutants.mutant import Mutant, any_of, example, fixture, law

LAZY = law(test_knobs.test_a_lazy_view_answers_as_an_eager_one, world=KEYED)
PATCHES = law(test_patch.test_old_and_change_make_new)
POSITIONS = law(test_patch.test_positions_are_those_of_a_sorted_list)


def shop() -> Iterator[Any]:
    """Customers, and orders that refer to them."""
    with TemporaryDirectory() as made:
        yield from fixture(
            test_transactions.shop, request=SimpleNamespace(param="memory"), tmp_path=Path(made)
        )()


OVERLAY = any_of(
    "test_overlay::test_a_transaction_sees_what_it_did", test_overlay.test_a_transaction_sees_what_it_did, 12
)
END = example(test_transactions.test_only_the_end_of_a_change_is_asked, shop=shop)
DB = fixture(test_changes.db)
WATCHED = fixture(test_watching.db)

MUTANTS = [
    Mutant(
        "the first rows of a transaction are not seen by what comes after them",
        "database/changing", "Changing._at_key",
        "if self.events else", "if len(self.events) > 1 else",
        OVERLAY, quick=True,
    ),
    Mutant(
        "an element that comes alone comes once",
        "database/changing", "Changing._insert_elements",
        "(label, *value), times)", "(label, *value), 1)",
        example(test_plain.test_an_element_comes_as_often_as_it_is_said), quick=True,
    ),
    Mutant(
        "a lazy view that is restored has seen twice what is pending",
        "database/lazy", "LazyView.restore",
        "seen[table].get(row, 0) - times", "seen[table].get(row, 0) + times",
        LAZY,
    ),
    Mutant(
        "what came and went between two reads is run",
        "database/lazy", "LazyView.note",
        "if total:", "if True:",
        example(test_knobs.test_what_comes_and_goes_between_two_reads_is_not_run), quick=True,
    ),
    Mutant(
        "a row that takes the place of one with its key is no update",
        "engine/runs", "_change",
        "if not key or not come or not gone:", "if True:",
        example(test_overlay.test_a_row_that_is_replaced_while_a_lazy_view_waits), quick=True,
    ),
    Mutant(
        "a lazy view reads no inner bags",
        "database/lazy", "LazyView.__init__",
        "self.reads = read.union(below)", "self.reads = read",
        example(test_overlay.test_a_lazy_view_follows_inner_bags_that_no_query_mentions), quick=True,
    ),
    Mutant(
        "a parent with one child may go",
        "database/references", "_Following.check_refused",
        "self._now(site, key) > 0:", "self._now(site, key) > 1:",
        END, quick=True,
    ),
    Mutant(
        "children that came since are not counted",
        "database/references", "References.follow",
        "_add(index, site, events)", "pass",
        example(test_overlay.test_children_that_came_since_are_counted), quick=True,
    ),
    Mutant(
        "a parent that is replaced is gone",
        "database/references", "_gone",
        "if change.stored.by_key(event.table, key) is None:", "if True:",
        example(test_references.test_a_row_that_is_replaced_stays_where_it_is), quick=True,
    ),
    Mutant(
        "an object that goes to another class is gone",
        "database/references", "_Following._sites",
        "if not is_there(self.objects, self.change.stored, site.reference.table, key):", "if True:",
        example(test_references.test_an_object_may_change_its_class, path=None), quick=True,
    ),
    Mutant(
        "what refers to a row goes after it",
        "database/references", "_Following.arranged",
        "-self.objects.ranks[starts[start]]", "self.objects.ranks[starts[start]]",
        example(test_references.test_events_of_a_cascade_are_children_first), quick=True,
    ),
    Mutant(
        "a reference that was there already is looked for",
        "database/statements", "_new",
        "if times > 0]", "]",
        example(test_references.test_a_row_whose_parent_goes_may_change), quick=True,
    ),
    Mutant(
        "a row that went in this transaction is found by its key",
        "database/overlay", "Overlay._add",
        "row if times > 0 else None", "row",
        OVERLAY, quick=True,
    ),
    Mutant(
        "an inner bag is read without this transaction's elements",
        "database/overlay", "Overlay.under",
        "_add(rows, row, times)", "pass",
        OVERLAY, quick=True,
    ),
    Mutant(
        "what is taken back stays",
        "database/overlay", "Overlay.forget",
        "self._add(table, row, -times)", "pass",
        OVERLAY, quick=True,
    ),
    Mutant(
        "events are undone in the order they came in",
        "database/journal", "RowJournal.undo",
        "reversed(self.done)", "self.done",
        OVERLAY, quick=True,
    ),
    Mutant(
        "the last of equal elements leaves its bags behind",
        "database/changing", "Changing._delete_elements",
        "if taken == available:", "if False:",
        example(test_changes.test_the_last_of_equal_elements_takes_its_bags_along), quick=True,
    ),
    Mutant(
        "as many elements go as are asked for, however few are there",
        "database/changing", "Changing._delete_elements",
        "taken = min(times, available)", "taken = times",
        example(
            test_elements.test_what_is_refused_changes_nothing, db=fixture(test_elements.db),
            change={"orders.items": {(1, (7, 2)): -3}}, message="is not in orders.items of 1",
        ), quick=True,
    ),
    Mutant(
        "a key is free though a row of the same batch has it",
        "database/transaction", "Transaction._check_new",
        "keys.add(key)", "pass",
        example(test_changes.test_a_duplicate_key, db=DB), quick=True,
    ),
    Mutant(
        "of two rows with one key the last is taken",
        "database/changing", "Changing._upsert",
        "if key in keys:", "if False:",
        example(test_habits.test_an_upsert_names_each_key_once), quick=True,
    ),
    Mutant(
        "a view of whole rows grows with its table",
        "database/reads", "reads_around",
        "is_whole and len(place) < len(path)", "False",
        example(test_evolve.test_a_view_is_in_the_way_of_what_it_reads_alone), quick=True,
    ),
    Mutant(
        "a bag that a view goes through is not read",
        "database/reads", "reads",
        "if is_whole or len(place) >= len(path)", "if is_whole",
        example(test_evolve.test_a_view_is_in_the_way_of_what_it_reads_alone), quick=True,
    ),
    Mutant(
        "a count reads every column",
        "database/reads", "_Uses.of",
        'case Fold(_, "count", source, body)', 'case Fold(_, "no count", source, body)',
        example(test_evolve.test_a_view_is_in_the_way_of_what_it_reads_alone), quick=True,
    ),
    Mutant(
        "an element that went whole is told again inside",
        "database/watching", "Reader.inner",
        "known = prefix in told", "known = False",
        example(test_watching.test_an_order_that_leaves_is_told_whole, db=WATCHED), quick=True,
    ),
    Mutant(
        "a bag in equal rows is told once for each",
        "database/watching", "Reader.elements",
        "[(make(columns), n // copies)", "[(make(columns), n)",
        example(test_watching.test_equal_rows_share_their_change), quick=True,
    ),
    Mutant(
        "a bag as it was is there as often as all rows around it",
        "database/watching", "Reader.bag_at",
        "past // then", "past",
        PATCHES,
    ),
    Mutant(
        "an array in equal rows is patched in one",
        "database/document/model", "_Following.stay",
        "for i in range(copies)]", "for i in range(1)]",
        PATCHES,
    ),
    Mutant(
        "copies in the next block are not found",
        "database/document/positions", "Positions.find",
        "copies += self._in_next(key, b + 1)", "pass",
        POSITIONS, quick=True,
    ),
    Mutant(
        "a hybrid view that somebody watches waits",
        "transform/viewlet/defer", "needed_at_once",
        'if decl.role == "watch"', "if False",
        example(test_knobs.test_a_hybrid_view_that_is_watched_does_not_wait), quick=True,
    ),
]  # fmt: skip
