"""The Python text of a query: found, parsed, and kept together with what its free names mean.

A function is found in its file by where its code object says it starts; a lambda moreover by the columns of
its instructions, so that several on one line are told apart. Lines and columns stay those of the user's file.

What is read is what runs: of a decorated function, what the decorator returned; and a text that does not compile to
the code that the function has is refused.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any, TypeAlias

from nestling.errors import QueryError, Span
from nestling.frontend.comprehension.compiled import code_in
from nestling.frontend.comprehension.prompt import typed

Function: TypeAlias = ast.FunctionDef | ast.Lambda
Body: TypeAlias = Function | ast.expr

#: What remembers results: of a function that depends on its arguments alone it makes no other.
CACHED = type(lru_cache(lambda: None))

#: What a text may name without having it from anywhere: the builtins, and the constructors of scalars.
TEXT_NAMES: Mapping[str, object] = {
    **vars(builtins), "date": date, "datetime": datetime, "time": time, "timedelta": timedelta, "Decimal": Decimal,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class SourceText:
    """A text, the file it stands in, and the meaning of names it does not bind itself."""

    lines: tuple[str, ...]
    file: str
    names: Callable[[str], object]

    def span(self, node: ast.AST, last: ast.AST | None = None) -> Span:
        """The place of ``node``, up to ``last``: its first line, not indented, and the columns it takes there."""
        line, last = getattr(node, "lineno", 1), last or node
        end = getattr(last, "end_lineno", 1)
        text = self.lines[line - 1].rstrip("\n") if line <= len(self.lines) else ""
        start = _column(text, getattr(node, "col_offset", 0))
        stop = _column(text, getattr(last, "end_col_offset", 0)) if end == line else len(text)
        indent = len(text) - len(text.lstrip())
        return Span(line, start - indent, text.strip(), max(1, stop - start), self.file)


@dataclass(frozen=True, eq=False)
class PythonDefinition:
    """What was read: a function, a lambda or an expression, where it stands, and what a call need not give."""

    node: Body
    source: SourceText
    defaults: Mapping[str, object] = field(default_factory=dict)


def read(source: object) -> PythonDefinition:
    """The definition of a callable or of a text."""
    return read_text(source) if isinstance(source, str) else read_function(source)


def read_text(text: str) -> PythonDefinition:
    """An expression, a lambda or one function given as text; its free names are builtins."""
    clean = textwrap.dedent(text).strip("\n")
    source = SourceText(tuple(clean.split("\n")), "", TEXT_NAMES.__getitem__)
    try:
        tree = _parse(clean.rstrip())
    except (SyntaxError, ValueError) as error:
        raise _not_python(error) from error
    match tree.body:
        case [ast.Expr(value)]:
            return PythonDefinition(value, source)
        case [ast.FunctionDef() as function]:
            return PythonDefinition(function, source)
    raise QueryError(
        "a view is one comprehension",
        at=Span(1, 0, clean.split("\n", 1)[0]),
        hint="write [… for x in …], or one function that returns it",
    )


def read_function(function: object) -> PythonDefinition:
    """The definition of a Python function or lambda, with its closure and globals."""
    if isinstance(function, CACHED):
        return read_function(function.__wrapped__)
    if not isinstance(function, FunctionType):
        raise QueryError(
            f"{_shown(function)} is not a Python function",
            hint="pass a function, a lambda, or the text of the comprehension with language='python'",
        )
    found = _definition(function)
    inner = _passed_on(found)
    return found if inner is None else read_function(inner)


def _definition(function: FunctionType) -> PythonDefinition:
    lines = _lines(function)
    _refuse_async(function, _first_line(function.__code__, lines))
    try:
        code = code_in("".join(lines), function.__code__)
        functions = _functions("".join(lines))
    except (SyntaxError, ValueError) as error:
        raise _unreadable(function) from error
    if code is None:
        raise _changed(function)
    source = SourceText(lines, function.__code__.co_filename, _Scope(function))
    return PythonDefinition(_found(functions, code, function), source, _defaults(function))


def _defaults(function: FunctionType) -> dict[str, object]:
    code, last = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount]
    return dict(zip(names[len(names) - len(last) :], last, strict=True)) | (function.__kwdefaults__ or {})


def _first_line(code: CodeType, lines: Sequence[str]) -> Span:
    line = code.co_firstlineno
    return Span(line, 0, lines[line - 1].strip() if line <= len(lines) else "", file=code.co_filename)


def _refuse_async(function: FunctionType, at: Span) -> None:
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise QueryError("an async function is not supported", at=at, hint="define it with def")


def _passed_on(found: PythonDefinition) -> object:
    """The function that ``found`` calls with all its arguments as they are, and does nothing else."""
    match found.node:
        case ast.FunctionDef(args=given, body=[*first, ast.Return(ast.Call(ast.Name(name), args, keywords))]):
            if given.vararg is None or given.posonlyargs or given.args or given.kwonlyargs:
                return None
            wanted = [ast.Starred(ast.Name(given.vararg.arg, ast.Load()), ast.Load())]
            rest = [given.kwarg.arg] if given.kwarg else []
            named = [ast.keyword(None, ast.Name(own, ast.Load())) for own in rest]
            is_plain = all(isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant) for s in first)
            if is_plain and _written([*args, *keywords]) == _written([*wanted, *named]):
                return found.source.names(name)
    return None


def _written(nodes: Sequence[ast.AST]) -> list[str]:
    return [ast.dump(node) for node in nodes]


class _Scope:
    """The names a function sees and does not bind: its closure, its globals, the builtins."""

    def __init__(self, function: FunctionType) -> None:
        self.cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        self.globals = function.__globals__
        own: Any = function  # only some descriptions of Python's types know of its builtins
        self.builtins: Mapping[str, object] = own.__builtins__

    def __call__(self, name: str) -> object:
        if name in self.cells:
            try:
                return self.cells[name].cell_contents
            except ValueError as error:  # bound later than the query is read
                raise KeyError(name) from error
        if name.startswith("__") and not name.endswith("__"):
            raise KeyError(name)  # in a class it would be another name
        return self.globals[name] if name in self.globals else self.builtins[name]


def _lines(function: FunctionType) -> tuple[str, ...]:
    try:
        return tuple(inspect.findsource(function)[0])
    except (OSError, TypeError, IndexError) as error:
        if (lines := typed(function)) is not None:
            return lines
        raise _unreadable(function) from error


@lru_cache(maxsize=16)
def _functions(text: str) -> tuple[Function, ...]:
    """All functions of a file, however deep; a file with many views is walked once."""
    return tuple(node for node in ast.walk(_parse(text)) if isinstance(node, ast.FunctionDef | ast.Lambda))


def _parse(text: str) -> ast.Module:
    with warnings.catch_warnings():
        # Python warned of odd literals when it read the file itself.
        warnings.simplefilter("ignore")
        return ast.parse(text)


def _found(functions: Sequence[Function], code: CodeType, function: FunctionType) -> Function:
    found = [node for node in functions if _may_be(node, code)]
    if len(found) > 1:
        found = _innermost(found, code)
    if len(found) == 1:
        return found[0]
    if not found:
        raise _unreadable(function)
    raise QueryError(
        f"line {code.co_firstlineno} of {function.__code__.co_filename} has several lambdas that look alike",
        hint="put each on a line of its own",
    )


def _may_be(node: Function, code: CodeType) -> bool:
    """Whether ``code`` may come from ``node``: same name, first line and parameters."""
    name, first = getattr(node, "name", "<lambda>"), node.lineno
    if isinstance(node, ast.FunctionDef):
        first = min([first, *(part.lineno for part in node.decorator_list)])
    given = node.args
    names = tuple(arg.arg for arg in (*given.posonlyargs, *given.args, *given.kwonlyargs))
    count = code.co_argcount + code.co_kwonlyargcount
    return name == code.co_name and first == code.co_firstlineno and names == code.co_varnames[:count]


def _innermost(found: list[Function], code: CodeType) -> list[Function]:
    """Of ``found``, the smallest whose body holds every instruction of ``code``."""
    places = [
        ((line, column), (end, end_column))
        for line, end, column, end_column in code.co_positions()
        # The first instruction stands for the whole and is given no width.
        if None not in (line, end, column, end_column) and (line, column) != (end, end_column)
    ]
    holding = [
        (start, node)
        for node in found
        if isinstance(node, ast.Lambda) and places
        for start, end in [_extent(node.body)]
        if all(start <= first and last <= end for first, last in places)
    ]
    latest = max((start for start, _ in holding), default=None)
    inner = [node for start, node in holding if start == latest]
    return [*inner] or found


def _extent(node: ast.expr) -> tuple[tuple[int, int], tuple[int, int]]:
    return (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)


def _column(text: str, offset: int) -> int:
    """A column in characters, from Python's offset in bytes."""
    return len(text.encode()[:offset].decode(errors="ignore"))


def _not_python(error: Exception) -> QueryError:
    if not isinstance(error, SyntaxError):
        return QueryError(f"this is not Python: {error}")
    text = (error.text or "").rstrip("\n")
    at = Span(error.lineno or 1, max(0, (error.offset or 1) - 1), text) if text else None
    return QueryError(f"this is not Python: {error.msg}", at=at)


def _unreadable(function: FunctionType) -> QueryError:
    at_prompt = function.__code__.co_filename == "<stdin>"
    why = "a plain prompt keeps no source before Python 3.13, IPython does; " if at_prompt else ""
    return QueryError(
        f"the source of {_shown(function)} cannot be read",
        hint=f"{why}pass its text instead: db.view(name, '[… for x in …]', language='python')",
    )


def _changed(function: FunctionType) -> QueryError:
    code = function.__code__
    return QueryError(
        f"{_shown(function)} is not what line {code.co_firstlineno} of {code.co_filename} says now",
        hint="the file was edited or the function changed since it was imported: import it again,"
        " or pass the text with language='python'",
    )


def _shown(value: object) -> str:
    name = getattr(value, "__qualname__", None)
    return f"{name!r}" if isinstance(name, str) else f"an object of type {type(value).__name__}"
