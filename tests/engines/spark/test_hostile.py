"""Names that would do harm on Spark: refused, or right; in tables, columns, fields, views, feeds, frames and streams.

Many names are in one database, since each costs a query and a folder.
"""

from typing import Any

import pytest

import nestling as nl
from nestling.engine.spark import limits
from nestling.quoting import sql_name
from tests.database.test_hostile import ACCEPTED, answers, fill, plain_answers, rows_for, wide
from tests.hostile import BREAKING_OUT, nothing_gets_in

pytestmark = pytest.mark.xdist_group("spark")

#: What means something to Spark, and what a name could break out of.
FOR_SPARK = (
    "`", "``", "a`b", "'", '"', "\\", "\\u0027", "${spark.app.name}", "${env:HOME}", "${x", "$x", "--", "/*", "*/", ";",
    "; DROP TABLE t", "a.b", ".", "*", "a,b", "a b", " a", "a=b", "(", "{", "<b>", "#", ":x", "?", "%s", "[0]", "",
    "k0", "m0", "v", "n", "l", "p", "id", "c0", "f0", "o0", "copy", "element", "bag", "value", "nestling_0", "select",
    "null", "true", "_change_type2", "row", "times", "watch v", "A0", "R0", "L0", "postponed L0", "class", "\ufb01",
    "fi", "é", "e\u0301", "😀", "a\u200bb", "x" * 255,
)  # fmt: skip
NAMES = [name for name in (*(set(BREAKING_OUT) & set(ACCEPTED)), *FOR_SPARK) if name]


def test_columns_and_fields(opened):
    """as embedded, here and in DataFrames; and after reopening"""
    wanted = plain_answers(len(NAMES))
    with nothing_gets_in():
        db = wide(opened(), NAMES)
        told: list[Any] = []
        db.views["nested"].subscribe(lambda change: told.append(change.to_json_patch()))
        db.keep_changes("nested")
        fill(db, NAMES)
        assert answers(db) == wanted
        assert len(told) == 3
        looked_at(db, wanted)
        db = opened()
        assert answers(db) == wanted
        looked_at(db, wanted)
        db.verify()


def looked_at(db: Any, wanted: dict[str, Any]) -> None:
    """What DataFrames say."""
    assert db._table_df("t").columns == NAMES
    assert db.view_df("flat").columns == NAMES[1:-1]
    assert sorted(map(tuple, db.view_df("flat").collect())) == sorted(row for row in wanted["flat"])
    assert db.view_df("fields").columns == NAMES[:12]
    assert db.view_df("nested").columns == [NAMES[i] for i in (3, 4, 7)]
    assert db.view_df("nested", shredded=True).count() == 2
    feed = db.view_df("nested", changes_since=0)
    assert feed.columns[0] == NAMES[3]
    assert len(feed.collect()) == 4
    inner = db.view_df("nested", changes_since=0, path=NAMES[4])
    assert NAMES[6] in inner.columns
    assert inner.collect()
    assert db.views["nested"].explain()


def test_rows_that_come_as_frames(opened, spark, monkeypatch):
    """few and many; with the names of the columns, in the session of the user, which substitutes ${…}"""
    wanted = plain_answers(len(NAMES))
    with nothing_gets_in():
        db = wide(opened(), NAMES)
        rows = [rows_for(NAMES, i) for i in (1, 2, 3)]
        db.insert("t", rows)
        frame = db._table_df("t")
        assert frame.count() == 3
        arrow = frame.toArrow()
        db.sync("t", [])
        monkeypatch.setattr(limits, "MAX_TRANSACTION_ROWS", 0)
        db.insert("t", spark.createDataFrame(arrow, frame.schema))
        monkeypatch.undo()
        db.delete("t", key=2)
        db.update("t", key=3, set={NAMES[1]: 2})
        assert answers(db) == wanted


def test_tables_and_views(opened, spark):
    """each by its name, published, dropped, and there again"""
    names = [name for name in NAMES if not name.startswith("x" * 9) and "${" not in name][::13]
    with nothing_gets_in():
        db = opened()
        for number, name in enumerate(names):
            db.table(name, {"a": int, "b": list[int]}, key="a")
            db.insert(name, [(number, [number, 7])])
        for number, name in enumerate(names[:4]):
            text = f"SELECT a, i AS {sql_name(name)} FROM {sql_name(name)} LATERAL VIEW explode(b) x AS i"
            refresh = ("eager", "lazy", "hybrid", "eager")[number]
            db.view(f"{name} seen", text, refresh=refresh)
        db.constraint("`no` '5'", f"SELECT a FROM {sql_name(names[0])} WHERE a = 5")
        checked(db, names)
        with pytest.raises(nl.ConstraintError):
            db.insert(names[0], [(5, [])])
        published(db, spark, names)
        db = opened()
        checked(db, names)
        db.publish(f"{names[0]} seen", names[4])
        for name in names[:4]:
            db.drop(f"{name} seen")
        db.insert(names[4], [(77, [])])
        with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
            spark.table(sql_name(f"{names[0]} seen"))
    assert list(db.views) == []


def published(db: Any, spark: Any, names: list[str]) -> None:
    """In the user's session, by their names, as long as they are there."""
    with pytest.raises(nl.QueryError, match="cannot be published"):
        db.publish("${env:HOME}")
    db.publish(*names)
    for name in names:
        assert spark.table(sql_name(name)).count() == 1
    db.insert(names[-1], [(77, [])])
    assert spark.table(sql_name(names[-1])).count() == 2
    db.delete(names[-1], key=77)
    db.publish(f"{names[0]} seen")
    assert spark.table(sql_name(f"{names[0]} seen")).columns == ["a", names[0]]


def checked(db: Any, names: list[str]) -> None:
    for number, name in enumerate(names[:4]):
        seen = db.views[f"{name} seen"]
        assert sorted(seen) == sorted([(number, number), (number, 7)])
        assert db.view_df(f"{name} seen").columns == ["a", name]
    for number, name in enumerate(names):
        assert db.table(name).rows() == [(number, sorted([number, 7]))]
    db.verify()


def test_texts_are_data(opened):
    """as values, as keys, in labels, and as constants of a view"""
    from tests.hostile import NAMES as TEXTS

    texts = [text for text in TEXTS if not any("\ud800" <= sign <= "\udfff" for sign in text)][::3]
    with nothing_gets_in():
        db, other = opened(), nl.Database()
        for each in (db, other):
            each.table("t", {"k": str, "g": str, "items": list[str]}, key="k")
            each.view(
                "same", "[(x.k, [y.k for y in t if y.g == x.g], x.items) for x in t]", language="python"
            )
            shown = ", ".join(f"x.k == {text!r}" for text in texts[:40])
            each.view("which", f"[({shown}, x.k) for x in t]", language="python")
            each.insert("t", [(text, text, [text, text]) for text in texts])
            each.table("t").at(texts[0]).items.insert([texts[1]])
        assert answers(db) == answers(other)
        assert len(db.view_df("same").collect()) == len(texts)
        assert answers(opened()) == answers(other)


def test_half_a_character_is_refused(opened):
    """Spark has no such string: neither as a value nor as a constant"""
    db = opened()
    db.table("t", {"k": str, "items": list[str]}, key="k")
    for row in [("\ud800", []), ("a", ["x\udcff"])]:
        with pytest.raises(nl.ChangeError):
            db.insert("t", [row])
    with pytest.raises(nl.QueryError):
        db.view("v", "[x.k for x in t if x.k != '\\ud800']", language="python")
    assert db.table("t").rows() == []


@pytest.mark.parametrize("name", ["../x", "a/b", "..", "", "x" * 300, "a\0b", "a\nb", ".hidden", 5])
def test_a_stream_is_a_folder(opened, spark, name, tmp_path):
    db = opened()
    db.table("t", {"a": int})
    source = spark.readStream.format("rate").load().selectExpr("CAST(value AS INT) AS a")
    with pytest.raises(nl.QueryError):
        db.stream({"t": source}, name=name)
    assert not (tmp_path / "x").exists()


def test_a_stream_of_a_table_with_such_a_name(opened, spark, tmp_path):
    """few rows and many"""
    name = "${env:HOME} `x` 'y'"
    with nothing_gets_in():
        db = opened()
        db.table(name, {"`a`.b": int, "${x}": int})
        rows = spark.createDataFrame([(1, 2), (3, 4)], ["a", "b"])
        rows.write.json(str(tmp_path / "in"))
        source = (
            spark.readStream.schema("a BIGINT, b BIGINT").json(str(tmp_path / "in")).toDF("`a`.b", "${x}")
        )
        stream = db.stream({name: source}, name="s", trigger={"availableNow": True})
        stream.awaitTermination()
        assert sorted(db.table(name)) == [(1, 2), (3, 4)]
