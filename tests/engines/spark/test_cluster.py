"""A cluster of two workers: the folder is one for driver and executors, or the database is refused; nothing is lost."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

pyspark = pytest.importorskip("pyspark", reason="pip install nestling[spark]")

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.soak]

ROOT = Path(__file__).parents[3]
HOME = Path(pyspark.__file__).parent
PORT = 17_077
MASTER = f"spark://127.0.0.1:{PORT}"

DRIVER = """
import sys
from pathlib import Path
import nestling as nl
import nestling.database.spark.database as database
from nestling.errors import StoreError
from pyspark.sql import SparkSession

master, path, probed = sys.argv[1], Path(sys.argv[2]), sys.argv[3] == "probed"
builder = SparkSession.builder.master(master).config("spark.ui.enabled", "false").config("spark.log.level", "ERROR")
for name, value in {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
                    "spark.executor.memory": "512m", "spark.executor.cores": "1", "spark.cores.max": "2",
                    "spark.ui.showConsoleProgress": "false", "spark.sql.shuffle.partitions": "2"}.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
if not probed:
    database.check_shared = lambda lake, spark: None
try:
    db = nl.Database(spark=spark, path=path)
except StoreError as error:
    print("refused:", error.what, "|", error.hint, "| there:", path.exists(), flush=True)
    sys.exit()
db.table("T", "id BIGINT, g BIGINT", key="id")
db.view("often", "SELECT g, count(*) AS n FROM T GROUP BY g")
db.insert("T", [(-1, 0)])
try:
    db.insert("T", spark.range(20_000).selectExpr("id", "id % 2 AS g"))
except StoreError as error:
    print("lost:", error.what, "| version:", db.version, "| rows:", len(db.table("T")), flush=True)
    sys.exit()
db.delete("T", where="id % 4 = 0")
db.verify()
db.close()
with nl.Database(spark=spark, path=path) as again:
    again.verify()
    print("kept:", again.version, sorted(map(tuple, again.views["often"])), flush=True)
spark.stop()
try:
    nl.Database(spark=spark, path=path.with_name("other"))
except nl.QueryError as error:
    print("stopped:", error.what, path.with_name("other").exists(), flush=True)
"""


@contextmanager
def running(*command: str) -> Iterator[None]:
    """A process for as long as the block runs; all that it starts ends with it."""
    environment = {
        **os.environ,
        "SPARK_HOME": str(HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_NO_DAEMONIZE": "1",
    }
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.wait(20)


@contextmanager
def cluster(folder: Path, work: Path, private: bool) -> Iterator[None]:
    """Two workers; ``private``: what they see at ``folder`` is a file system of their own."""
    spark = str(HOME / "bin" / "spark-class")
    ports = ("--host", "127.0.0.1", "--webui-port", "0")
    with running(spark, "org.apache.spark.deploy.master.Master", "--port", str(PORT), *ports):
        worker = f"{spark} org.apache.spark.deploy.worker.Worker {' '.join(ports)} -c 1 -m 600m"
        hidden = f"mount -t tmpfs none {folder} && " if private else ""
        apart = ("unshare", "-Urm") if private else ()
        commands = [
            (*apart, "sh", "-c", f"{hidden}exec {worker} -d {work / str(i)} {MASTER}") for i in range(2)
        ]
        with running(*commands[0]), running(*commands[1]):
            time.sleep(8)  # until they know each other; the driver waits for them anyway
            yield


def driven(path: Path, *, probed: bool) -> str:
    found = subprocess.run(
        [sys.executable, "-c", DRIVER, MASTER, str(path), "probed" if probed else "trusted"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYSPARK_PYTHON": sys.executable},
        capture_output=True, text=True, timeout=400, check=False,
    )  # fmt: skip
    return found.stdout or found.stderr


def test_a_folder_that_is_shared_keeps_everything(tmp_path):
    with cluster(tmp_path, tmp_path.parent / "work", private=False):
        said = driven(tmp_path / "lake", probed=True)
    assert "kept: 3 [(0, 5001), (1, 10000)]" in said, said
    assert "stopped: the Spark session has been stopped False" in said


def test_a_folder_that_is_not_shared_is_refused(tmp_path):
    """when it is opened; and a change that would be lost is refused, were it opened"""
    if not shutil.which("unshare") or subprocess.run(["unshare", "-Urm", "true"], check=False).returncode:
        pytest.skip("mount namespaces are not permitted here")
    shared = tmp_path / "shared"
    shared.mkdir()
    with cluster(shared, tmp_path / "work", private=True):
        said = driven(shared / "lake", probed=True)
        assert said.startswith("refused: Spark's executors"), said
        assert "there: False" in said
        said = driven(shared / "lake", probed=False)
        assert said.startswith("lost: Spark's executors wrote"), said
        assert "| version: 1 | rows: 1" in said
