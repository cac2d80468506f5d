"""Commands with ``--engine spark``: they say and write what the embedded engine does."""

import ast
import inspect
import subprocess
import sys

import pytest

from nestling.cli.demo.on_spark import FRAME, spend
from tests.cli.commands import EXAMPLES, masked, message, nestling, write
from tests.engines.spark.mounted import mounted
from tests.engines.spark.session import missing, session

pytestmark = pytest.mark.xdist_group("spark")
SALES, CHANGES = EXAMPLES / "sales.py", EXAMPLES / "data" / "sales"
PIPELINE = """
def build(db):
    db.table("T", "k INT, xs ARRAY<INT>", key="k")
    db.view("sums", lambda T: [(t.k, sum(x for x in t.xs)) for t in T])
"""


@pytest.fixture
def spark():
    """The session that commands find active; theirs would take its time to start."""
    if missing():
        pytest.skip(missing())
    return session()


def test_run_writes_the_same_files(spark, tmp_path):
    outs = {engine: tmp_path / engine for engine in ("embedded", "spark")}
    for engine, out in outs.items():
        result = nestling("run", SALES, "--changes", CHANGES, "--out", out, "--engine", engine)
        assert result.exit_code == 0, result.output

    texts = [{file.name: file.read_text("utf-8") for file in out.iterdir()} for out in outs.values()]
    assert set(texts[0]) == {"shelves.jsonl", "revenue.jsonl", "unsold.jsonl"}
    assert texts[0] == texts[1]
    assert "68 rows in 4 batches applied in T" in masked(result.stdout)


def test_run_keeps_what_it_made(spark, tmp_path):
    """at an address; a later run goes on there"""
    write(tmp_path, pipeline=PIPELINE)
    path = f"{mounted(spark, tmp_path / 'mount')}/kept"
    for number in range(2):
        folder = write(tmp_path / str(number), T=f'{{"k": {number}, "xs": [1, 2]}}\n')
        options = ("--changes", folder, "--engine", "spark", "--path", path)
        result = nestling("run", tmp_path / "pipeline.py", *options)
        assert result.exit_code == 0, result.output
    again = nestling(
        "run", tmp_path / "pipeline.py", "--out", tmp_path / "out", "--engine", "spark", "--path", path
    )
    assert again.exit_code == 0, again.output
    lines = (tmp_path / "out" / "sums.jsonl").read_text("utf-8").splitlines()
    assert lines == ['{"k": 0, "_1": 3}', '{"k": 1, "_1": 3}']
    refused = nestling("run", tmp_path / "pipeline.py", "--path", path)
    assert refused.exit_code == 1
    assert "--path is for --engine spark" in message(refused.stderr)


def test_verify_and_explain(spark, tmp_path):
    folder = write(tmp_path / "changes", T='{"k": 1, "xs": [1, 2, 2]}\n', _1_T='{"k": 2, "xs": []}\n')
    write(tmp_path, pipeline=PIPELINE)
    verified = nestling("verify", tmp_path / "pipeline.py", "--changes", folder, "--engine", "spark")
    explained = nestling("explain", tmp_path / "pipeline.py", "sums", "--engine", "spark")

    assert "│ sums │ 2 │ ✓ │ T │" in masked(verified.stdout)
    assert "driver, without a job" in explained.stdout
    assert "the change, broadcast" in explained.stdout


def test_a_bad_line_is_named(spark, tmp_path):
    folder = write(tmp_path / "changes", T='{"k": 1, "xs": [1]}\n{"k": 1, "xs": []}\n')
    write(tmp_path, pipeline=PIPELINE)
    result = nestling("run", tmp_path / "pipeline.py", "--changes", folder, "--engine", "spark")

    assert result.exit_code == 1
    assert "T already has a row with key 1" in message(result.stderr)
    assert "T.jsonl, line 2" in message(result.stderr)


def test_a_pipeline_with_a_database_of_its_own(spark):
    result = nestling("run", EXAMPLES / "movies.py", "--engine", "spark")

    assert result.exit_code == 1
    assert "movies.py opens a database of its own" in message(result.stderr)
    assert "hint: declare it in a function: def build(db): …" in message(result.stderr)


def test_the_frame_that_the_demo_shows_is_the_one_that_runs():
    shown, runs = (ast.parse(text).body[0] for text in (FRAME, inspect.getsource(spend)))
    assert isinstance(shown, ast.FunctionDef)
    assert isinstance(runs, ast.FunctionDef)

    assert [ast.dump(line) for line in shown.body] == [ast.dump(line) for line in runs.body[1:]]


@pytest.mark.soak
def test_the_demo(spark):
    result = nestling("demo", "--engine", "spark")

    assert result.exit_code == 0, result.output
    assert "│ order 7 is cancelled │ T │ T │ R │" in masked(result.stdout)
    assert "kept on Spark" in result.stdout


@pytest.mark.soak
def test_a_command_starts_spark_and_stops_it():
    if missing():
        pytest.skip(missing())
    command = [sys.executable, "-m", "nestling", "explain", str(SALES), "revenue", "--engine", "spark"]
    run = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)

    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("revenue: Bag(")
