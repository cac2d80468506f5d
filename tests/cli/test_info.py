"""What is in a file."""

import nestling as nl
from tests.cli.commands import nestling


def test_info_lists_tables_and_views(tmp_path):
    path = tmp_path / "x.nest"
    with nl.Database(path) as db:
        db.table("orders", {"id": int, "items": list[int]}, key="id").insert([(1, [2]), (2, [])])
        db.table("[b]od[/b]d", {"a": int})
        db.view("total", lambda orders: [sum(i for o in orders for i in o.items)])
        db.view("later", "SELECT id FROM orders", refresh="lazy")
        db.constraint("few", "SELECT id FROM orders WHERE id > 9")

    result = nestling("info", path)

    assert result.exit_code == 0, result.stderr
    for part in (
        "orders",
        "2",
        "Bag(int)",
        "[b]od[/b]d",
        "total",
        "eager",
        "later",
        "lazy",
        "few",
        "constraint",
    ):
        assert part in result.stdout
    assert "1 change," in result.stdout.replace("\n", " ")


def test_info_makes_no_file(tmp_path):
    assert nestling("info", tmp_path / "no.nest").exit_code != 0
    assert list(tmp_path.iterdir()) == []


def test_info_refuses_what_is_no_database(tmp_path):
    (tmp_path / "x.nest").write_text("hello")
    result = nestling("info", tmp_path / "x.nest")
    assert result.exit_code != 0
    assert (tmp_path / "x.nest").read_text() == "hello"
