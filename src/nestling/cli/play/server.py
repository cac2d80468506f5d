"""The page over HTTP, for this machine alone.

The server listens on the loopback address. Every path begins with a random token, so that another page in the browser,
or another user of the machine, cannot guess it; the ``Host`` is checked, so that a name that leads here from outside
(DNS rebinding) is refused; a change is a POST of JSON, which a foreign page cannot send without being asked for leave
first. The page may fetch nothing from elsewhere: its policy says so.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from hmac import compare_digest
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from queue import Empty
from secrets import token_urlsafe
from typing import Any

from nestling.cli.play.playground import Playground, problem
from nestling.database.explain.style import STYLE
from nestling.errors import NestlingError

HOST = "127.0.0.1"
#: Bytes of a request; a text or a row is far smaller.
LARGEST = 1 << 20
#: Seconds after which a stream of events says that it is still there.
PATIENCE = 10.0
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
TYPES = {"index.html": "text/html", "page.css": "text/css", "page.js": "text/javascript"}


class PlayServer(ThreadingHTTPServer):
    """The page of one stage, under a token of its own."""

    daemon_threads = True

    def __init__(self, stage: Playground, port: int = 0) -> None:
        super().__init__((HOST, port), Handler)
        self.stage, self.token = stage, token_urlsafe(16)
        self.hosts = {f"{name}:{self.server_port}" for name in (HOST, "localhost")}

    @property
    def address(self) -> str:
        """What a browser opens."""
        return f"http://{HOST}:{self.server_port}/{self.token}/"


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: PlayServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "nestling", ""

    def do_GET(self) -> None:
        path = self._path()
        if path is None:
            return
        stage = self.server.stage
        answers: dict[str, Callable[[], Any]] = {
            "state": stage.state, "tables": stage.tables, "answer": stage.answer
        }  # fmt: skip
        if path == "events":
            self._events()
        elif path in answers:
            self._answer(answers[path])
        elif (name := path or "index.html") in TYPES:
            self._send(HTTPStatus.OK, page_file(name), TYPES[name])
        else:
            self._refuse(HTTPStatus.NOT_FOUND)

    def do_POST(self) -> None:
        path = self._path()
        if path is None:
            return
        asked = self._asked()
        if asked is None:
            return
        stage = self.server.stage
        answers: dict[str, Callable[[], Any]] = {
            "open": lambda: stage.open(str(asked.get("name"))),
            "view": lambda: stage.define(str(asked.get("text")), str(asked.get("language"))),
            "change": partial(stage.change, asked),
            "step": stage.step,
        }
        if path in answers:
            self._answer(answers[path])
        else:
            self._refuse(HTTPStatus.NOT_FOUND)

    # -- what is let in

    def _path(self) -> str | None:
        """What is asked for, under the token; None where it was refused."""
        first, _, rest = self.path.lstrip("/").partition("/")
        if self.headers.get("Host") not in self.server.hosts:
            self._refuse(HTTPStatus.FORBIDDEN)
            return None
        if not compare_digest(first.encode(), self.server.token.encode()):
            self._refuse(HTTPStatus.NOT_FOUND)
            return None
        return rest

    def _asked(self) -> dict[str, Any] | None:
        """The object that was sent; None where it was refused."""
        length = self.headers.get("Content-Length", "")
        if self.headers.get_content_type() != "application/json":
            self._refuse(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        elif not length.isdecimal() or len(length) > 9 or int(length) > LARGEST:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        elif (asked := _object(self.rfile.read(int(length)) or b"{}")) is None:
            self._refuse(HTTPStatus.BAD_REQUEST)
        else:
            return asked
        return None

    def _refuse(self, status: HTTPStatus) -> None:
        self.close_connection = True  # what was sent with it is not read
        self._send(status, status.phrase.encode(), "text/plain")

    # -- what goes out

    def _answer(self, run: Callable[[], Any]) -> None:
        try:
            found, status = run(), HTTPStatus.OK
        except NestlingError as error:
            found, status = {"error": problem(error)}, HTTPStatus.UNPROCESSABLE_ENTITY
        self._send(status, json.dumps(found, allow_nan=False).encode(), "application/json")

    def _head(self, status: HTTPStatus, type_: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{type_}; charset=utf-8")
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-store")

    def _send(self, status: HTTPStatus, body: bytes, type_: str) -> None:
        self._head(status, type_)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _events(self) -> None:
        """Every change from now on, as server-sent events."""
        stage = self.server.stage
        queue = stage.listen()
        self.close_connection = True
        try:
            self._head(HTTPStatus.OK, "text/event-stream")
            self.end_headers()
            while True:
                try:
                    event = queue.get(timeout=PATIENCE)
                    self.wfile.write(f"data: {json.dumps(event, allow_nan=False)}\n\n".encode())
                except Empty:
                    self.wfile.write(b": still here\n\n")
                self.wfile.flush()
        except ConnectionError:
            pass  # the page was closed
        finally:
            stage.leave(queue)

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are nobody's business: they hold the token."""


def _object(text: bytes) -> dict[str, Any] | None:
    """The JSON object that ``text`` is, if it is one."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def page_file(name: str) -> bytes:
    """A part of the page; its style is that of ``explain`` and some of its own."""
    text = (files("nestling.cli.play") / "page" / name).read_bytes()
    return STYLE.encode() + text if name == "page.css" else text
