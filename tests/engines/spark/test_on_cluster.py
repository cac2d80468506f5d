"""A cluster whose executors are other processes, and a lake behind ``viewfs:``, which is no path of the driver's."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pyspark = pytest.importorskip("pyspark", reason="pip install nestling[spark]")

pytestmark = pytest.mark.xdist_group("spark")
ROOT = Path(__file__).parents[3]


def driven(*arguments: str, seconds: int = 500) -> str:
    environment = {
        **os.environ, "SPARK_HOME": str(Path(pyspark.__file__).parent), "SPARK_LOCAL_IP": "127.0.0.1",
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]), "PYSPARK_PYTHON": sys.executable,
    }  # fmt: skip
    found = subprocess.run(
        [sys.executable, "-m", "tests.engines.spark.on_cluster", *arguments],
        env=environment, capture_output=True, text=True, timeout=seconds, check=False, cwd=arguments[1],
    )  # fmt: skip
    assert found.returncode == 0, (
        found.stdout + "".join(found.stderr.partition("Traceback (most recent")[1:])[:4_000]
    )
    return found.stdout


def test_some_views_on_a_cluster(tmp_path):
    assert "ran related" in driven("cases", str(tmp_path), "related")


@pytest.mark.soak
def test_every_engines_views_on_a_cluster(tmp_path):
    said = driven("cases", str(tmp_path), seconds=2_000)
    assert said.count("ran ") == 3


@pytest.mark.soak
def test_executors_that_are_killed_lose_and_double_nothing(tmp_path):
    """in the middle of large changes and of merges, with tasks that run twice by speculation"""
    assert "killed 20" in driven("killed", str(tmp_path), "20", seconds=2_000)
