"""The section of the README on Spark: its code runs as it stands there."""

import re
from pathlib import Path
from typing import Any

import pytest

import nestling as nl

pytestmark = pytest.mark.xdist_group("spark")
README = Path(__file__).parents[3] / "README.md"


def test_on_spark(spark: Any, tmp_path: Path, capsys: Any) -> None:
    section = README.read_text("utf-8").partition("## On Spark")[2].partition("\n## ")[0]
    blocks = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    names: dict[str, Any] = {"nl": nl, "spark": spark.newSession(), "folder": tmp_path / "shop"}
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
