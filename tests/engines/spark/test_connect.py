"""Spark Connect: the front page and the whole API in a client of it, and what is refused there by name."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.engines.spark.session import missing

if find_spec("grpc") is None or find_spec("grpc_status") is None or find_spec("zstandard") is None:
    pytest.skip("Spark Connect needs grpcio: pip install nestling[connect]", allow_module_level=True)
if missing():
    pytest.skip(missing(), allow_module_level=True)

from tests.engines.spark.mapped import TABLE
from tests.engines.spark.on_connect import CHECKS
from tests.frontends.dataframe.programs import PROGRAMS

pytestmark = pytest.mark.xdist_group("connect")
ROOT = Path(__file__).parents[3]


def client(folder: Path, *names: str) -> dict[str, str]:
    """What each check came to: one client runs them."""
    mount = f"spark.hadoop.fs.viewfs.mounttable.{TABLE}.link./data={(folder / 'mapped').as_uri()}"
    settings = [
        "spark.ui.enabled=false",
        "spark.log.level=ERROR",
        "spark.ui.showConsoleProgress=false",
        mount,
    ]
    options = " ".join(f"--conf {setting}" for setting in settings)
    environment = {
        **os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
        "PYSPARK_SUBMIT_ARGS": f"{options} pyspark-shell",
        "SPARK_TESTING": "1",  # any free port: two clients with servers of their own run on one machine
    }  # fmt: skip
    found = subprocess.run(
        [sys.executable, "-m", "tests.engines.spark.on_connect", str(folder), *names],
        env=environment, capture_output=True, text=True, timeout=1_800, check=False, cwd=ROOT,
    )  # fmt: skip
    lines = [json.loads(line) for line in found.stdout.splitlines() if line.startswith('{"name"')]
    assert lines, found.stderr[-4_000:]
    return {line["name"]: line["told"] for line in lines}


@pytest.mark.soak
def test_readme_over_connect(tmp_path):
    """the section on Spark"""
    assert client(tmp_path, "readme") == {"readme": ""}


OTHERS = [name for name in CHECKS if name != "readme"]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return client(tmp_path_factory.mktemp("connect"), *OTHERS)


@pytest.mark.soak
@pytest.mark.parametrize("name", OTHERS)
def test_over_connect(told, name):
    assert told[name] == ""


@pytest.mark.soak
def test_the_view_from_a_frame_is_the_frame_or_is_refused(tmp_path):
    """with what to write instead"""
    told = client(tmp_path, "programs")

    wrong = {
        n: said
        for n, said in told.items()
        if said and not (said.startswith("refused: ") and "hint: " in said)
    }
    assert wrong == {}
    assert len(told) == len(PROGRAMS)
    assert sum(said == "" for said in told.values()) > len(PROGRAMS) // 3
