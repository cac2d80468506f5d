"""Mutants of a database over a lake that are caught without a session: all run with every test."""

from pathlib import Path

from tests.database import test_lake_pieces as pieces
from tests.mutants.mutant import Check, Mutant, example
from tests.storage import test_stores as stores


def labels(name: str) -> Check:
    return example(pieces.test_labels_in_sql_are_those_of_rows, name=name)


TABLES = example(
    pieces.test_rows_of_no_table_are_rejected, declared=[], stored=["table T"], said="'table T' is stored"
)
WRITTEN = example(pieces.test_a_key_that_spark_writes_otherwise_makes_no_label)
WAITS = example(pieces.test_who_replaces_waits_for_readers_and_readers_for_that_alone)


FENCED = example(
    stores.test_who_opens_later_keeps_out_who_opened_before, tmp_path=Path("nowhere"), kind="memory"
)
KEPT = example(stores.test_versions_that_are_kept_are_read_as_they_were, keep=7)


def note(**given: object) -> Check:
    return example(pieces.test_a_senseless_note_is_rejected, note=dict(given))


MUTANTS = [
    Mutant(
        "whoever finds its number taken takes it for its own",
        "storage/lake/sequence", "Sequence.put",
        "if self.store.get(record_name(number)) != data:", "if False:",
        FENCED, quick=True,
    ),
    Mutant(
        "openings go with other records",
        "storage/lake/lake", "Lake._remove_records",
        'if size > _OPENING or self._log.record(n).kind != "open"', "if True",
        FENCED, quick=True,
    ),
    Mutant(
        "who has read the lake again may write to it",
        "storage/lake/sequence", "Sequence._look_for_others",
        "self._lost_to = self._lost_to or found", "pass",
        example(stores.test_who_reads_again_what_another_took_over_stays_out), quick=True,
    ),
    Mutant(
        "a listing has all there is",
        "storage/lake/sequence", "Sequence._end",
        "self.store.get(record_name(last + 1))", "raise FileNotFoundError",
        example(stores.test_what_a_listing_lacks_is_found), quick=True,
    ),
    Mutant(
        "older manifests are not kept",
        "storage/lake/lake", "Lake._switch",
        "every[first:] if after.keep else ()", "()",
        KEPT, quick=True,
    ),
    Mutant(
        "a merge begins the log anew",
        "storage/lake/lake", "Lake.exchange",
        "before.since if self.logged else self._log.last + 2", "self._log.last + 2",
        KEPT, quick=True,
    ),
    Mutant(
        "rows of a table that is not declared are taken",
        "database/spark/remembered", "check_tables",
        "sorted(tables ^ stored)", "sorted(tables - stored)",
        TABLES, quick=True,
    ),
    Mutant(
        "rows that wait for a view are those of a table",
        "database/spark/remembered", "check_tables",
        ' if name in tables or " waiting for " not in name', "",
        example(pieces.test_tables_are_declared_and_stored), quick=True,
    ),
    Mutant(
        "a view on Spark is not looked at after a change",
        "database/view_state", "Views.checked",
        " and view.guard is None", "",
        example(
            pieces.test_a_view_that_may_lack_a_value_is_looked_at_after_a_change, refresh="eager", checked=("v",)
        ),
        quick=True,
    ),
    Mutant(
        "whatever is noted of numbers is taken",
        "database/spark/remembered", "check_note",
        'and _is_number(note.get("numbers", 0))', "and True",
        note(numbers="3"), quick=True,
    ),
    Mutant(
        "true is a version",
        "database/spark/remembered", "_is_number",
        "type(found) is int", "isinstance(found, int)",
        note(version=True), quick=True,
    ),
    Mutant(
        "a feed is of any name",
        "database/spark/remembered", "read_feed",
        "name not in views or ", "",
        example(pieces.test_a_feed_is_of_a_view_that_is_maintained), quick=True,
    ),
    Mutant(
        "a lake defines a name twice",
        "database/spark/remembered", "check_new",
        "if name in there:", "if False:",
        example(pieces.test_a_definition_has_a_kind_and_a_name_of_its_own), quick=True,
    ),
    Mutant(
        "what readers read is replaced",
        "database/spark/gate", "Gate.closed",
        "self._changed.wait_for(lambda: not self._readers)", "pass",
        WAITS, quick=True,
    ),
    Mutant(
        "readers come while they may not",
        "database/spark/gate", "Gate.passing",
        "self._changed.wait_for(lambda: not self._is_closed)", "pass",
        WAITS, quick=True,
    ),
    Mutant(
        "who reads waits for who waits for it",
        "database/spark/gate", "Gate.passing",
        'getattr(self._own, "is_inside", False)', "False",
        example(pieces.test_who_reads_may_read_again_while_somebody_waits_to_replace), quick=True,
    ),
    Mutant(
        "SQL writes no null into a label",
        "database/spark/shredding", "written_value",
        "if null else text", "if False else text",
        labels("a null"), quick=True,
    ),
    Mutant(
        "a label is made of the part of a key that can be written",
        "database/spark/shredding", "by_key",
        "if texts and len(texts) == len(parts) else None", "if texts else None",
        WRITTEN, quick=True,
    ),
    Mutant(
        "a label names the row and not its bag",
        "database/spark/shredding", "flat",
        "(*path, name), f\"{at}.c{i}\"", "path, f\"{at}.c{i}\"",
        labels("an int"), quick=True,
    ),
    Mutant(
        "bags inside elements are found by the key of the row",
        "database/spark/keyed", "is_flat_by_key",
        "not any(any(bag_levels(element)) for element in elements)", "True",
        example(pieces.test_rows_are_compared_flat_where_all_labels_are_of_the_key), quick=True,
    ),
]  # fmt: skip
