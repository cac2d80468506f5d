"""Documents fill the line they have, and break from the outside in."""

from hypothesis import given
from hypothesis import strategies as st

from nestling.calculus.layout import (
    LINE,
    SOFT,
    Doc,
    DocBreak,
    DocGroup,
    DocNest,
    bracket,
    group,
    nest,
    render,
    separated,
)

WORDS = group("one", LINE, "two", LINE, "three")


def documents() -> st.SearchStrategy[Doc]:
    leaves: st.SearchStrategy[Doc] = st.sampled_from(["", "a", "bb", "ccc ", LINE, SOFT, DocBreak("-")])
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=4).map(tuple),
            st.builds(DocNest, st.integers(0, 3), inner),
            st.builds(DocGroup, inner),
        ),
    )


def test_a_group_that_fits_is_one_line():
    assert render(WORDS, 13) == "one two three"


def test_a_group_that_does_not_fit_breaks_all_its_lines():
    assert render(WORDS, 12) == "one\ntwo\nthree"


def test_an_inner_group_gets_its_own_chance():
    assert render(group("head", nest(LINE, WORDS)), 16) == "head\n  one two three"


def test_what_follows_a_group_must_fit_too():
    doc = (group("f(", nest(SOFT, "arg"), SOFT, ")"), " tail")

    assert render(doc, 11) == "f(arg) tail"
    assert render(doc, 10) == "f(\n  arg\n) tail"


def test_what_follows_counts_only_up_to_its_first_break():
    assert render((group("a", LINE, "b"), group(LINE, "long tail")), 4) == "a b\nlong tail"


def test_indentation_adds_up():
    assert render(nest(LINE, nest(LINE, "x"), LINE, "y"), 80) == "\n  \n    x\n  y"


def test_separated_ends_with_the_last():
    assert render(group(separated(["a", "b", "c"], " ×")), 80) == "a × b × c"
    assert render(separated([]), 80) == ""


def test_brackets_around_nothing_do_not_break():
    assert render(bracket("f(", [], ")"), 1) == "f()"


def test_depth_is_no_obstacle():
    doc: Doc = "x"
    for _ in range(20_000):
        doc = group("(", doc, ")")

    assert render(doc, 10).count("(") == 20_000


@given(documents(), st.integers(0, 30))
def test_a_group_is_broken_only_where_it_must_be(doc, width):
    """On one line if and only if that line fits, or there is nothing to break."""
    flat, text = render(DocGroup(doc), 10**6), render(DocGroup(doc), width)

    assert "\n" not in flat
    assert (text == flat) == (len(flat) <= width or "\n" not in text)


@given(documents(), st.integers(0, 30))
def test_breaking_changes_only_blanks(doc, width):
    """The words and their order do not depend on the width."""
    assert words(render(doc, width)) == words(render(DocGroup(doc), 10**6))


def words(text: str) -> str:
    return "".join(char for char in text if char not in " -\n")
