"""One verdict for one condition, whatever the language: maintained, or refused in the same words."""

import re
from random import Random

import pytest

import nestling as nl

#: What is asked, in each language that can ask it. SQL compares no arrays.
CONDITIONS = {
    "two sets are equal": {
        "python": "[p.id for p in P if set(p.xs) == set(p.ys)]",
        "oql": "select p.id from P p where distinct(p.xs) = distinct(p.ys)",
    },
    "two sets differ": {
        "python": "[p.id for p in P if set(p.xs) != set(p.ys)]",
        "oql": "select p.id from P p where distinct(p.xs) != distinct(p.ys)",
    },
    "a set is part of another": {
        "python": "[p.id for p in P if set(p.xs) <= set(p.ys)]",
        "oql": "select p.id from P p where distinct(p.xs) <= distinct(p.ys)",
    },
    "a set is part of another, and not the whole": {
        "python": "[p.id for p in P if set(p.xs) < set(p.ys)]",
        "oql": "select p.id from P p where distinct(p.xs) < distinct(p.ys)",
    },
    "a set has another as its part": {
        "python": "[p.id for p in P if set(p.xs) >= set(p.ys)]",
        "oql": "select p.id from P p where distinct(p.xs) >= distinct(p.ys)",
    },
    "every element is in another collection": {
        "python": "[p.id for p in P if all([x in p.ys for x in p.xs])]",
        "oql": "select p.id from P p where for all x in p.xs: x in p.ys",
    },
    "the least of what differs": {
        "python": "[r.id for r in R if min([s.b for s in S if s.a != r.a]) > 3]",
        "sql": "SELECT id FROM R WHERE (SELECT min(b) FROM S WHERE S.a <> R.a) > 3",
        "oql": "select r.id from R r where min(select s.b from S s where s.a != r.a) > 3",
    },
    "the most of what differs": {
        "python": "[r.id for r in R if max([s.b for s in S if s.a != r.a]) > 3]",
        "sql": "SELECT id FROM R WHERE (SELECT max(b) FROM S WHERE S.a <> R.a) > 3",
        "oql": "select r.id from R r where max(select s.b from S s where s.a != r.a) > 3",
    },
    "some that differs": {
        "python": "[r.id for r in R if any([s.b > 3 for s in S if s.a != r.a])]",
        "sql": "SELECT id FROM R WHERE EXISTS (SELECT * FROM S WHERE S.a <> R.a AND S.b > 3)",
        "oql": "select r.id from R r where exists s in S: (s.a != r.a and s.b > 3)",
    },
    "the sum of what differs": {
        "python": "[r.id for r in R if sum([s.b for s in S if s.a != r.a]) > 3]",
        "sql": "SELECT id FROM R WHERE (SELECT sum(b) FROM S WHERE S.a <> R.a) > 3",
        "oql": "select r.id from R r where sum(select s.b from S s where s.a != r.a) > 3",
    },
    "the least of what is equal": {
        "python": "[r.id for r in R if min([s.b for s in S if s.a == r.a]) > 3]",
        "sql": "SELECT id FROM R WHERE (SELECT min(b) FROM S WHERE S.a = R.a) > 3",
        "oql": "select r.id from R r where min(select s.b from S s where s.a = r.a) > 3",
    },
}
MAINTAINED = {name for name in CONDITIONS if " set" in name} | {"the least of what is equal"}


def database() -> nl.Database:
    db = nl.Database()
    db.table("R", {"id": int, "a": int}, key="id")
    db.table("S", {"a": int, "b": int})
    db.table("P", {"id": int, "xs": [int], "ys": [int]}, key="id")
    return db


def verdict(text: str, language: str) -> str:
    """What ``strict`` says; of two collections each language may come to another first."""
    try:
        database().view("v", text, language=language, strict=True)
    except nl.QueryError as error:
        return re.sub(
            r"nothing finds the rows of .*? that", "nothing finds the rows of … that", error.hint or ""
        )
    return "maintained"


@pytest.mark.parametrize("name", CONDITIONS)
def test_every_language_has_the_same_verdict_in_the_same_words(name: str) -> None:
    found = {language: verdict(text, language) for language, text in CONDITIONS[name].items()}

    assert len(set(found.values())) == 1, found
    assert ("maintained" in found.values()) == (name in MAINTAINED)


@pytest.mark.filterwarnings("ignore::nestling.EvaluatedOnRead")
@pytest.mark.parametrize("name", CONDITIONS)
def test_every_language_has_the_same_answers(name: str) -> None:
    random = Random(name)
    db = database()
    views = [
        db.view(language, text, language=language, strict=False)
        for language, text in CONDITIONS[name].items()
    ]

    def bag() -> list[int]:
        return [random.randrange(3) for _ in range(random.randrange(4))]

    for i in range(12):
        db.insert("P", [{"id": i, "xs": bag(), "ys": bag()}])
        db.insert("R", [(i, random.randrange(3))])
        db.insert("S", [(random.randrange(3), random.randrange(6))])
        if i % 4 == 3:
            db.delete("P", [row for row in db.tables["P"].rows() if row.id == i - 2])
        answers = [sorted(row[0] if isinstance(row, tuple) else row for row in view.rows()) for view in views]
        assert all(answer == answers[0] for answer in answers)
    for view in views:
        view.verify()
