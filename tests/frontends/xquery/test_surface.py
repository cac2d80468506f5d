"""The constructs of ``surface.spec``: each query against Saxon and the plain meaning, before and after updates."""

from pathlib import Path

import pytest

import nestling as nl
from tests.frontends.xquery.following import follow_view

DOCUMENT = (
    '<s><v g="b" d="2001-02-03" n="1">1</v><v g="a" d="2003-02-03">2</v><w>x</w><v g="b" n="z">3</v>'
    '<v>4<v g="a">5</v></v><w>y</w></s>'
)
UPDATES = (
    'insert node <v g="a" d="1999-12-31" n="7">9</v> as first into /s',
    "delete node /s/v[2]",
    'rename node /s/w[1] as "v"',
    'replace value of node /s/v[1]/@g with "c"',
    "insert node <w>k</w> after /s/v[1]",
    '(delete node /s/v[2]/@g, insert node <v g="b">0</v> into /s/v[last()])',
    'replace value of node /s/*[last()] with "8"',
    "delete node (//v)[1]",
    "insert node <v>7</v> before /s/*[1]",
)


def queries():
    text = (Path(__file__).parent / "surface.spec").read_text(encoding="utf-8")
    for block in text.strip().split("\n\n")[1:]:
        title, *lines = block.split("\n")
        for number, line in enumerate(lines, 1):
            yield pytest.param(line, id=f"{title.removeprefix('# ').replace(' ', '-')}-{number}")


@pytest.mark.parametrize("line", list(queries()))
def test_a_query_follows_updates(line):
    query = line.removeprefix("! ").removeprefix("~ ")
    if line.startswith("! "):
        with pytest.warns(nl.EvaluatedOnRead):
            follow_view(query, DOCUMENT, UPDATES, strict=None)
    else:
        found = follow_view(query, DOCUMENT, UPDATES, strict=None if line.startswith("~ ") else True)
        assert len(set(found)) > 1, "the updates change it"
