"""Schemas that people have already: typed dicts, models, enumerations, literals, identifiers."""
# ruff: noqa: UP007, UP045 (the spellings that people have are what is tried)

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum, IntEnum, StrEnum
from typing import Annotated, Any, Literal, NotRequired, Optional, Required, TypedDict, Union
from uuid import UUID
from zoneinfo import ZoneInfo

import pandas as pd
import pydantic
import pytest

import nestling as nl
from nestling.calculus.types import show_type
from nestling.frontend.schema import record_type


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Size(IntEnum):
    SMALL = 1
    LARGE = 2


class Mood(StrEnum):
    GLAD = "glad"


class Line(TypedDict):
    pid: int
    note: NotRequired[str]


class Order(TypedDict):
    id: UUID
    state: Literal["open", "paid"]
    color: Color
    lines: list[Line]
    size: Size | None


class Loose(TypedDict, total=False):
    id: int
    name: str


class Marked(TypedDict, total=False):
    a: Required[int]
    b: Annotated[NotRequired[str], "told"]
    c: NotRequired[nl.List[int]]
    d: Annotated[Required[float], "told"]


class Told(TypedDict):
    a: "Required[int]"
    b: "NotRequired[str]"


class Tag(pydantic.BaseModel):
    name: str
    weight: Annotated[float, pydantic.Field(ge=0)] = 1.0


class Article(pydantic.BaseModel):
    id: int
    title: str = ""
    mood: Mood = Mood.GLAD
    lang: Literal["de", "en"] | None = None
    tags: list[Tag] = []
    marks: set[int] = set()
    first: Tag = Tag(name="none")


@dataclass
class Opted:
    a: Optional[int]
    b: Union[str, None]
    c: "float | None"
    d: list[Optional[int]]
    e: list["Inner"]


@dataclass
class Inner:
    x: bool | None


SCHEMAS: dict[str, tuple[Any, str]] = {
    "a typed dict": (
        Order,
        "⟨id: str, state: str, color: str, lines: Bag(⟨pid: int, note: str?⟩), size: int?⟩",
    ),
    "not total": (Loose, "⟨id: int?, name: str?⟩"),
    "not total, marked": (
        Marked,
        "⟨a: int, b: str?, c: ⟨·there: bool, ·items: Bag(⟨·at: int, ·item: int⟩)⟩, d: float⟩",
    ),
    "marked in texts": (Told, "⟨a: int, b: str?⟩"),
    "a model": (
        Article,
        "⟨id: int, title: str, mood: str, lang: str?, tags: Bag(⟨name: str, weight: float⟩), marks: Bag(int),"
        " first: ⟨name: str, weight: float⟩⟩",
    ),
    "optional everywhere": (
        Opted,
        "⟨a: int?, b: str?, c: float?, d: Bag(int?), e: Bag(⟨x: bool?⟩)⟩",
    ),
    "in a dict": (
        {
            "a": Literal[1, None],
            "b": Annotated[int, "years"],
            "c": [Color],
            "d": Literal[Color.RED],
            "e": UUID | None,
        },
        "⟨a: int?, b: int, c: Bag(str), d: str, e: str?⟩",
    ),
}


@pytest.mark.parametrize(("schema", "shown"), SCHEMAS.values(), ids=SCHEMAS)
def test_a_schema_has_its_record(schema, shown):
    assert show_type(record_type(schema)) == shown


def test_rows_of_a_typed_dict():
    db = nl.Database()
    orders = db.table("orders", Order, key="id")
    number = UUID("12345678-1234-5678-1234-567812345678")
    row: Order = {
        "id": number,
        "state": "open",
        "color": Color.RED,
        "lines": [{"pid": 1}],
        "size": Size.LARGE,
    }
    orders.insert([row])

    assert orders.rows() == [(str(number), "open", "red", [(1, None)], 2)]
    assert orders[number] == orders[str(number)]
    assert orders[number].color == "red"
    orders.update(key=number, set={"color": Color.BLUE, "size": None})
    assert db.sql("SELECT color FROM orders WHERE id = ? AND color = ?", [number, Color.BLUE]) == [("blue",)]
    assert type(orders[number].color) is str


def test_rows_are_models():
    db = nl.Database()
    articles = db.table("articles", Article, key="id")
    view = db.view("tagged", "[(t.name, a.id) for a in articles for t in a.tags]", language="python")
    articles.insert([Article(id=1, tags=[Tag(name="x"), Tag(name="y", weight=2)], marks={3})])
    articles.upsert([Article(id=1, title="new", tags=[Tag(name="x")]), Article(id=2, lang="de")])

    assert sorted(view) == [("x", 1)]
    assert articles[1] == (1, "new", "glad", None, [("x", 1.0)], [], ("none", 1.0))
    assert Article.model_validate(articles[2]._asdict() | {"first": articles[2].first._asdict()}).lang == "de"
    with pytest.raises(nl.ChangeError, match="is a set"):
        articles.at(1).marks.insert([5, 5])


def test_an_enumeration_is_a_constant_of_a_view():
    db = nl.Database()
    things = db.table("things", {"name": str, "color": Color})
    red = db.view("red", lambda things: [t.name for t in things if t.color == Color.RED.value])
    things.insert([("a", Color.RED), ("b", "blue")])
    assert red.rows() == ["a"]


class Mixed(Enum):
    ONE = 1
    TWO = "two"


class Odd(Enum):
    ONE = (1, 2)


REFUSED: dict[str, tuple[Any, str]] = {
    "a mixed enumeration": ({"a": Mixed}, "have no one type"),
    "an odd enumeration": ({"a": Odd}, "have no one type"),
    "a mixed literal": ({"a": Literal[1, "a"]}, "have no one type"),
    "no value": ({"a": Literal[None]}, "have no one type"),
    "an optional set": ({"a": Optional[set[int]]}, "holds sets or references, and is never None"),
    "a moment with a zone": ({"a": pydantic.AwareDatetime}, "cannot have the type AwareDatetime"),
    "a class without fields": ({"a": object}, "cannot have the type object"),
}


@pytest.mark.parametrize(("schema", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_schema_is_refused(schema, message):
    with pytest.raises(nl.QueryError, match=message) as error:
        record_type(schema)
    assert "\nhint: " in str(error.value)


def test_a_moment_with_a_zone_is_the_same_one_in_utc():
    db = nl.Database()
    in_rome = datetime(2024, 7, 1, 14, tzinfo=ZoneInfo("Europe/Rome"))
    noon = datetime(2024, 7, 1, 12)
    seen = db.table("seen", {"at": datetime, "more": list[datetime]}, key="at")
    views = [
        db.view("after", lambda seen: [s.at for s in seen if s.at >= in_rome]),
        db.view("in_sql", "SELECT at FROM seen WHERE at >= TIMESTAMP '2024-07-01 14:00:00+02:00'"),
        db.view("text", "SELECT at FROM seen WHERE at >= '2024-07-01T12:00:00Z'"),
        db.view("in_oql", "select s.at from s in seen where s.at >= timestamp '2024-07-01 14:00:00+02:00'",
                language="oql"),
    ]  # fmt: skip
    seen.insert([(in_rome, [in_rome, noon]), (pd.Timestamp("2024-07-01 13:59", tz="Europe/Rome"), [])])
    assert sorted(seen) == [(datetime(2024, 7, 1, 11, 59), []), (noon, [noon, noon])]
    assert [view.rows() for view in views] == [[noon], [(noon,)], [(noon,)], [noon]]
    assert seen[in_rome].at == seen[noon].at == noon
    assert in_rome in seen
    assert db.sql("SELECT at FROM seen WHERE at = ?", [in_rome]) == [(noon,)]
    assert db.sql("SELECT CAST(x AS TIMESTAMP) AS x FROM (SELECT '2024-07-01T10:30:00-01:30' AS x)") == [
        (noon,)
    ]
    seen.upsert([(noon.replace(tzinfo=UTC), [])])
    seen.delete(key=in_rome)
    seen.sync([(in_rome, [])])
    assert seen.rows() == [(noon, [])]
    with pytest.raises(nl.ChangeError, match="already has a row with key"):
        seen.insert([(noon, [])])
    db.verify()


def test_another_nullability_is_told():
    db = nl.Database()
    db.table("u", "a INT, b INT NULL")
    with pytest.raises(nl.QueryError, match="a is never NULL there: a DDL string and Python take"):
        db.sql("CREATE TABLE u (a INT, b INT)")
    with pytest.raises(nl.ChangeError, match="in a DDL string with NULL behind its type"):
        db.insert("u", [(None, None)])
    db.table("u").widen_column("a", int | None)
    db.sql("CREATE TABLE IF NOT EXISTS u (a INT, b INT)")
    db.sql("CREATE TABLE t (a INT, b INT NOT NULL)")
    with pytest.raises(nl.QueryError, match="a may be NULL there: CREATE TABLE takes a column to be so"):
        db.table("t", "a INT, b INT")
    db.table("t", "a INT NULL, b INT")
