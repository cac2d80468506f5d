"""Whatever a text is, what is made of it is one word, one literal, one remark, one token."""

import ast
import keyword
import re
import unicodedata
from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestling.quoting import (
    Words,
    identifier,
    is_attribute,
    is_utf8,
    literal,
    plain_sql_text,
    remark,
    sql_name,
    sql_text,
)
from tests.hostile import NAMES

texts = st.one_of(
    st.sampled_from(NAMES), st.text(st.characters()), st.text("_by_0.·‿⁀sorted 1x", max_size=12)
)
values = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers().map(lambda n: n**300), st.floats(), texts, st.binary(),
    st.decimals(), st.dates(), st.datetimes(), st.timedeltas(),
)  # fmt: skip


def is_word(text: str) -> bool:
    """Whether Python reads ``text`` as one name, and as this one."""
    return text.isidentifier() and not keyword.iskeyword(text) and unicodedata.normalize("NFKC", text) == text


@given(texts)
def test_an_identifier_is_a_word(name):
    assert is_word(f"T_{identifier(name)}")
    assert len(identifier(name)) <= 80


@given(texts, texts)
def test_different_names_have_different_identifiers(left, right):
    assert (identifier(left) == identifier(right)) == (left == right)


def test_no_two_hostile_names_have_one_identifier():
    words = [
        f"{word}{suffix}" for word in map(identifier, NAMES) for suffix in ("", "_by_0", "_sorted_", "_batch")
    ]

    assert len({unicodedata.normalize("NFKC", word) for word in words}) == len(words)


def test_a_name_made_to_look_like_the_identifier_of_another_is_told_from_it():
    for name in NAMES:
        spelled = identifier(name)
        for other in (spelled, spelled.replace("·", "."), spelled.replace("‿", " ")):
            assert other == name or identifier(other) != spelled


@pytest.mark.parametrize("name", ["orders", "orders_items", "Orders2", "order_kind", "sorted_by_customer"])
def test_ordinary_names_stay_as_they_are(name):
    assert identifier(name) == name


@given(st.lists(texts, max_size=20))
def test_variables_have_words_of_their_own(names):
    taken = {"row", "x", "x_", "_"}
    words = Words(taken)
    found = [words.fresh(name) for name in names]

    assert len({*found, *taken}) == len(found) + len(taken)
    assert all(is_word(word) and not word.startswith("__") and len(word) < 80 for word in found)


def test_a_thousand_variables_of_one_name():
    words = Words()
    found = [words.fresh("'" * 10_000) for _ in range(1000)]

    assert len(set(found)) == 1000
    assert max(map(len, found)) < 80


@given(values)
def test_a_literal_is_its_value(value):
    names = {
        "Decimal": Decimal, "date": date, "datetime": datetime, "timedelta": timedelta, "inf": float("inf"),
        "nan": float("nan"), "__builtins__": {},
    }  # fmt: skip
    text = literal(value)
    found = eval(text, names)

    assert text.isprintable()
    assert type(found) is type(value)
    assert repr(found) == repr(value) if not isinstance(value, int) else found == value


def test_a_value_that_writes_itself_as_code_is_written_as_what_it_is():
    class Text(str):
        __slots__ = ()

        def __repr__(self) -> str:
            return "open('x')"

    class Day(date):
        pass

    assert literal(Text("a")) == "'a'"
    assert literal(Day(2024, 2, 29)) == "date(2024, 2, 29)"
    with pytest.raises(TypeError, match="no literal of object"):
        literal(object())


@given(texts)
def test_a_remark_ends_nothing(text):
    source = f'def f():\n    """The {remark(text)}."""\n    # {remark(text)}\n    return 1\n'
    (function,) = ast.parse(source).body

    assert isinstance(function, ast.FunctionDef)
    said, returned = function.body
    assert ast.literal_eval(said.value) == f"The {remark(text)}."  # type: ignore[attr-defined]
    assert isinstance(returned, ast.Return)
    assert len(source.splitlines()) == 4
    assert len(remark(text)) <= 400


#: How Spark reads a name and a string; the second with escapes.
NAME, STRING = re.compile(r"`(?:[^`]|``)*`"), re.compile(r"'(?:[^'\\]|\\.)*'", re.DOTALL)
ESCAPE = re.compile(r"\\u([0-9a-f]{4})|\\U([0-9a-f]{8})|\\(.)", re.DOTALL)


def unescaped(text: str) -> str:
    return ESCAPE.sub(lambda m: chr(int(m[1] or m[2], 16)) if m[1] or m[2] else m[3], text[1:-1])


@given(texts)
def test_a_name_of_sql_is_one_token(name):
    assert NAME.fullmatch(sql_name(name))
    assert sql_name(name)[1:-1].replace("``", "`") == name


@given(texts)
def test_a_string_of_sql_is_one_token_without_signs(text):
    for written in (sql_text(text), plain_sql_text(text)):
        assert STRING.fullmatch(written)
        assert unescaped(written) == text
    # What Spark looks for before it reads tokens is not in it.
    assert not set(sql_text(text)[1:-1]) & set("'\"`$#@{}/*%\n\r")
    assert sql_text(text).isascii()
    assert re.fullmatch(r"'(?:[\w .:;()+-]|\\u[0-9a-f]{4}|\\U[0-9a-f]{8})*'", sql_text(text))


def test_rows_have_attributes_that_python_reads_as_they_are_written():
    assert [is_attribute(n) for n in ("name", "é", "表", "class", "ﬁ", "_x", "a b", "")] == [
        True, True, True, False, False, False, False, False,
    ]  # fmt: skip
    assert [is_utf8(text) for text in ("", "😀", "\ud800", "a\udcff")] == [True, True, False, False]
