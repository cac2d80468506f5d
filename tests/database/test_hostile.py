"""Names that would do harm: refused, or right, wherever a name can stand; and what is stored comes back."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import nestling as nl
from nestling.database.names import check_name
from nestling.quoting import sql_name
from tests.hostile import BREAKING_OUT, LETTERS, NAMES, SIGNS, WORDS, nothing_gets_in


def is_accepted(name: str, first: str = "·") -> bool:
    try:
        check_name(name, "x", first)
    except nl.QueryError:
        return False
    return True


def apart(names: Any) -> list[str]:
    """Names that SQL tells apart: it does not look at case."""
    return list({name.lower(): name for name in names if is_accepted(name, "·Δ")}.values())


ACCEPTED = apart(NAMES)
#: A few for where each costs a compilation.
SOME = apart(
    [
        *BREAKING_OUT,
        *SIGNS[::5],
        *WORDS[::9],
        *LETTERS[::5],
        "${env:HOME}",
        "A0",
        "watch v0",
        "t_by_1",
        "x" * 255,
    ]
)
REFUSED = [name for name in NAMES if not is_accepted(name)]


def test_there_is_something_to_try():
    assert len(ACCEPTED) > 200
    assert len(REFUSED) > 20
    assert len(SOME) > 30


# what is refused


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_a_name_is_refused_wherever_it_stands(number):
    """with a QueryError, and nothing is left of it"""
    name = REFUSED[number]
    db = nl.Database()
    db.table("t", {"a": int, "b": list[int]})
    definitions = [
        lambda: db.table(name, {"a": int}),
        lambda: db.table("u", {name: int}),
        lambda: db.table("u", {"r": {name: int}}),
        lambda: db.table("u", f"r ARRAY<STRUCT<{sql_name(name)}: INT>>"),
        lambda: db.view(name, "SELECT a FROM t"),
        lambda: db.constraint(name, "SELECT a FROM t"),
        lambda: db.view("v", f"[{{{name!r}: x.a}} for x in t]", language="python"),
    ]
    with nothing_gets_in():
        for define in definitions:
            with pytest.raises(nl.QueryError):
                define()
    assert [*db.tables, *db.views, *db._constraints] == ["t"]


@pytest.mark.parametrize("name", ["Δt", "Δ"])
def test_a_table_is_not_called_like_a_change(name):
    with pytest.raises(nl.QueryError, match="that is for changes"):
        nl.Database().table(name, {"a": int})


def test_a_refusal_says_what_and_where():
    with pytest.raises(
        nl.QueryError, match=r"the name 'a\\nb' of a column of t contains a control character"
    ) as error:
        nl.Database().table("t", {"ok": int, "a\nb": int})
    assert "leave it out" in error.value.hint


# columns, fields, aliases: many in one database


def wide(db: Any, names: list[str]) -> Any:
    """A table of columns with these names, one a record with such fields, one a bag of such records; and views."""
    fields = dict.fromkeys(names[:12], int)
    columns: dict[str, Any] = dict.fromkeys(names, int)
    last, inner = names[-1], names[-2]
    db.table("t", columns | {last: fields, inner: list[int]}, key=names[0])
    listed = ", ".join(f"{sql_name(name)} AS {sql_name(other)}" for name, other in pairwise(names[:-1]))
    alias, first = sql_name(names[5]), sql_name(names[0])
    db.view("flat", f"SELECT {listed} FROM t AS {alias} WHERE {alias}.{first} > 0")
    db.view(
        "fields",
        f"SELECT {', '.join(f't.{sql_name(last)}.{sql_name(f)} AS {sql_name(f)}' for f in fields)} FROM t",
    )
    key, group, one, bag, element, other = (repr(names[i]) for i in (0, 1, 3, 4, 6, 7))
    grouped = f"[{{{element}: y[{group}]}} for y in t if y[{group}] == x[{group}]]"
    query = f"[{{{one}: x[{key}], {bag}: {grouped}, {other}: x[{inner!r}]}} for x in t]"
    db.view("nested", query, language="python")
    db.view(
        "sums", f"SELECT {first}, sum({sql_name(names[1])}) AS {sql_name(names[8])} FROM t GROUP BY {first}"
    )
    return db


def rows_for(names: list[str], shift: int) -> tuple[Any, ...]:
    plain = tuple(range(shift, shift + len(names) - 2))
    return (*plain, [shift, shift], tuple(range(12)))


def answers(db: Any) -> dict[str, Any]:
    return {name: view.bag() for name, view in db.views.items()}


def fill(db: Any, names: list[str]) -> None:
    db.insert(
        "t", [rows_for(names, 1), rows_for(names, 2), dict(zip(names, rows_for(names, 3), strict=True))]
    )
    db.delete("t", key=2)
    db.update("t", key=3, set={names[1]: 2})


def plain_answers(count: int) -> dict[str, Any]:
    plain = [f"c{i}" for i in range(count)]
    db = wide(nl.Database(), plain)
    fill(db, plain)
    return answers(db)


@pytest.mark.parametrize("part", range(5))
def test_columns_and_fields(part, tmp_path):
    """the answers are those with plain names; after reopening too; and what is told about them is told"""
    names = ACCEPTED[part::5]
    wanted = plain_answers(len(names))
    told: list[Any] = []
    with nothing_gets_in():
        with nl.Database(tmp_path / "x.nest") as db:
            wide(db, names)
            db.views["nested"].subscribe(lambda change: told.append(change.to_json_patch()))
            fill(db, names)
            assert answers(db) == wanted
            db.verify(maps=True)
            assert len(told) == 3
            json.dumps([told, db.stats()])
            for form in ("text", "json", "html"):
                assert db.views["nested"].explain(format=form)
        with nl.Database(tmp_path / "x.nest") as db:
            assert answers(db) == wanted
            wide(db, names)  # the same definitions again are no error
            db.verify(maps=True)


# tables, views, constraints


def test_tables_views_and_constraints():
    """one database with many such names: every view is what it says, and a constraint refuses by its name"""
    with nothing_gets_in():
        db = nl.Database()
        for number, name in enumerate(SOME[:16]):
            db.table(name, {"a": int, "b": int})
            db.view(
                f"{name[:200]} seen", f"SELECT a, sum(b) AS {sql_name(name)} FROM {sql_name(name)} GROUP BY a"
            )
            db.insert(name, [(number, 1), (number, 2)])
        for number, name in enumerate(SOME[:16]):
            assert db.views[f"{name[:200]} seen"].rows() == [(number, 3)]
        db.verify(maps=True)


@pytest.mark.parametrize("part", range(4))
def test_views(part, tmp_path):
    names = SOME[part::4]
    with nothing_gets_in():
        with nl.Database(tmp_path / "x.nest") as db:
            db.table("t", {"a": int, "b": int})
            for number, name in enumerate(names):
                if number % 4 == 3:
                    db.constraint(name, "SELECT a FROM t WHERE a < 0 AND b = 7")
                else:
                    db.view(name, nested_query(number), language="python").changes(since=0)
            db.insert("t", [(1, 5)])
            check(db, names, told=1)
        with nl.Database(tmp_path / "x.nest") as db:
            check(db, names, told=0)


def nested_query(number: int) -> str:
    return f"[(x.a, [y.b + {number} for y in t if y.a == x.a]) for x in t if x.a > 0]"


def check(db: Any, names: list[str], told: int) -> None:
    for number, name in enumerate(names):
        if number % 4 != 3:
            assert db.views[name].rows() == [(1, [5 + number])]
            assert len(db.views[name].changes()) == told
        else:
            with pytest.raises(nl.ConstraintError) as error:
                db.insert("t", [(-1, 7)])
            assert error.value.constraint in names
    db.verify(maps=True)


# texts that are data


def test_texts_are_data(tmp_path):
    """constants, keys, values and what labels are made of"""
    texts = list(NAMES)
    with nothing_gets_in():
        with nl.Database(tmp_path / "x.nest") as db:
            db.table("t", {"k": str, "g": str, "items": list[str]}, key="k")
            db.view(
                "same", lambda t: [(x.k, [y.k for y in t if y.g == x.g], x.items) for x in t], refresh="eager"
            )
            heard: list[Any] = []
            db.views["same"].subscribe(lambda change: heard.append(change.to_json_patch()))
            db.insert("t", [(text, text, [text, text]) for text in texts])
            for text in texts[::7]:
                db.table("t").at(text).items.insert([text])
            db.verify(maps=True)
            wanted = db.views["same"].bag()
        with nl.Database(tmp_path / "x.nest") as db:
            assert db.views["same"].bag() == wanted
            assert len(wanted) == len(texts)


@pytest.mark.parametrize("part", range(3))
def test_texts_are_constants(part, tmp_path):
    """also where the definition is read again"""
    texts = NAMES[part::3]
    display = ", ".join(f"x.k == {text!r}" for text in texts)
    with nothing_gets_in():
        with nl.Database(tmp_path / "x.nest") as db:
            db.table("t", {"k": str})
            db.view("v", f"[({display}, x.k) for x in t]", language="python")
            db.insert("t", [(text,) for text in texts])
        with nl.Database(tmp_path / "x.nest") as db:
            assert len(db.views["v"]) == len(texts)
            for row in db.views["v"]:
                assert [texts[i] for i, same in enumerate(row[:-1]) if same] == [row[-1]]


# files


def test_a_file_with_names_that_nobody_refused_runs_nothing(tmp_path):
    """What an older Nestling, or somebody with evil intent, wrote: a name that cannot be given is not read either."""
    names = [name for name in NAMES if name and not any("\ud800" <= sign <= "\udfff" for sign in name)][::9]
    for number, name in enumerate(names):
        path = tmp_path / f"{number}.nest"
        with pytest.MonkeyPatch.context() as patch:
            for check_ in ("check_name", "check_table_names", "check_view_names"):
                patch.setattr(f"nestling.database.database.{check_}", lambda *_: None)
            for check_ in ("check_table_names", "check_view_names"):
                patch.setattr(f"nestling.database.texts.{check_}", lambda *_: None)
            with nl.Database(path) as db:
                db.table("t", {"a": int})
                db.view(name, "SELECT a FROM t")
                db.insert("t", [(1,)])
        with nothing_gets_in():
            try:
                db = nl.Database(path)
            except nl.StoreError as error:
                assert "the name" in str(error)
                continue
            with db:
                assert db.views[name].rows() == [(1,)]
                for form in ("text", "json", "html"):
                    db.views[name].explain(format=form)


def test_names_in_a_page_are_text():
    db = nl.Database()
    name = "<script>alert(1)</script>"
    db.table(name, {"<b>": int, "'\"&": str})
    view = db.view(f"v {name}", f"SELECT `<b>`, `'\"&` AS `{name}` FROM `{name}` WHERE `'\"&` = '<i>'")
    page = view.explain(format="html")

    assert page.lower().count("<script") == 0
    assert "<b>:" not in page and "'<i>'" not in page.replace("<i class", "")
    assert "&lt;script&gt;" in page


def test_no_file_is_written_beside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    test_views(0, tmp_path)

    assert sorted(path.name for path in Path(tmp_path).iterdir() if not path.name.startswith("x.nest")) == []
