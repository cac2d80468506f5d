"""``nestling play``: a page on this machine to write a view, see how it is kept, and watch it change."""

from __future__ import annotations

import webbrowser
from pathlib import Path

from nestling.cli.play.playground import Playground
from nestling.cli.play.server import PlayServer
from nestling.cli.terminal import answers

__all__ = ["play"]


def play(file: Path | None, port: int, browser: bool) -> None:
    """Serve the page until Ctrl-C."""
    server = PlayServer(Playground(file), port)
    console = answers()
    console.print(f"{server.address}\nCtrl-C ends it.", soft_wrap=True)
    if browser:
        webbrowser.open(server.address)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        console.print("ended")
    finally:
        server.server_close()
