"""The reader and writer of spec files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.specfile import (
    RULE,
    Block,
    Case,
    Relations,
    Remark,
    SpecError,
    cases,
    parse,
    render,
    tidy,
    with_expected,
)

SAMPLE = """\
# negative cases first

relations
R: Bag(int)
# the other one
S: Bag(<a: int>)

apply simplify
R ⊎ ⊖S
----
R ⊎ ⊖S

relations
T: Bag(str)

apply delta T  twice
for x in T

union {x}
----
# not a comment
{x}

apply compile
T
----
----
first

# second
----
----
"""


def test_parse_finds_cases_with_the_relations_in_force():
    first, second, third = cases(parse(SAMPLE))

    assert (first.name, first.args, first.line) == ("simplify", (), 8)
    assert first.relations == {"R": "Bag(int)", "S": "Bag(<a: int>)"}
    assert (first.input, first.expected) == ("R ⊎ ⊖S", "R ⊎ ⊖S")

    assert (second.name, second.args) == ("delta", ("T", "twice"))
    assert second.relations == {"T": "Bag(str)"}
    assert (second.input, second.expected) == ("for x in T\n\nunion {x}", "# not a comment\n{x}")

    assert third.expected == "first\n\n# second"


def test_render_is_the_inverse_of_parse_on_the_sample():
    assert render(parse(SAMPLE)) == SAMPLE.replace("T  twice", "T twice")


def test_expected_may_be_empty():
    assert cases(parse("apply p\nR\n----\n\napply p\nS\n----"))[0].expected == ""


def test_new_output_changes_one_case_and_nothing_else():
    blocks = parse(SAMPLE)

    updated = with_expected(blocks, cases(blocks)[0], "R\n")

    assert render(updated) == SAMPLE.replace("----\nR ⊎ ⊖S\n", "----\nR\n").replace("T  twice", "T twice")


def test_new_output_with_a_blank_line_is_fenced():
    blocks = parse("apply p\nR\n----\nold\n")

    updated = with_expected(blocks, cases(blocks)[0], "one\n\ntwo  \n\n")

    assert render(updated) == "apply p\nR\n----\n----\none\n\ntwo\n----\n----\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("R ⊎ S\n", "line 1: expected 'relations', 'apply' or a comment"),
        ("\napplyx p\n", "line 2: expected 'relations'"),
        ("apply\nR\n----\nR\n", "line 1: 'apply' names no pass"),
        ("apply p\nR\n\nR\n", "line 2: no '----' ends this case"),
        ("apply p\nR\n----\n----\nR\n", "line 4: no '---- ----' ends this case"),
        ("relations\nR Bag(int)\n", "line 2: expected 'name: type'"),
        ("relations\nR:\n", "line 2: expected 'name: type'"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(text, message):
    with pytest.raises(SpecError, match=message):
        parse(text)


def test_output_that_would_end_its_own_case_is_refused():
    with pytest.raises(SpecError, match="holds a line '----'"):
        render((Case("p", (), "R", "a\n----\nb"),))


lines = st.text("R⊎ #-:ab", max_size=6)
texts = st.lists(lines, max_size=4).map("\n".join).map(tidy).filter(lambda text: RULE not in text.split("\n"))
words = st.text("pqr", min_size=1, max_size=3)


@st.composite
def spec_blocks(draw: st.DrawFn) -> tuple[Block, ...]:
    """Any sequence of blocks, parted by the blank lines that a file needs."""
    blocks: list[Block] = []
    relations: dict[str, str] = {}
    for _ in range(draw(st.integers(0, 4))):
        match draw(st.sampled_from(["remark", "relations", "case"])):
            case "remark":
                blocks.append(Remark(("#" + draw(lines)).rstrip()))
            case "relations":
                relations = draw(st.dictionaries(words, words, max_size=3))
                text = "\n".join(f"{name}: {type_text}" for name, type_text in relations.items())
                blocks.append(Relations(text, relations))
            case "case":
                args = tuple(draw(st.lists(words, max_size=2)))
                blocks.append(Case(draw(words), args, draw(texts), draw(texts), relations))
        blocks.append(Remark(""))
    return tuple(blocks)


@given(spec_blocks())
def test_parse_is_the_inverse_of_render(blocks: tuple[Block, ...]):
    assert parse(render(blocks)) == blocks
