"""The examples in the documentation: every ``>>>`` in a Markdown file gives what is printed below it."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
FENCE = re.compile(r"^\s*```.*$", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples(page: Path) -> None:
    # doctest would take the closing fence for output; a blank line in its place keeps the line numbers
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    examples = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    report: list[str] = []

    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False).run(examples, out=report.append)

    assert not report, "".join(report)


LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)")


@pytest.mark.parametrize(
    "page", sorted(ROOT.glob("docs/**/*.md")), ids=lambda page: str(page.relative_to(ROOT))
)
def test_links_stay_in_the_site(page: Path) -> None:
    """The site is built from ``docs`` alone, and strictly."""
    docs = ROOT / "docs"
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        found = (page.parent / target).resolve()
        assert found.exists() and found.is_relative_to(docs), target
