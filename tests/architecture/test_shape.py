"""The shape of the source: small files, documented passes, foreign libraries kept in their place."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "nestling"
TRANSFORM = SOURCE / "transform"

LINE_CEILING = 420
LONGER: dict[str, str] = {}  # path below src/nestling -> why it is one file

FILES = sorted(SOURCE.rglob("*.py"))

# which folders of src/nestling may import what the others may not
HOMES = {
    "sqlglot": ("frontend/sql",),
    "py4j": ("engine/spark",),
    "pyspark": ("engine/spark", "frontend/dataframe"),
    "lxml": ("xml",),
    "marshal": ("database/seen",),  # which reads nothing but what it has just written
    "pickle": (),
    "shelve": (),
}
RUNS_TEXT = {"eval", "exec", "compile"}
RUNS = ("engine/python/terms",)
#: A function's source is compiled to see whether it is what the function runs; it is not run.
COMPILES = (*RUNS, "frontend/comprehension/compiled")


def name_of(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def test_there_is_something_to_look_at():
    assert FILES
    assert passes()


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_file_fits_a_reader(path):
    lines = len(path.read_text(encoding="utf-8").splitlines())
    if name_of(path) in LONGER:
        assert lines > LINE_CEILING, "no longer needs its exception"
    else:
        assert lines <= LINE_CEILING, "split it, or give a reason in LONGER"


def test_exceptions_are_for_files_that_exist():
    assert set(LONGER) <= {name_of(path) for path in FILES}


def test_a_class_name_means_one_thing():
    places: dict[str, list[str]] = {}
    for path in FILES:
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(name_of(path))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def passes() -> dict[str, list[Path]]:
    """The files of each pass: a module of ``transform`` or of its ``theory`` is a pass, and so is a package."""
    found: dict[str, list[Path]] = {}
    for path in sorted(TRANSFORM.rglob("*.py")):
        parts = path.relative_to(TRANSFORM).parts
        top = "/".join(parts[: 2 if parts[0] == "theory" else 1])
        if parts[-1] != "__init__.py" or len(parts) > top.count("/") + 1:
            found.setdefault(top.removesuffix(".py"), []).append(path)
    return found


@pytest.mark.parametrize("name", passes())
def test_a_pass_states_its_law(name):
    docs = [doc for path in passes()[name] for doc in public_docstrings(path)]
    assert any(re.search(r"\blaws?\b", doc, re.IGNORECASE) for doc in docs)


def public_docstrings(path: Path) -> Iterator[str]:
    """The docstrings of a module and of the function that bears its name."""
    module = tree_of(path)
    yield ast.get_docstring(module) or ""
    for node in module.body:
        if isinstance(node, ast.FunctionDef) and node.name in (path.stem, path.parent.name):
            yield ast.get_docstring(node) or ""


@pytest.mark.parametrize("name", passes())
def test_a_pass_has_a_spec(name):
    spec = ROOT / "tests" / "specs" / f"{Path(name).name}.spec"
    assert spec.is_file()
    assert re.search(r"^apply\s", spec.read_text(encoding="utf-8"), re.MULTILINE), "the spec has no case"


@pytest.mark.parametrize("name", passes())
def test_a_pass_is_in_the_list_of_laws(name):
    laws = ROOT / "docs" / "laws.md"
    assert laws.is_file()
    named = rf"\btransform/{re.escape(name)}\b"
    assert re.search(named, laws.read_text(encoding="utf-8")), f"write transform/{name} beside its law"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_foreign_libraries_stay_at_home(path):
    for imported in imports(tree_of(path)):
        library = imported.partition(".")[0]
        assert may_see(path, HOMES.get(library)), f"{library} belongs in {HOMES[library]}"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_text_is_run_as_code_in_one_place(path):
    called = {node.func for node in ast.walk(tree_of(path)) if isinstance(node, ast.Call)}
    for function in called:
        match function:
            case ast.Name(name) | ast.Attribute(ast.Name("builtins"), name) if name in RUNS_TEXT:
                assert may_see(path, COMPILES if name == "compile" else RUNS), (
                    f"line {function.lineno}: {name}"
                )


def may_see(path: Path, homes: tuple[str, ...] | None) -> bool:
    """Whether ``path`` is in one of ``homes``; None is everywhere. A home is a folder or a module."""
    if homes is None:
        return True
    return any(name_of(path) == f"{home}.py" or name_of(path).startswith(f"{home}/") for home in homes)


def imports(tree: ast.Module) -> Iterator[str]:
    """Every module that a file imports, wherever in the file, also through ``import_module``."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module, _, 0) if module:
                yield module
            case ast.Call(ast.Name(name) | ast.Attribute(_, name), [ast.Constant(str(module)), *_]):
                if name in {"import_module", "__import__"}:
                    yield module


def test_importing_nestling_needs_only_the_standard_library():
    script = (
        "import sys; before = set(sys.modules); import nestling;"
        "print(*sorted({name.partition('.')[0] for name in set(sys.modules) - before}))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr

    loaded = {name for name in run.stdout.split() if not name.startswith("_sysconfigdata")}

    assert "nestling" in loaded
    assert loaded - {"nestling"} <= sys.stdlib_module_names
