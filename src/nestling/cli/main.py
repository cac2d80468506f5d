"""The commands and their arguments; each is carried out by the module of its name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nestling import __version__
from nestling.cli.bench import bench
from nestling.cli.demo import demo
from nestling.cli.demo.on_spark import demo_on_spark
from nestling.cli.derive import derivation_of_related
from nestling.cli.engines import EngineName
from nestling.cli.explain import Format, explain
from nestling.cli.info import info
from nestling.cli.play import play
from nestling.cli.problem import Friendly
from nestling.cli.run import run
from nestling.cli.terminal import forgive_encodings
from nestling.cli.verify import verify

app = typer.Typer(
    cls=Friendly,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

PipelineFile = Annotated[
    Path,
    typer.Argument(
        metavar="PIPELINE", exists=True, dir_okay=False, help="A Python file that declares tables and views."
    ),
]
ChangesFolder = Annotated[
    Path | None,
    typer.Option(
        "--changes",
        metavar="DIR",
        exists=True,
        file_okay=False,
        help="JSON lines: TABLE.jsonl first, then N-TABLE.jsonl by number.",
    ),
]


EngineOption = Annotated[
    EngineName,
    typer.Option("--engine", help="What keeps the views; on Spark a pipeline is a function build(db)."),
]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"nestling {__version__}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Incremental views of nested data."""


@app.command("demo")
def demo_command(engine: EngineOption = EngineName.EMBEDDED) -> None:
    """A guided run: movies and a shop, each change beside a recomputation."""
    if engine is EngineName.SPARK:
        demo_on_spark()
    else:
        demo()


@app.command("run")
def run_command(
    pipeline: PipelineFile,
    queries: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="QUERY…",
            exists=True,
            dir_okay=False,
            help="More views: files VIEW.sql, VIEW.oql or VIEW.xq.",
        ),
    ] = None,
    changes: ChangesFolder = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", file_okay=False, help="Write each view to VIEW.jsonl here, or VIEW.xml."
        ),
    ] = None,
    engine: EngineOption = EngineName.EMBEDDED,
    path: Annotated[
        str | None,
        typer.Option(
            "--path",
            metavar="URI",
            help="On Spark: where to keep tables and views; a later run goes on there.",
        ),
    ] = None,
) -> None:
    """Maintain the views a file declares while changes arrive."""
    run(pipeline, queries or (), changes, out, engine, path)


@app.command("explain")
def explain_command(
    pipeline: PipelineFile,
    view: Annotated[str, typer.Argument(help="The name of a view.")],
    format: Annotated[Format, typer.Option("--format", help="How to write it.")] = Format.TEXT,
    code: Annotated[bool, typer.Option("--code", help="Show the generated code too.")] = False,
    engine: EngineOption = EngineName.EMBEDDED,
) -> None:
    """Show how a view is kept: what each construct costs, what is stored, what a change does."""
    explain(pipeline, view, format, code, engine)


@app.command("verify")
def verify_command(
    pipeline: PipelineFile, changes: ChangesFolder = None, engine: EngineOption = EngineName.EMBEDDED
) -> None:
    """Recompute every view and compare; exit code 1 on a difference."""
    verify(pipeline, changes, engine)


@app.command("bench")
def bench_command(
    suite: Annotated[str | None, typer.Argument(help="A benchmark; without one, they are listed.")] = None,
    against: Annotated[
        str | None, typer.Option("--against", metavar="PEER", help="Measure a peer in the same run.")
    ] = None,
) -> None:
    """Run a benchmark of the source tree."""
    bench(suite, against)


@app.command("info")
def info_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help="A database.")],
) -> None:
    """Show what is in a file: tables, views, sizes."""
    info(file)


@app.command("play")
def play_command(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE", exists=True, dir_okay=False, help="A database; a copy of it is played with."
        ),
    ] = None,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0: any that is free.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
) -> None:
    """A local page: write a view, see its delta and program, feed changes, watch."""
    play(file, port, browser)


@app.command("derive")
def derive_command() -> None:
    """Print the derivation of the paper's example, step by step."""
    typer.echo(derivation_of_related())


def main() -> None:
    """Run the command line."""
    forgive_encodings()
    app(prog_name="nestling")
