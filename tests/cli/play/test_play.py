"""``nestling play``: what the server lets in, what the page is told, and the page itself in a real browser."""

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread
from typing import Any

import jsonpatch
import pytest

import nestling as nl
from nestling.cli.play.playground import Playground, plain
from nestling.cli.play.samples import SAMPLES
from nestling.cli.play.server import PlayServer
from tests.cli.play.chromium import PROGRAM, Chromium


@pytest.fixture
def server() -> Iterator[PlayServer]:
    server = PlayServer(Playground(seed=7))
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def send(server: PlayServer, path: str, body: object = None, **headers: str) -> tuple[int, Any]:
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    given = {"Content-Type": "application/json"} | {k.replace("_", "-"): v for k, v in headers.items()}
    connection.request("GET" if body is None else "POST", path, data, given)
    response = connection.getresponse()
    text = response.read()
    connection.close()
    is_json = response.headers.get_content_type() == "application/json"
    return response.status, json.loads(text) if is_json else text


def ask(server: PlayServer, path: str, body: object = None) -> Any:
    status, found = send(server, f"/{server.token}/{path}", body)
    assert status == 200, found
    return found


def test_only_this_machine_with_the_token(server):
    assert server.server_address[0] == "127.0.0.1"
    assert (
        send(server, "/")[0] == send(server, "/state")[0] == send(server, f"/{server.token}x/state")[0] == 404
    )
    assert send(server, f"/{server.token}/state")[0] == 200
    assert send(server, f"/{server.token}/state", Host="evil.example")[0] == 403


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"text=1", {"Content_Type": "application/x-www-form-urlencoded"}, 415),
        (b'{"what": ', {}, 400),
        (b"[1]", {}, 400),
        (b"[" * 100_000, {}, 400),
        (b"{}", {"Content_Length": "99999999999"}, 413),
        (b"{}", {"Content_Length": "-1"}, 413),
    ],
)
def test_what_is_no_request_is_refused(server, body, headers, status):
    assert send(server, f"/{server.token}/change", body, **headers)[0] == status
    assert ask(server, "state")["version"] == ask(server, "state")["version"]


def test_nothing_is_fetched_from_elsewhere(server):
    connection = HTTPConnection("127.0.0.1", server.server_port)
    for name in ("", "page.css", "page.js"):
        connection.request("GET", f"/{server.token}/{name}")
        response = connection.getresponse()
        text = response.read().decode()

        assert "http:" not in text.replace("http://www.w3.org", "") and "https:" not in text
        assert "default-src 'none'" in response.headers["Content-Security-Policy"]
    connection.close()
    for path in ("page.html", "../samples.py", "%2e%2e/samples.py", "page/page.js"):
        assert send(server, f"/{server.token}/{path}")[0] == 404


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_and_their_steps(server, name):
    """Every text of every sample is kept, and what the page is told leads from each answer to the next."""
    state = ask(server, "open", {"name": name})
    for text in state["texts"]:
        found = ask(server, "view", {"text": text["text"], "language": text["language"]})
        assert found["warnings"] == [] and "maintained on every change" in found["explained"].lower()
        rows = found.get("rows")
        for _ in range(6):
            told = ask(server, "step", {})
            if rows is not None:
                rows = jsonpatch.apply_patch(rows, told["patch"] or [])
        answer = ask(server, "answer")
        assert answer.get("rows") == rows
        assert 0 < answer["work"]["done"] <= answer["work"]["anew"]
    server.stage._database.verify()


def test_an_error_has_its_place(server):
    status, found = send(
        server, f"/{server.token}/view", {"text": "SELECT nme\nFROM products", "language": "sql"}
    )

    assert status == 422
    assert "nme" in found["error"]["what"] and found["error"]["place"]["line"] == 1
    assert ask(server, "answer")["view"] is False


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"what": None},
        {"what": "insert"},
        {"what": "insert", "table": "no"},
        {"what": "insert", "table": "products", "row": {"pid": "x"}},
        {"what": "insert", "table": "products", "row": None},
        {"what": "delete", "table": "products", "key": [1, 2]},
        {"what": "update", "table": "products", "key": 1, "set": 5},
        {"what": "update", "table": "products", "key": 1, "set": {"nope": 5}},
        {"what": "insert element", "table": "orders", "key": 1, "bag": "id", "element": {}},
        {"what": "insert element", "table": "orders", "key": 1, "bag": "__class__", "element": {}},
        {"what": "xquery", "text": "delete node"},
    ],
)
def test_a_bad_change_changes_nothing(server, change):
    before = ask(server, "tables")

    status, found = send(server, f"/{server.token}/change", change)

    assert status == 422 and found["error"]["what"]
    assert ask(server, "tables") == before


def test_changes_by_hand(server):
    ask(
        server,
        "view",
        {"text": "[(o.id, sum(i.qty for i in o.items)) for o in orders]", "language": "python"},
    )
    ask(
        server, "change", {"what": "insert", "table": "orders", "row": {"id": 99, "customer": 0, "items": []}}
    )
    ask(server, "change", {"what": "insert element", "table": "orders", "key": 99, "bag": "items",
                           "element": {"pid": 1, "qty": 7}})  # fmt: skip

    assert {"id": 99, "_1": 7} in ask(server, "answer")["rows"]
    ask(server, "change", {"what": "delete element", "table": "orders", "key": 99, "bag": "items",
                           "element": {"pid": 1, "qty": 7}})  # fmt: skip
    assert {"id": 99, "_1": 0} in ask(server, "answer")["rows"]
    ask(server, "change", {"what": "update", "table": "products", "key": 1, "set": {"price": 5}})
    ask(server, "change", {"what": "delete", "table": "orders", "key": 99})
    assert 99 not in [row["id"] for row in ask(server, "answer")["rows"]]


def test_a_file_is_copied(tmp_path):
    file = tmp_path / "own.nest"
    with nl.Database(file) as db:
        db.table("T", {"a": int, "b": float | None}, key="a")
        db.insert("T", [(1, None), (2, float("inf"))])
    stage = Playground(file)

    stage.define("SELECT a, b FROM T", "sql")
    stage.change({"what": "insert", "table": "T", "row": {"a": 2**60, "b": 0.5}})

    assert stage.answer()["rows"][-1] == {"a": str(2**60), "b": 0.5}
    json.dumps(stage.state(), allow_nan=False)
    with nl.Database(file) as db:
        assert len(db.table("T")) == 2 and not db.views


def closure_and_maps(folder: Path) -> Path:
    """A file with a graph, and with a column that is a map."""
    file = folder / "graph.nest"
    with nl.Database(file) as db:
        db.table("edges", {"a": str, "b": str}).insert([("Rome", "Milan"), ("Milan", "Turin")])
        db.table("pages", {"id": int, "words": dict[str, int]}, key="id").insert([(1, {"leaf": 3}), (2, {})])
    return file


CLOSURE = """WITH RECURSIVE reach(a, b) AS (
  SELECT a, b FROM edges UNION SELECT r.a, e.b FROM reach r JOIN edges e ON r.b = e.a)
SELECT a, b FROM reach"""


def test_a_recursion_is_followed(tmp_path):
    stage = Playground(closure_and_maps(tmp_path))
    assert len(stage.define(CLOSURE, "sql")["rows"]) == 3

    told = stage.change({"what": "insert", "table": "edges", "row": {"a": "Turin", "b": "Rome"}})

    assert len(told["patch"]) == 6 and len(stage.answer()["rows"]) == 9
    assert told["work"]["anew"] == 3 + 9


def test_a_map_is_changed_as_a_whole(tmp_path):
    stage = Playground(closure_and_maps(tmp_path))
    table = next(table for table in stage.tables()["tables"] if table["name"] == "pages")
    assert (table["maps"], table["bags"]) == (["words"], [])
    stage.define("SELECT id, words FROM pages", "sql")

    stage.change({"what": "update", "table": "pages", "key": 1, "set": {"words": {"leaf": 4, "cup": 1}}})

    entries = [{"key": "cup", "value": 1}, {"key": "leaf", "value": 4}]
    assert stage.answer()["rows"] == [{"id": 1, "words": entries}, {"id": 2, "words": []}]


def test_an_event_for_everybody(server):
    queues = [server.stage.listen() for _ in range(2)]
    ask(server, "step", {})

    first, second = [queue.get(timeout=5) for queue in queues]
    assert first == second and first["kind"] == "changed"
    server.stage.leave(queues[0])
    ask(server, "step", {})
    assert queues[1].get(timeout=5)["version"] > second["version"] and queues[0].empty()


def test_plain_values_are_json():
    assert plain({"a": [b"x", float("-inf")]}) == {"a": ["b'x'", "-inf"]}


@pytest.mark.skipif(PROGRAM is None, reason="no Chromium is installed")
def test_the_page_in_a_browser(server, tmp_path: Path):
    """As a user would: a view, a place in its text, an error, an edit of a cell and of a bag, a document."""
    browser = Chromium(tmp_path / "profile")
    try:
        browser.open(server.address)
        browser.until("document.querySelectorAll('#answer table tr').length > 8")
        browser.run("document.querySelector('.placed').click()")
        assert (
            browser.run("$('text').value.slice($('text').selectionStart, $('text').selectionEnd)")
            == "c in customers"
        )

        browser.run("$('text').value = '[p.nme for p in products]'; $('define').click()")
        browser.until("!$('problem').hidden")
        assert "nme" in browser.run("$('problem').textContent")

        browser.run("$('text').value = '[(p.name, p.price) for p in products]'; $('define').click()")
        browser.until("$('problem').hidden")
        price = (
            "document.querySelectorAll('.table-of-rows')[1].querySelector('td[contenteditable]:nth-child(3)')"
        )
        browser.run(f"{price}.focus(); {price}.textContent = '4242'; document.activeElement.blur()")
        browser.until(
            "[...document.querySelectorAll('#answer .lit')].some(cell => cell.textContent.includes('4242'))"
        )
        assert browser.run("Number($('done').textContent) > 0")

        browser.run("$('database').value = 'auction'; $('database').dispatchEvent(new Event('change'))")
        browser.until("document.querySelector('#answer .markup') !== null")
        browser.until("$('step').click(), document.querySelector('#answer .lit') !== null")
        assert browser.errors == [error for error in browser.errors if "422" in error]  # the refused view
    finally:
        browser.close()


def test_elements_at_any_depth(server):
    ask(server, "open", {"name": "objects"})
    db = server.stage._database
    page = [{"at": int}]
    books = [{"no": int, "pages": page, "marks": list[int]}]
    table = db.table("shelves", {"id": int, "books": books}, key="id")
    table.insert([(1, [(7, [(1,)], [5]), (8, [], [])])])
    inside = [{"bag": "books", "element": {"no": 7, "pages": [{"at": 1}], "marks": [5]}}]
    change = {"table": "shelves", "key": 1, "inside": inside}
    ask(server, "change", {**change, "what": "insert element", "bag": "pages", "element": {"at": 2}})
    ask(server, "change", {**change, "what": "delete element", "bag": "marks", "element": 5})
    assert table[1].books == [(7, [(1,), (2,)], []), (8, [], [])]
    for wrong in (
        {"inside": 5},
        {"inside": [5]},
        {"inside": [{"bag": "__class__", "element": {}}]},
        {"inside": [{"bag": "books", "element": 5}]},
        {"inside": [{"bag": "books", "element": {"no": 9}}]},
        {"bag": "__class__"},
        {"bag": "no"},
    ):
        body = {**change, "what": "insert element", "bag": "pages", "element": {"at": 2}, **wrong}
        assert send(server, f"/{server.token}/change", body)[0] == 422
    assert table[1].books == [(7, [(1,), (2,)], []), (8, [], [])]


def test_an_xquery_view_is_explained_with_pictures(server):
    state = ask(server, "open", {"name": "auction"})
    text = next(each for each in state["texts"] if each["language"] == "xquery")
    found = ask(server, "view", {"text": text["text"], "language": "xquery"})["explained"]
    assert "<svg" in found and "construct by construct" in found
    assert "§" not in found


@pytest.mark.skipif(PROGRAM is None, reason="no Chromium is installed")
def test_a_file_with_a_map_in_a_browser(tmp_path: Path):
    """The page shows a map of a table as JSON, which is edited whole, and one of the answer as a table."""
    server = PlayServer(Playground(closure_and_maps(tmp_path)))
    Thread(target=server.serve_forever, daemon=True).start()
    browser = Chromium(tmp_path / "profile")
    try:
        browser.open(server.address, width=400)
        browser.until("document.querySelectorAll('input.map').length === 2")
        browser.run(
            "$('language').value = 'sql'; $('text').value = 'SELECT id, words FROM pages'; $('define').click()"
        )
        browser.until("$('answer').textContent.includes('leaf')")
        browser.run(
            "let map = document.querySelector('input.map'); map.focus(); map.value = '{\"mint\": 5}'; map.blur()"
        )
        browser.until("$('answer').textContent.includes('mint')")
        assert browser.run("document.documentElement.scrollWidth") <= 400
        assert browser.errors == []
    finally:
        browser.close()
        server.shutdown()
        server.server_close()
