"""Files of every format that was ever written open, hold what they held, and go on."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import nestling as nl

FIXTURES = Path(__file__).parent.parent / "storage" / "fixtures"
#: ``format-1``: written by commit a8f8716, with all kinds of columns and views, a log, and changes that wait.
FILES = sorted(file.stem for file in FIXTURES.glob("*.nest"))


def plain(value: Any) -> Any:
    """As JSON has it, bags in order."""
    if isinstance(value, list):
        return sorted((plain(each) for each in value), key=repr)
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    exact = type(value) in (bool, int, str, type(None)) and value != 10**400
    return value if exact else repr(value)


def held(db: nl.Database) -> dict[str, Any]:
    return {
        "tables": {name: plain(table.rows()) for name, table in db.tables.items()},
        "views": {name: plain(view.rows()) for name, view in db.views.items()},
        "version": db.version,
        "constraints": sorted(db._constraints),
    }


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_every_format(tmp_path, name):
    path = tmp_path / "old.nest"
    shutil.copy(FIXTURES / f"{name}.nest", path)
    wanted = json.loads((FIXTURES / f"{name}.json").read_text(encoding="utf-8"))
    with nl.Database(path) as db:
        assert held(db) == wanted
        db.verify(maps=True)
        with pytest.raises(nl.ConstraintError):
            db.insert("orders", [(77, "ann", [], -1)])
        db.insert("notes", [("new", ["n"], [[8], []])])
        db.table("orders").at(1).lines.insert([(5, 5, ["new"])])
        db.verify(maps=True)
        now = held(db)
    with nl.Database(path) as db:
        assert held(db) == now
        db.drop("late")  # writes a snapshot in the format of today
        now["views"].pop("late")
    with nl.Database(path) as db:
        assert held(db) == now
        db.verify(maps=True)


def test_there_are_files_to_open():
    assert FILES


#: ``dangling-1``: written by commit a8f8716, which let a customer go whose orders stayed.
DANGLING = FIXTURES / "dangling-1.sqlite"


def test_references_that_lead_nowhere_are_told_and_not_relied_on(tmp_path):
    path = tmp_path / "old.nest"
    shutil.copy(DANGLING, path)
    with pytest.warns(nl.DanglingReference, match=r"customer of orders leads nowhere in some rows .*: 1 is"):
        db = nl.Database(path)
    with db:
        assert db.views["known"].rows() == [(12, 9)]
        assert db.views["total"].rows() == [(9,)]
        db.verify(maps=True)
        db.insert("orders", [(13, 2, 1)])
        late = db.view(
            "late", lambda orders, customers: [o.no for o in orders for c in customers if c.id == o.customer]
        )
        assert sorted(late.rows()) == [12, 13]
        db.verify(maps=True)
        # A row that comes under the key that was missing has children at once.
        db.insert("customers", [(1, "Eve")])
        assert sorted(db.views["known"].rows()) == [(10, 5), (11, 7), (12, 9), (13, 1)]
        db.verify(maps=True)
        with pytest.raises(nl.ChangeError):
            db.delete("customers", [(1, "Eve")])
    with nl.Database(path) as db:  # it is mended, and no one warns
        assert db._state.declarations()["orders"].references
        assert sorted(db.views["names"].rows()) == [(10, "Eve"), (11, "Eve"), (12, "Bo"), (13, "Bo")]
        db.verify(maps=True)


def test_rows_that_lead_nowhere_can_be_deleted(tmp_path):
    path = tmp_path / "old.nest"
    shutil.copy(DANGLING, path)
    with pytest.warns(nl.DanglingReference):
        db = nl.Database(path)
    with db:
        assert not db._state.declarations()["orders"].references
        db.delete("orders", where=lambda o: o.customer == 1)
        db.verify(maps=True)
    with nl.Database(path) as db:
        assert db._state.declarations()["orders"].references
        assert db.views["known"].rows() == [(12, 9)]
