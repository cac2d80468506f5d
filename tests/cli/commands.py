"""Running a command in this process, and its output with everything that is measured masked."""

import re
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from nestling.cli.main import app

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"

# A terminal that colours, or one that is forced to, would change the output.
PLAIN = {"NO_COLOR": "1", "TERM": "dumb", "FORCE_COLOR": None, "TTY_COMPATIBLE": None, "COLUMNS": None}
TIME = re.compile(r"\d[\d.]*(e\+\d+)? (s|ms|µs)")
RATIO = re.compile(r"\d[\d.,]* ×")
LINE = re.compile(r"[┏┳┓┡╇┩└┴┘├┼┤━─]+")


def nestling(*arguments: object) -> Any:
    """The result of ``nestling`` with these arguments: ``exit_code``, ``stdout``, ``stderr``."""
    return CliRunner(env=PLAIN).invoke(app, [str(argument) for argument in arguments])


def masked(text: str) -> str:
    """``text`` with times as ``T``, ratios as ``R``, without rules, each run of spaces one space."""
    text = LINE.sub("", RATIO.sub("R", TIME.sub("T", text)))
    lines = (" ".join(line.replace("┃", "│").split()) for line in text.splitlines())
    return "\n".join(line for line in lines if line)


def message(text: str) -> str:
    """The lines of a panel, without its frame."""
    inside = [line[2:-2].rstrip() for line in text.splitlines() if line.startswith("│")]
    return "\n".join(inside)


def says(text: str, part: str) -> bool:
    """Whether a panel says ``part``, wherever its lines were broken: a long path moves the breaks."""
    return "".join(part.split()) in "".join(message(text).split())


def title(text: str) -> str:
    """The title of a panel."""
    return text.splitlines()[0].strip("╭─╮ ")


def write(folder: Path, **files: str) -> Path:
    """``folder`` with these files: ``pipeline="…"`` is ``pipeline.py``, ``_1_M="…"`` is ``1-M.jsonl``."""
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        numbered = re.fullmatch(r"_(\d+)_(.+)", name)
        stem = f"{numbered[1]}-{numbered[2]}" if numbered else name
        suffix = "py" if name == "pipeline" else "jsonl"
        (folder / f"{stem}.{suffix}").write_text(text, encoding="utf-8")
    return folder
