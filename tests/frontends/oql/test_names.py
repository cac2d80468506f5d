"""Tables and columns that are called as OQL's words, or as nothing that is a word."""

import nestling as nl
from tests.hostile import NAMES


def test_keywords_name_tables_and_columns():
    db = nl.Database()
    columns = {"order": int, "group by": str, "from": int | None, "é\"'`": str}
    db.table("select", columns, key="order", references={"from": "select"})
    db.insert("select", [(1, "a", None, "x"), (2, "b", 1, "y")])
    text = "select struct(no: s.order, by: s.from.`group by`, e: s.`é\"'```) from s in `select`"
    view = db.view("where", text, language="oql")
    assert sorted(view.rows()) == [(1, None, "x"), (2, "a", "y")]


def test_every_name_can_be_written():
    for name in NAMES:
        db = nl.Database()
        try:
            db.table(name, {"the key": int, name: int}, key="the key")
        except nl.QueryError:
            continue
        db.insert(name, [(1, 7)])
        quoted = "`" + name.replace("`", "``") + "`"
        view = db.view(f"{name[:9]} view", f"select x.{quoted} from x in {quoted}", language="oql")
        assert view.rows() == [7], name
