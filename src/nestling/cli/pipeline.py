"""Loading a pipeline: a Python file that declares tables and views.

The file either has a database at its top level, ``db = nl.Database()``, or a function ``build(db)``, which serves every
engine. It is run as a module named after it, so what stands under ``if __name__ == "__main__":`` is left out.
"""

from __future__ import annotations

import linecache
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import TextIO

from rich.text import Text

from nestling.cli.terminal import messages
from nestling.database import Database
from nestling.errors import EvaluatedOnRead, NestlingError, Span


def load(path: Path, given: Database | None = None) -> Database:
    """The database that the file at ``path`` declares, or ``given`` with what its ``build`` declares."""
    path = path.resolve()
    spec = spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise NestlingError(f"{path.name} is not a Python file", hint="name it pipeline.py")
    module = module_from_spec(spec)
    with _importable(module, path), _telling_of_views():
        try:
            spec.loader.exec_module(module)
            return _database(module, path) if given is None else _built(module, path, given)
        except NestlingError as error:
            raise error.located(_place(error, path)) from error.__cause__
        except SyntaxError as error:
            at = Span(error.lineno or 1, max(0, (error.offset or 1) - 1), (error.text or "").rstrip())
            raise NestlingError(f"{path.name} is not Python: {error.msg}", at=at) from error
        except Exception as error:
            what = f"{path.name} failed: {type(error).__name__}: {error}"
            hint = "`nestling --debug …` shows the traceback"
            raise NestlingError(what, at=_place(error, path), hint=hint) from error


@contextmanager
def _importable(module: ModuleType, path: Path) -> Iterator[None]:
    """``module`` under its name, and its neighbours importable, as if Python ran the file."""
    name, before = module.__name__, sys.modules.get(module.__name__)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent))
    try:
        yield
    finally:
        sys.path.remove(str(path.parent))
        if before is None:
            sys.modules.pop(name, None)
        else:
            sys.modules[name] = before


@contextmanager
def _telling_of_views() -> Iterator[None]:
    """Views that every read evaluates are told of on standard error, each with its line."""
    with warnings.catch_warnings():
        others = warnings.showwarning

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if issubclass(category, EvaluatedOnRead):
                messages().print(Text(f"{Path(filename).name}, line {lineno}: {message}", "yellow"))
            else:
                others(message, category, filename, lineno, file, line)

        warnings.simplefilter("always", EvaluatedOnRead)
        warnings.showwarning = show
        yield


def _database(module: ModuleType, path: Path) -> Database:
    found = {id(value): value for value in vars(module).values() if isinstance(value, Database)}
    named = getattr(module, "db", None)
    build = getattr(module, "build", None)
    if isinstance(named, Database):
        return named
    if len(found) == 1:
        return next(iter(found.values()))
    if found:
        raise NestlingError(f"{path.name} has {len(found)} databases", hint="call the one to use db")
    if not callable(build):
        raise NestlingError(
            f"{path.name} declares no database",
            hint="write db = nl.Database() at its top level, or a function build(db)",
        )
    database = Database()
    built = build(database)
    return built if isinstance(built, Database) else database


def _built(module: ModuleType, path: Path, database: Database) -> Database:
    build = getattr(module, "build", None)
    if not callable(build):
        raise NestlingError(
            f"{path.name} opens a database of its own", hint="declare it in a function: def build(db): …"
        )
    build(database)
    return database


def _place(error: Exception, path: Path) -> Span | None:
    """The line of the file at ``path`` that ``error`` came from."""
    lines = [line for frame, line in walk_tb(error.__traceback__) if frame.f_code.co_filename == str(path)]
    if not lines:
        return None
    text = linecache.getline(str(path), lines[-1]).rstrip()
    column = len(text) - len(text.lstrip())
    return Span(lines[-1], column, text, len(text) - column, path.name)
