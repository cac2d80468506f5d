"""P1, P2, P6: random models whose references are kept, what follows deletions among it, on both engines."""

# mypy: allow-untyped-defs, allow-untyped-calls

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nestling as nl
from tests.draws import draws
from tests.frontends.oql.stories import Story, declare, is_told, stories
from tests.frontends.oql.worlds import WAYS


@given(data=st.data())
def test_views_follow_what_follows(data):
    """under two of all policies and stores at a time"""
    story = data.draw(stories())
    db = declare(nl.Database(), story)
    views: dict[str, list[Any]] = {
        text: [
            db.view(f"v{i}", text, language="oql", refresh=refresh, store=store, strict=False)
            for i, (refresh, store) in enumerate(data.draw(st.permutations(WAYS))[:2])
        ]
        for text in story.texts
    }
    is_told(db, story, views)
    db.verify()


def test_stories_have_all_that_may_follow():
    """deletions that are refused, that set nil, that take others along and elements of bags"""
    told = draws(stories(steps=6), 150)
    kinds = {step.kind for story in told for step in story.steps}
    assert kinds >= {"insert", "update", "delete", "move"}
    refused = sum(step.after is None for story in told for step in story.steps)
    followed = sum(_gone(story) > 1 for story in told)
    assert refused > 20
    assert followed > 5


def _gone(story: Story) -> int:
    """The most rows that one step takes."""
    now, most = story.rows, 0
    for step in story.steps:
        if step.after is not None:
            counts = [sum(map(len, rows.values())) for rows in (now, step.after)]
            most, now = max(most, counts[0] - counts[1]), step.after
    return most


def on_spark(spark: Any, folder: Any, story: Story, first: int) -> None:
    """The views of a story in ways that follow each other, from the ``first`` on."""
    with nl.Database(folder, spark=spark) as db:
        declare(db, story)
        views: dict[str, list[Any]] = {}
        for i, text in enumerate(story.texts):
            refresh, store = WAYS[(first + i) % len(WAYS)]
            try:
                found = db.view(f"v{i}", text, language="oql", refresh=refresh, store=store, strict=False)
            except nl.QueryError as error:
                assert "Spark" in str(error), text
                continue
            views[text] = [found]
        assert views
        is_told(db, story, views)


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("number", range(2))
def test_a_story_on_spark(spark, tmp_path, number):
    """eager and hybrid ones, then hybrid and lazy ones"""
    on_spark(spark, tmp_path / "lake", draws(stories(texts=4, steps=4), 12)[5 * number + 5], 4 * number)


@pytest.mark.soak
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("number", range(40))
def test_many_stories_on_spark(spark, tmp_path, number):
    on_spark(spark, tmp_path / "lake", draws(stories(texts=5, steps=5), 60)[number + 10], number)
