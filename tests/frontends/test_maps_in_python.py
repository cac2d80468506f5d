"""Maps in comprehensions: dicts, as they are where Python makes them."""

import pytest

import nestling as nl


@pytest.fixture
def db():
    db = nl.Database()
    table = db.table("T", {"id": int, "words": dict[str, int], "bags": dict[str, list[int]]}, key="id")
    table.insert([(1, {"a": 1, "b": 2}, {"x": [1, 2]}), (2, {}, {})])
    yield db
    db.table("T").upsert([(2, {"b": 7, "c": 1}, {"x": [], "y": [5]}), (3, {"a": 4}, {})])
    db.table("T").delete(key=1)
    db.verify()


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("[(t.id, [k for k in t.words]) for t in T]", [(1, ["a", "b"]), (2, [])]),
        ("[(t.id, [k for k in t.words.keys()]) for t in T]", [(1, ["a", "b"]), (2, [])]),
        (
            "[(t.id, [(k, v + 1) for k, v in t.words.items()]) for t in T]",
            [(1, [("a", 2), ("b", 3)]), (2, [])],
        ),
        ("[(t.id, sum(t.words.values()), len(t.words)) for t in T]", [(1, 3, 2), (2, 0, 0)]),
        ("[t.id for t in T if 'b' in t.words]", [1]),
        ("[(k, v) for t in T for k, v in t.words.items() if v > 1]", [("b", 2)]),
        ("[(t.id, k, n) for t in T for k, b in t.bags.items() for n in b]", [(1, "x", 1), (1, "x", 2)]),
        (
            "[(t.id, max([v for k, v in t.words.items() if k == 'b'], default=None)) for t in T]",
            [(1, 2), (2, None)],
        ),
        ("[(t.id, t.words) for t in T]", [(1, {"a": 1, "b": 2}), (2, {})]),
    ],
)
def test_a_map_is_a_dict(db, text, rows):
    assert sorted(db.view("v", text, language="python")) == rows


@pytest.mark.parametrize("text", ["t.words['b']", "t.words.get('b')"])
def test_a_value_that_may_be_missing_says_how(db, text):
    with pytest.raises(nl.QueryError, match=r"max\(\[v for k, v in d\.items\(\) if k == …\], default=None\)"):
        db.view("v", f"[(t.id, {text}) for t in T]", language="python")
