"""Documents live in an embedded database: on Spark they are refused by name, and nothing is changed."""

import pytest

import nestling as nl


def test_documents_are_refused_by_name(spark, tmp_path):
    with nl.Database(spark=spark, path=tmp_path / "db") as db:
        db.table("t", {"x": int})
        calls = [
            lambda: db.document("d", "<a/>"),
            lambda: db.document("d"),
            lambda: db.xquery("delete node /a"),
            lambda: db.view("v", "/a", language="xquery"),
        ]
        for call in calls:
            with pytest.raises(nl.QueryError, match="documents live in an embedded database"):
                call()
        with (
            pytest.raises(nl.ChangeError, match="documents live in an embedded database"),
            db.transaction() as change,
        ):
            change.xquery("delete node /a")
        with (
            pytest.raises(nl.ChangeError, match="documents live in an embedded database"),
            db.transaction() as change,
        ):
            change.document("d")
        assert list(db.tables) == ["t"] and not db.views and not db.documents
