"""The section of the README on Spark: its code runs as it stands there."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import nestling as nl
from tests.engines.spark.mounted import mounted

pytestmark = pytest.mark.xdist_group("spark")
ROOT = Path(__file__).parents[3]
README = ROOT / "README.md"

#: The tables of the front page and of the examples, as Spark has them.
TABLES = {
    "products": "pid INT, name STRING, price INT, sku STRING, category STRING",
    "orders": "id INT, customer STRING, items ARRAY<STRUCT<pid: INT, qty: INT>>",
    "quotes": "at INT, price INT, volume INT",
    "visits": "id INT, user STRING, day DATE, events ARRAY<STRUCT<sku: STRING, kind: STRING, qty: INT>>",
    "sales": "id INT, city STRING, price INT",
    "spend": "customer STRING, cents BIGINT",
}


@pytest.mark.parametrize("where", ["folder", "viewfs"])
def test_on_spark(spark: Any, tmp_path: Path, capsys: Any, where: str) -> None:
    """in a local folder, and behind a scheme that is none"""
    place = tmp_path / "shop" if where == "folder" else f"{mounted(spark, tmp_path)}/shop"
    section = README.read_text("utf-8").partition("## On Spark")[2].partition("\n## ")[0]
    blocks = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    names: dict[str, Any] = {"nl": nl, "spark": spark.newSession(), "folder": place}
    try:
        for block in blocks:
            exec(compile(block, str(README), "exec"), names)
    finally:
        names["shop"].close()

    assert len(blocks) == 2
    assert [line for line in capsys.readouterr().out.splitlines() if "A" in line or "B" in line] == [
        "|     Ada|",
        "|     Ben|",
    ]


def sql_texts() -> Iterator[str]:
    """The SQL of the front page, in its code and its table, and of the examples."""
    page = README.read_text("utf-8")
    yield from re.findall(r"^\| `(SELECT [^`]+)` \|", page, re.MULTILINE)
    code = [re.sub(r"^(>>>|\.\.\.) ?", "", line) for line in page.splitlines()]
    found = re.findall(r'"""(\s*SELECT .*?)"""|"(SELECT [^"\n]*)"', "\n".join(code), re.DOTALL)
    yield from (long or short for long, short in found)
    for path in sorted((ROOT / "examples").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and str(node.value).lstrip().startswith("SELECT "):
                yield str(node.value)


def test_sql_of_the_front_page_and_the_examples_is_sparks(spark: Any) -> None:
    session = spark.newSession()
    for name, columns in TABLES.items():
        session.createDataFrame([], columns).createOrReplaceTempView(name)
    # A path through a reference is ours: Spark knows no references.
    # A mark for a value is bound by whoever runs the text.
    texts = [text for text in sql_texts() if "b.author.name" not in text and "?" not in text]

    for text in texts:
        assert session.sql(text).columns

    assert len(texts) >= 12
    assert sum("LATERAL" in text for text in texts) == 3
