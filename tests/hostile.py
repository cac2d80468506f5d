"""Names and texts that would do harm, were they pasted into Python, SQL, HTML or a path."""

import builtins
from collections.abc import Iterator
from contextlib import contextmanager

#: What injected Python would do.
_MARK = "NESTLING_WAS_ENTERED"
STATEMENT = f"import builtins; builtins.{_MARK} = 1"
EXPRESSION = f"setattr(__import__('builtins'), '{_MARK}', 1)"
QUOTED = EXPRESSION.replace("'", '"')

#: Texts that end what they could stand in, and go on with code of their own.
BREAKING_OUT = (
    f'x"""\n    yield ()\n{STATEMENT}\ndef f():\n    """',
    f'x"""; {STATEMENT}; """',
    f'x\\"""; {STATEMENT} #',
    f"x\n{STATEMENT}\n#",
    f"x\n    {STATEMENT}\n    #",
    f"x\r{STATEMENT}\r#",
    f"x\r\n        {STATEMENT}\r\n#",
    f"x\x0b{STATEMENT}\x0b#",
    f"x\x0c{STATEMENT}\x0c#",
    f"x\x85{STATEMENT}\x85#",
    f"x\u2028{STATEMENT}\u2028#",
    f"x\u2029{STATEMENT}\u2029#",
    f"x' + str({QUOTED}) + '",
    f'x" + str({EXPRESSION}) + "',
    f"x] + [{EXPRESSION}] + [",
    f"x); {STATEMENT} #",
    f"x = {EXPRESSION}",
    f"{{{EXPRESSION}}}",
    f"x`.f0, {EXPRESSION}, `",
    "x` AS y, raise_error('in') AS `z",
    "x', raise_error('in'), '",
    "x'), raise_error('in'), ('",
    "x\\', raise_error(\\'in\\'), \\'",
    "x` STRING>, `y",
)

#: Signs that mean something somewhere.
SIGNS = (
    "'", '"', "`", "``", "'''", '"""', "\\", "\\\\", "x\\", "\\u0027", "\\x27", "\\N{BULLET}", "\n", "\r", "\t", "\0",
    "x\0y", "\x1b[31m", "\ud800", "x\udcff", "\u2028", "\x7f", "{", "}", "{}", "{0}", "{x}", "{{", "%s", "%(x)s",
    "$", "${spark.app.name}", "${env:HOME}", "${system:user.dir}", "${x", "$x", "--", "-- x", "/*", "*/", "/* x */",
    ";", "; DROP TABLE t", "#", "# x", "?", ":x", "@x", "*", ".", "..", "a.b", "../../x", "/etc/passwd", "a/b", "a:b",
    "<script>alert(1)</script>", "<b>", "&amp;", "]]>", "[bold]x[/bold]", "[/x]", "=1+1", "a=b", "a,b", "a b", " ",
    " a", "a ", "~", "(", ")", "f(x)", "[0]", "",
)  # fmt: skip

#: Words of Python, of SQL, and of generated code.
WORDS = (
    "class", "None", "True", "False", "lambda", "def", "for", "in", "if", "not", "and", "or", "yield", "return", "del",
    "match", "case", "type", "_", "__", "___", "__class__", "__debug__", "__builtins__", "__import__", "__name__",
    "print", "len", "sum", "min", "max", "any", "sorted", "abs", "dict", "count", "index", "_fields", "_make",
    "row", "times", "key0", "key1", "key", "keys", "total", "cell", "part", "ordered", "change", "changes", "group",
    "value", "at", "low", "high", "is_true", "bound_new", "ABOVE", "EMPTY", "NOTHING", "OrderedMap", "Label", "Decimal",
    "date", "inf", "nan", "lazy_and", "read_avg", "fn_abs", "settle", "insort", "T_t", "on_t", "on_t_batch", "t_batch",
    "t_by_0", "t_by_1", "t_sorted_", "t_sorted_0", "change_L0", "A0", "R0", "L0", "C0", "B0", "A1", "R1", "L1", "C1",
    "const·0", "watch t", "watch v", "watch list", "·watch v", "·times", "·at", "·n", "·0", "·", "a·b", "a‿b", "a⁀62⁀",
    "Δt", "Δ2t", "Δ", "postponed L0", "feed of v", "t waiting for v", "·fill A0", "·undefined v", "table t", "look",
    "rows", "run", "found0", "in_64_bits", "both", "apply_min", "sng", "union", "where", "fold", "by", "as", "let",
    "sng_1", "inL_1", "e0", "v", "n", "l", "p", "id", "e", "c", "d", "k0", "m0", "o0", "c0", "f0", "bag", "copy",
    "element", "inner", "there", "nestling_0", "one", "select", "from", "null", "true", "struct", "array", "_1", "_0",
)  # fmt: skip

#: Letters that Python, a file system or a reader may take for others.
LETTERS = (
    "\ufb01", "fi", "t\u00b2", "t2", "\u00aa", "\u212a", "K", "k", "é", "e\u0301", "\u017f", "s", "表", "\u2126",
    "Ω", "İ", "i̇", "ß", "ss", "SS", "😀", "👩\u200d👧", "עברית", "\u202ex\u202c", "a\u200bb", "\ufeffx", "x\u00a0y",
    "\U000e0041", "\U0010ffff", "A", "a",
)  # fmt: skip

LONG = ("x" * 250, "x" * 251, "é" * 255, "x" * 256, "é" * 256, "'" * 255, "x" * 10_000, "\n" * 10_000)

NAMES = tuple(dict.fromkeys((*BREAKING_OUT, *SIGNS, *WORDS, *LETTERS, *LONG)))


@contextmanager
def nothing_gets_in() -> Iterator[None]:
    """What happens inside runs none of the code above."""
    assert not hasattr(builtins, _MARK)
    try:
        yield
        assert not hasattr(builtins, _MARK), "a text was run as code"
    finally:
        vars(builtins).pop(_MARK, None)
