"""A wheel and a source archive install in environments that have nothing else, and work there."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import nestling as nl

ROOT = Path(__file__).parents[2]
#: What a release is built from.
PARTS = ("src", "pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "CHANGELOG.md")
SMOKE = """
import sys
import nestling as nl

with nl.Database(sys.argv[1]) as db:
    orders = db.table("orders", "id INT, customer STRING, items ARRAY<STRUCT<pid: INT, qty: INT>>", key="id")
    spend = db.view("spend", "[(o.customer, sum(i.qty for i in o.items)) for o in orders]", language="python")
    orders.insert([(1, "ann", [(1, 2)]), (2, "bob", [])])
    orders.at(2).items.insert([(7, 5)])
    db.merge("orders", [{"id": 1, "op": "D"}], delete_when=lambda row: row.op == "D")
    db.export("spend", sys.argv[1] + ".jsonl")
with nl.Database(sys.argv[1]) as db:
    assert db.views["spend"].rows() == [("bob", 5)]
    db.verify(maps=True)
try:
    nl.Database().view("v", "SELECT 1")
except nl.NestlingError as error:
    assert "pip install" in str(error)
    print(nl.__version__)
"""


def test_the_version_is_said_once_and_has_its_changes():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.findall(r'^version = "(.+)"$', text, re.MULTILINE) == [nl.__version__]
    assert f"\n## {nl.__version__} (" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def run(*command: object, **options: Any) -> str:
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False, **options
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def environment(folder: Path, *packages: object) -> Path:
    """A fresh environment with some packages; its Python."""
    run(sys.executable, "-m", "venv", folder)
    python = folder / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages)
    return python


@pytest.mark.soak
def test_what_is_built_installs_and_works(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    for part in PARTS:
        found = ROOT / part
        if found.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "*.so")
            shutil.copytree(found, source / part, ignore=ignored)
        else:
            shutil.copy(found, source / part)
    builder = environment(tmp_path / "builder", "hatchling>=1.27,<2")
    run(builder, "-m", "hatchling", "build", "-d", tmp_path / "dist", cwd=source)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    (archive,) = (tmp_path / "dist").glob("*.tar.gz")
    for name, built in (("wheel", wheel), ("archive", archive)):
        python = environment(tmp_path / name, built)
        clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        script = tmp_path / f"{name}.py"
        script.write_text(SMOKE, encoding="utf-8")
        said = run(python, script, tmp_path / f"{name}.nest", cwd=tmp_path, env=clean)
        assert said.strip() == nl.__version__
