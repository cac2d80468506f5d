"""``nestling bench``: the benchmarks that come with the source tree."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import typer
from rich.table import Table

import nestling
from nestling.cli.terminal import answers
from nestling.errors import NestlingError


def bench(suite: str | None, against: str | None) -> None:
    """Run one benchmark, or list them all."""
    found = suites()
    if suite is None:
        _list(found)
        return
    if suite not in found:
        known = ", ".join(found)
        hint = f"there are {known}" if known else "get the source tree; its folder benchmarks holds them"
        raise NestlingError(f"there is no benchmark {suite!r} here", hint=hint)
    command = [sys.executable, str(found[suite]), *(("--against", against) if against else ())]
    raise typer.Exit(subprocess.run(command, check=False).returncode)


def suites() -> dict[str, Path]:
    """The benchmarks by name: of the source tree this runs from, or of the working directory."""
    source_tree = Path(nestling.__file__).parents[2]
    for root in (source_tree, Path.cwd()):
        found = sorted((root / "benchmarks").glob("[!_]*.py"))
        if found:
            return {path.stem: path for path in found}
    return {}


def _list(found: dict[str, Path]) -> None:
    console = answers()
    if not found:
        console.print(
            "There are no benchmarks here. They are not part of the installed package:\n"
            "get the source tree and run this in it, where the folder benchmarks is."
        )
        return
    table = Table("suite", "what it measures")
    for name, path in found.items():
        table.add_row(name, _summary(path))
    console.print("nestling bench SUITE, where SUITE is one of")
    console.print(table)


def _summary(path: Path) -> str:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0]
