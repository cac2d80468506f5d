"""What others wrote enters generated text through ``quoting`` and in no other way.

Writers of Python and of SQL put texts together with f-strings. A hole between quotes, or behind the sign of a comment,
is a place where a name could end what it stands in; so none has any, and what stands in quotes is a call of
``quoting``. That this finds what it should is shown on lines that it once let pass.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.test_shape import FILES, name_of, tree_of

#: Where Python and SQL are written.
WRITERS = ("engine/", "database/spark/", "frontend/dataframe/")
#: Where what others wrote becomes part of it.
HOMES = ("quoting.py", "engine/python/source.py")
QUOTES = "'\"`"


def places(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The lines of ``tree`` where text is put between quotes, or into a comment, by hand."""
    spoken = {id(inner) for node in ast.walk(tree) if is_message(node) for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in spoken:
            continue
        match node:
            case ast.JoinedStr(parts):
                if has_quoted_hole(parts) or is_comment(parts):
                    yield node.lineno, ast.unparse(node)
            case ast.BinOp(left, ast.Add(), right):
                if opens(left) or opens(right):
                    yield node.lineno, ast.unparse(node)
            case ast.Call(ast.Attribute(ast.Constant(str(text)), "format" | "join")) | ast.BinOp(
                ast.Constant(str(text)), ast.Mod()
            ):
                if text.strip() in tuple(QUOTES) or re.search(r"['\"`][{%]", text):
                    yield node.lineno, ast.unparse(node)


def is_message(node: ast.AST) -> bool:
    """Whether ``node`` is said to a person: there a quote may be an apostrophe."""
    match node:
        case ast.Raise():
            return True
        case ast.Call(ast.Name(name) | ast.Attribute(_, name)):
            return name.endswith("Error") or name == "refused"
    return False


def has_quoted_hole(parts: list[ast.expr]) -> bool:
    inside = ""
    for part in parts:
        match part:
            case ast.Constant(str(text)):
                for sign in text:
                    if sign == inside:
                        inside = ""
                    elif not inside and sign in QUOTES:
                        inside = sign
            case ast.FormattedValue() if inside:
                return True
    return False


def is_comment(parts: list[ast.expr]) -> bool:
    match parts:
        case [ast.Constant(str(text)), ast.FormattedValue(), *_]:
            return text.lstrip().startswith(("# ", "-- ", "/* "))
    return False


def opens(node: ast.AST) -> bool:
    """Whether a constant leaves a quote open."""
    match node:
        case ast.Constant(str(text)):
            return any(text.count(sign) % 2 for sign in QUOTES)
    return False


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_quotes_are_put_around_text_in_one_place(path: Path):
    name = name_of(path)
    if name in HOMES or not name.startswith(WRITERS):
        return
    assert list(places(tree_of(path))) == []


@pytest.mark.parametrize(
    "line",
    [
        """out.line(f'\"\"\"The {title}: each with a multiplicity.\"\"\"')""",
        'out.line(f"# {describe(statement)}")',
        'out.line(f"    # pass the change of {action.map} on")',
        "f\"'{name}', {text}\"",
        'f"{text} AS `{name}`"',
        """f"`{name.replace('`', '``')}`: {type_}\"""",
        "f\"CAST('{value}' AS BIGINT)\"",
        "f\"concat('i{site};(', {inner}')')\"",
        'frame[f"`{name}`"]',
        '"\'" + text + "\'"',
        '"`" + name.replace("`", "``") + "`"',
        '"SELECT `%s`" % name',
        "\"'{}'\".format(name)",
        'f"/* {view} */ SELECT 1"',
    ],
)
def test_such_places_are_found(line: str):
    assert list(places(ast.parse(line)))


@pytest.mark.parametrize(
    "line",
    [
        "f\"named_struct('v', {value}, 'n', {count})\"",
        'f"{text} AS {sql_name(name)}"',
        'f"CAST({sql_text(text)} AS {type_})"',
        """raise QueryError(f"{value} does not fit Spark's {bits} bits")""",
        'out.comment(f"pass the change of {name} on")',
    ],
)
def test_others_are_not(line: str):
    assert not list(places(ast.parse(line)))


def test_a_writer_of_the_local_engine_knows_no_other_way_to_a_comment():
    """``SourceWriter`` refuses a line that is more than one."""
    from nestling.engine.python.source import SourceWriter

    for sign in "\n\r\x0b\x0c\x1c\x85\u2028\u2029\0":
        with pytest.raises(ValueError, match="not a line"):
            SourceWriter().line(f"x = 1{sign}y = 2")
