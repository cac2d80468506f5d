"""``nestling run``: what it prints, what it writes, and what it says of bad input."""

import json

import pytest

from tests.cli.commands import EXAMPLES, masked, message, nestling, says, title, write

PIPELINE = """
import nestling as nl

db = nl.Database()
db.table("M", {"name": str, "gen": str, "dir": str}, key="name")
db.table("T", "id INT, xs ARRAY<INT>")

@db.view
def genres(M):
    return [(g, [m.name for m in M if m.gen == g]) for g in {m.gen for m in M}]

db.view("xs", lambda T: [(t.id, t.xs) for t in T])
db.constraint("no_x", lambda M: [m.name for m in M if m.gen == "X"])
"""
DRIVE = '{"name": "Drive", "gen": "Drama", "dir": "Refn"}\n'


@pytest.fixture
def run(tmp_path):
    """Run the pipeline above on these files of changes."""

    def start(**changes):
        write(tmp_path, pipeline=PIPELINE)
        folder = write(tmp_path / "changes", **changes)
        return nestling("run", tmp_path / "pipeline.py", "--changes", folder, "--out", tmp_path / "out")

    return start


def rows(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_summary_of_an_example(tmp_path):
    result = nestling(
        "run", EXAMPLES / "shop.py", "--changes", EXAMPLES / "data" / "shop", "--out", tmp_path / "out"
    )
    table = masked(result.stdout).splitlines()

    assert result.exit_code == 0
    assert table[0] == "shop.py"
    assert table[1] == "│ view │ rows │ read and written in │ statements │"
    assert [line.rpartition(" │ ")[0] for line in table[2:4]] == ["│ history │ 3 │ T", "│ spend │ 3 │ T"]
    assert table[4].startswith("13 rows in 3 batches applied in T, ")


def test_views_are_written_nested(tmp_path):
    nestling("run", EXAMPLES / "shop.py", "--changes", EXAMPLES / "data" / "shop", "--out", tmp_path / "out")

    assert rows(tmp_path / "out" / "spend.jsonl") == [
        {"customer": "Ada", "cents": 2900},
        {"customer": "Ben", "cents": 1170},
        {"customer": "Cleo", "cents": 0},
    ]
    assert rows(tmp_path / "out" / "history.jsonl")[0] == {
        "customer": "Ada",
        "orders": [
            {
                "order": 1,
                "items": [
                    {"product": "cup", "qty": 2, "cost": 1800},
                    {"product": "tea", "qty": 2, "cost": 1100},
                ],
            },
            {"order": 3, "items": []},
        ],
    }


def test_without_changes_and_without_a_place_to_write():
    result = nestling("run", EXAMPLES / "movies.py")

    assert result.exit_code == 0
    assert masked(result.stdout).splitlines()[:3] == [
        "movies.py",
        "│ view │ rows │ read in │ statements │",
        "│ related │ 0 │ T │ 0 │",
    ]


def test_batches_are_applied_by_number(run, tmp_path):
    later = '{"_change_type": "delete", "name": "Drive"}\n'

    result = run(_2_M=DRIVE, _10_M=later, _11_M=DRIVE.replace("Drama", "Crime"))

    assert result.exit_code == 0, result.stderr
    assert rows(tmp_path / "out" / "genres.jsonl") == [{"g": "Crime", "_1": ["Drive"]}]


def test_a_batch_deletes_before_it_inserts_and_cancels_what_comes_and_goes(run, tmp_path):
    changed = DRIVE.replace("Drama", "Crime")
    batch = changed + DRIVE.replace("{", '{"_change_type": "delete", ')
    rush = '{"name": "Rush", "gen": "Action", "dir": "Howard"}\n'
    nothing = rush + rush.replace("{", '{"_change_type": "delete", ')

    result = run(M=DRIVE, _1_M=batch + nothing)

    assert result.exit_code == 0, result.stderr
    assert rows(tmp_path / "out" / "genres.jsonl") == [{"g": "Crime", "_1": ["Drive"]}]


def test_rows_without_a_key_count(run, tmp_path):
    row = '{"id": 1, "xs": [2, 1, 2]}\n'

    assert run(T=row * 2).exit_code == 0
    assert rows(tmp_path / "out" / "xs.jsonl") == [{"id": 1, "xs": [1, 2, 2]}] * 2


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"M": DRIVE + '{"name": "Rush",\n'}, ["not JSON", "M.jsonl, line 2", "hint: every line"]),
        ({"M": '\n{"nam": "Rush"}\n'}, ["no column 'nam'", "M.jsonl, line 2", "did you mean 'name'"]),
        ({"M": DRIVE.replace('"Refn"', "7")}, ["column 'dir' takes str, not 7 (int)", "M.jsonl, line 1"]),
        ({"M": "[1]\n"}, ["a row has 3 values, not 1", "M.jsonl, line 1"]),
        ({"M": DRIVE, "_1_M": DRIVE}, ["M already has a row with key 'Drive'", "1-M.jsonl, line 1"]),
        ({"M": '{"_change_type": "delete", "name": "Rush"}'}, ["M has no row with key 'Rush'", "line 1"]),
        ({"M": '{"_change_type": "upsert", "name": "Rush"}'}, ["_change_type 'upsert' is unknown", "line 1"]),
        ({"N": DRIVE}, ["N.jsonl is for a table 'N', which is not declared", "tables: M, T"]),
        ({"M": DRIVE.replace("Drama", "X")}, ["constraint no_x would be broken", "in M.jsonl"]),
        ({"_1_M": DRIVE, "_01_M": DRIVE}, ["01-M.jsonl and 1-M.jsonl have the same number and table"]),
        ({}, ["holds no .jsonl file"]),
    ],
)  # fmt: skip
def test_bad_changes_are_named_by_file_and_line(run, changes, said):
    result = run(**changes)

    assert result.exit_code == 1
    for part in said:
        assert says(result.stderr, part)


def test_an_error_in_a_line_in_full(run):
    result = run(M=DRIVE + '{"name": "Rush", "gen": "Action", "dir": }\n')

    assert title(result.stderr) == "ChangeError"
    assert message(result.stderr).splitlines() == [
        "not JSON: Expecting value",
        "",
        "M.jsonl, line 2",
        '    {"name": "Rush", "gen": "Action", "dir": }',
        "                                             ^",
        "",
        "hint: every line is one JSON object",
    ]


def test_nothing_is_written_after_an_error(run, tmp_path):
    assert run(M="{").exit_code == 1
    assert not (tmp_path / "out").exists()


def test_a_view_that_is_not_maintained_says_so(tmp_path):
    unrelated = (
        "lambda M: [m.name for m in M if min([n.name for n in M if n.gen != m.gen], default='') > 'a']"
    )
    write(tmp_path, pipeline=f"{PIPELINE}\ndb.view('others', {unrelated})\n")

    result = nestling("run", tmp_path / "pipeline.py")

    assert result.exit_code == 0
    assert "│ others │ 0 │ T │ — │" in masked(result.stdout)
    assert "others is recomputed when it is read: nothing finds the rows of" in " ".join(
        result.stdout.split()
    )
    told = " ".join(result.stderr.split())
    assert "others is evaluated on every read" in told
    assert "hint: relate the inner rows to the outer row by ==" in told


OBJECTS = """
import nestling as nl

db = nl.Database()
db.table("directors", {"id": int, "name": str}, key="id")
db.table("films", {"no": int, "title": str, "by": int}, key="no", references={"by": "directors"})
"""
ROWS = {
    "films": '{"no": 1, "title": "Drive", "by": 7}\n{"no": 2, "title": "Bronson", "by": 7}\n',
    "directors": '{"id": 7, "name": "Refn"}\n',
}


def with_queries(tmp_path, **queries):
    """Run the pipeline above with these files of queries; ``who_oql`` is ``who.oql``."""
    write(tmp_path, pipeline=OBJECTS)
    changes = write(tmp_path / "changes", **ROWS)
    files = []
    for name, text in queries.items():
        stem, _, ending = name.rpartition("_")
        files.append(tmp_path / f"{stem}.{ending}")
        files[-1].write_text(text, encoding="utf-8")
    return nestling("run", tmp_path / "pipeline.py", *files, "--changes", changes, "--out", tmp_path / "out")


def test_files_of_queries_are_views(tmp_path):
    """The films come before the director in the folder, but not in the batch; what is ordered is written so."""
    oql = "select f.title, director: f.by.name from f in films order by title"
    xquery = '<who>{for $f in doc("films")/films/row order by $f/title return <f>{data($f/title)}</f>}</who>'
    result = with_queries(tmp_path, who_oql=oql, count_sql="SELECT count(*) AS n FROM films", page_xq=xquery)

    assert result.exit_code == 0, result.output
    assert rows(tmp_path / "out" / "who.jsonl") == [
        {"title": "Bronson", "director": "Refn"},
        {"title": "Drive", "director": "Refn"},
    ]
    assert rows(tmp_path / "out" / "count.jsonl") == [{"n": 2}]
    page = (tmp_path / "out" / "page.xml").read_text(encoding="utf-8")
    assert page == "<who><f>Bronson</f><f>Drive</f></who>"


def test_a_query_that_is_wrong_says_where(tmp_path):
    result = with_queries(tmp_path, who_oql="select f.title\nfrom f in film")

    assert result.exit_code != 0
    assert says(result.stderr, "who.oql, line 2")
    assert says(result.stderr, "did you mean 'films'?")


def test_a_file_that_is_no_query(tmp_path):
    result = with_queries(tmp_path, who_txt="select 1")

    assert result.exit_code != 0
    assert says(result.stderr, "who.txt is no query")
