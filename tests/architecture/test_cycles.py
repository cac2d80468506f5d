"""No module of Nestling imports, by whatever way, one that imports it: also not for the sake of a type."""

import grimp
import pytest


def cycles(imports: dict[str, set[str]]) -> list[list[str]]:
    """The sets of modules each of which is reached from each other (Kosaraju)."""
    finished: list[str] = []
    seen: set[str] = set()
    for start in imports:
        _visit(start, imports, seen, finished)
    backwards: dict[str, set[str]] = {name: set() for name in imports}
    for name, imported in imports.items():
        for other in imported:
            backwards[other].add(name)
    seen, found = set(), []
    for start in reversed(finished):
        component: list[str] = []
        _visit(start, backwards, seen, component)
        if len(component) > 1 or start in imports[start]:
            found.append(sorted(component))
    return found


def _visit(start: str, imports: dict[str, set[str]], seen: set[str], finished: list[str]) -> None:
    stack = [(start, False)]
    while stack:
        name, is_done = stack.pop()
        if is_done:
            finished.append(name)
        elif name not in seen:
            seen.add(name)
            stack += [(name, True), *((other, False) for other in imports[name])]


@pytest.mark.parametrize(
    ("imports", "expected"),
    [
        ({"a": {"b"}, "b": set()}, []),
        ({"a": {"b", "c"}, "b": {"c"}, "c": set()}, []),
        ({"a": {"b"}, "b": {"a"}}, [["a", "b"]]),
        ({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}, [["a", "b", "c"]]),
    ],
)
def test_cycles_are_found(imports: dict[str, set[str]], expected: list[list[str]]) -> None:
    assert cycles(imports) == expected


def test_no_module_imports_itself_in_a_circle() -> None:
    graph = grimp.build_graph("nestling", cache_dir=None, exclude_type_checking_imports=False)
    assert cycles({name: imported_by(graph, name) for name in graph.modules}) == []


def imported_by(graph: grimp.ImportGraph, name: str) -> set[str]:
    """What ``name`` imports. The extension has no source here, and is taken for the package that it is in."""
    found = graph.find_modules_directly_imported_by(name)
    lines = [each["line_contents"] for each in graph.get_import_details(importer=name, imported="nestling")]
    is_extension = bool(lines) and all("nestling._native" in line for line in lines)
    return found - {"nestling"} if is_extension else found
