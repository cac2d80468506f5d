"""What goes wrong, as a person wants to read it: what, where, what to do. Exit code 1, and no traceback."""

from __future__ import annotations

from typing import Any

import typer
from rich.console import Group
from rich.panel import Panel
from rich.text import Text
from typer.core import TyperGroup

from nestling.cli.terminal import messages
from nestling.errors import NestlingError


class Friendly(TyperGroup):
    """A group of commands whose errors are shown in a panel; with ``--debug`` they pass."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (typer.Exit, typer.Abort):
            raise
        except Exception as error:
            # What has an exit code is about the arguments, and shown by typer itself.
            if ctx.params.get("debug") or hasattr(error, "exit_code"):
                raise
            messages().print(panel(error))
            raise typer.Exit(1) from None


def panel(error: Exception) -> Panel:
    """The message, the line with its caret, what else is known, and the hint."""
    title, error = _title(error), _in_parts(error)
    parts = [Text(error.what)]
    if error.at is not None:
        where, text, caret = error.at.show().split("\n")
        parts += [Text(""), Text(where.strip(), "dim"), Text(text), Text(caret, "red")]
    parts += [Text(note, "dim") for note in getattr(error, "__notes__", ())]
    if error.hint:
        parts += [Text(""), Text.assemble(("hint: ", "bold"), error.hint)]
    return Panel(Group(*parts), title=title, title_align="left", border_style="red", padding=(0, 1))


def _title(error: Exception) -> str:
    return type(error).__name__ if isinstance(error, NestlingError | OSError) else "internal error"


def _in_parts(error: Exception) -> NestlingError:
    """``error`` as what, where and what to do, whatever it is."""
    match error:
        case NestlingError():
            return error
        case OSError(filename=str(name), strerror=str(reason)):
            return NestlingError(f"{name}: {reason}")
    return NestlingError(
        f"{type(error).__name__}: {error}",
        hint="this is a bug in Nestling: please report it with what `nestling --debug …` prints",
    )
