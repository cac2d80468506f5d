"""The commands there are, the version, and what is said where the extra is not installed."""

import os
import subprocess
import sys

from nestling import __version__
from nestling.cli.derive import derivation_of_related
from nestling.cli.problem import panel
from tests.cli.commands import EXAMPLES, message, nestling, says

WITHOUT = """
import runpy, sys
sys.modules["typer"] = None
sys.argv = ["nestling", "demo"]
runpy.run_module("nestling", run_name="__main__")
"""


def test_help_lists_the_commands():
    result = nestling("--help")

    assert result.exit_code == 0
    for command in ("demo", "run", "explain", "verify", "bench", "derive", "play"):
        assert f"│ {command} " in result.stdout


def test_version():
    assert nestling("--version").stdout == f"nestling {__version__}\n"


def test_python_dash_m():
    run = subprocess.run(
        [sys.executable, "-m", "nestling", "--version"], capture_output=True, text=True, check=False
    )

    assert run.stdout == f"nestling {__version__}\n"


def test_a_stream_that_cannot_write_it_all_gets_what_it_can():
    run = subprocess.run(
        [sys.executable, "-m", "nestling", "verify", str(EXAMPLES / "shop.py")],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
    )

    assert run.returncode == 0, run.stderr
    assert run.stdout.count("|   ?   |") == 2


def test_without_the_extra():
    run = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False)

    assert run.returncode == 1
    assert "python -m pip install 'nestling[cli]'" in run.stderr
    assert "Traceback" not in run.stderr


def test_derive_prints_the_derivation():
    result = nestling("derive")

    assert result.stdout == derivation_of_related() + "\n"
    assert "δ(related^F)" in result.stdout
    assert result.stdout.splitlines()[-4:] == [
        "  Drive    ⟨1, 'Drive', 'Drama', 'Refn'⟩ ↦ {Jarhead}",
        "  Skyfall  ⟨1, 'Skyfall', 'Action', 'Mendes'⟩ ↦ {Jarhead, Rush}",
        "  Rush     ⟨1, 'Rush', 'Action', 'Howard'⟩ ↦ {Skyfall}",
        "  Jarhead  ⟨1, 'Jarhead', 'Drama', 'Mendes'⟩ ↦ {Drive, Skyfall}",
    ]


def test_a_bug_is_a_sentence(monkeypatch):
    def broken():
        raise KeyError("k")

    monkeypatch.setattr("nestling.cli.main.demo", broken)

    result = nestling("demo")

    assert result.exit_code == 1
    assert message(result.stderr).splitlines()[0] == "KeyError: 'k'"
    assert "hint: this is a bug in Nestling" in message(result.stderr)


def test_a_file_that_cannot_be_written(tmp_path):
    (tmp_path / "out").write_text("")
    (tmp_path / "p.py").write_text("def build(db):\n    pass\n")

    result = nestling("run", tmp_path / "p.py", "--out", tmp_path / "out" / "deep")

    assert result.exit_code == 1
    assert says(result.stderr, "Not a directory")


def test_an_error_of_the_system_is_named():
    assert panel(FileNotFoundError(2, "No such file", "x")).title == "FileNotFoundError"
