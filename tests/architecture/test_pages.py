"""The pages about the code are true: modules exist, imports are as drawn, and the walks enter what they name."""

import ast
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import nestling as nl
from tests.architecture.test_shape import FILES, SOURCE, imports, name_of, tree_of

ROOT = Path(__file__).parents[2]
ARCHITECTURE = ROOT / "docs" / "architecture.md"
LIFE = ROOT / "docs" / "life_of_a_change.md"
PATH = re.compile(r"`((?:[a-z_0-9]+/)+[a-z_0-9]+)(?:\.py)?`")
GRAPH = re.compile(r"(?<=```mermaid\n).*?(?=```)", re.DOTALL)

#: Packages that are drawn by themselves; what else is below them is part of the package around it.
DRAWN = (
    "frontend.comprehension", "frontend.sql", "frontend.oql", "frontend.dataframe", "frontend.schema", "engine.python",
    "engine.local", "engine.native", "engine.spark",
)  # fmt: skip
SINGLE = {"errors", "quoting", "bulk", "depth", "progress", "__init__", "__main__"}


@pytest.mark.parametrize("page", ["architecture", "life_of_a_change", "laws", "pipeline"])
def test_every_path_exists(page):
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    paths = {found for found in PATH.findall(text) if not found.endswith("/")}

    assert paths
    for path in sorted(paths):
        places = [SOURCE / path, SOURCE / f"{path}.py", ROOT / path, ROOT / f"{path}.py"]
        assert any(place.exists() for place in places), path


def test_the_tree_has_every_package():
    packages = {
        path.parent.relative_to(SOURCE).as_posix()
        for path in FILES
        if path.name == "__init__.py" and path.parent != SOURCE
    }
    table = ARCHITECTURE.read_text(encoding="utf-8").partition("## The tree")[2].partition("## Who")[0]
    named = set(re.findall(r"`([a-z_/]+)`", table))

    for package in sorted(packages):
        top, *rest = package.split("/")[:2]
        assert "/".join([top, *rest]) in named or top in ("cli", "database"), package


def test_the_graph_is_that_of_the_imports(request):
    text = ARCHITECTURE.read_text(encoding="utf-8")
    drawn = "flowchart TD\n" + "".join(f"    {node(a)} --> {node(b)}\n" for a, b in sorted(reduced(edges())))
    if request.config.getoption("--update"):
        ARCHITECTURE.write_text(GRAPH.sub(drawn, text), encoding="utf-8")

    assert GRAPH.findall(ARCHITECTURE.read_text(encoding="utf-8")) == [drawn]


def node(package: str) -> str:
    """A package as Mermaid writes a node: a plain word, and what is shown for it."""
    return package if "/" not in package else f'{package.replace("/", "_")}["{package}"]'


def edges() -> set[tuple[str, str]]:
    """Which package imports which."""
    found = set()
    for path in FILES:
        here = package_of(name_of(path).removesuffix(".py").replace("/", "."))
        for module in {*imports(tree_of(path)), *submodules(tree_of(path))}:
            if module.startswith("nestling."):
                found.add((here, package_of(module.removeprefix("nestling."))))
    return {(a, b) for a, b in found if a != b and not {a, b} & SINGLE}


def submodules(tree: ast.Module) -> Iterator[str]:
    """``nestling.a.b`` for ``from nestling.a import b``, where that is a package or module."""
    for found in ast.walk(tree):
        match found:
            case ast.ImportFrom(str(module), names, 0) if module.startswith("nestling."):
                folder = SOURCE / module.removeprefix("nestling.").replace(".", "/")
                for alias in names:
                    if (folder / alias.name).is_dir() or (folder / f"{alias.name}.py").exists():
                        yield f"{module}.{alias.name}"


def package_of(module: str) -> str:
    drawn = next((name for name in DRAWN if module == name or module.startswith(f"{name}.")), "")
    return drawn.replace(".", "/") or module.partition(".")[0]


def reduced(graph: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """The arrows that do not follow from others."""
    below = {a: reach(a, graph) for a, _ in graph}
    return {
        (a, b)
        for a, b in graph
        if not any(b in below.get(c, ()) for x, c in graph if x == a and c != b and a not in below.get(c, ()))
    }


def reach(start: str, graph: set[tuple[str, str]]) -> set[str]:
    found, todo = set[str](), [start]
    while todo:
        here = todo.pop()
        for a, b in graph:
            if a == here and b not in found:
                found.add(b)
                todo.append(b)
    return found


def test_packages_import_each_other_in_one_direction():
    graph = edges()
    assert [package for package, _ in graph if package in reach(package, graph)] == []


# -- the walks


def entered(call: Callable[[], Any]) -> set[str]:
    """The modules whose functions run during ``call``, as the pages write them."""
    found, root = set[str](), f"{SOURCE}/"

    def note(frame: Any, event: str, _: Any) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(root):
            found.add(file.removeprefix(root).removesuffix(".py"))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return found


def steps(page: Path, heading: str) -> set[str]:
    """The modules that a section names."""
    section = page.read_text(encoding="utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return set(PATH.findall(section)) - {
        "frontend/sql",
        "frontend/oql",
        "frontend/dataframe",
        "engine/spark/limits",
    }


def totals(orders, products):
    return [
        {
            "order": o.id,
            "cents": sum(i.qty * p.price for i in o.items for p in products if p.pid == i.pid),
        }
        for o in orders
    ]


def shop(**options: Any) -> nl.Database:
    db = nl.Database(**options)
    db.table("products", "pid INT, name STRING, price INT", key="pid")
    db.table("orders", "id INT, customer STRING, items ARRAY<STRUCT<pid: INT, qty: INT>>", key="id")
    db.insert("products", [(1, "tea", 450), (2, "cup", 900)])
    db.insert("orders", [(7, "Ada", [(1, 2)])])
    return db


def insertion(db: nl.Database) -> Callable[[], Any]:
    return lambda: db.table("orders").at(7).items.insert([{"pid": 2, "qty": 1}])


@pytest.mark.in_python
def test_the_walk_of_a_definition(tmp_path):
    db = shop(path=tmp_path / "shop.nest")

    assert (
        steps(ARCHITECTURE, "The walk of a definition") - entered(lambda: db.view("totals", totals)) == set()
    )


@pytest.mark.in_python
def test_the_life_of_a_change(tmp_path):
    with shop(path=tmp_path / "shop.nest") as db:
        view = db.view("totals", totals)
        view.subscribe(lambda change: repr(change.inserted))
        written, read = entered(insertion(db)), entered(lambda: view[7])

    assert steps(LIFE, "Embedded: one element") - written == set()
    assert steps(LIFE, "Embedded: a reading") - read == set()
