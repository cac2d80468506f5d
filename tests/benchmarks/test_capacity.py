"""The capacity model: coefficients are found again, a page is written between its marks, and says what follows."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("numpy", reason="pip install nestling[spark]")

from benchmarks.capacity import MARKS, Measured, fitted, formula, page, predicted, read_off, spread, written

PAGE = Path(__file__).parents[2] / "docs" / "scale.md"
KNOWN = {
    "driver": {"1": 0.004, "c": 2e-5, "m": 3e-6, "files": 1e-4},
    "spark": {"queries": 0.2, "c + m": 5e-6, "N": 4e-7},
}


def changes():
    sizes = [(1, 1, 2), (100, 100, 2), (1000, 1000, 14), (2, 200, 14), (20, 2000, 2)]
    for stored in (5_000, 20_000):
        for way in KNOWN:
            for changed, met, files in sizes:
                row = Measured(way, changed, met, files, stored, files + 3, 1.0)
                yield replace(row, cpu=predicted(KNOWN, row))


def test_coefficients_are_found_again():
    found = fitted(list(changes()))

    for way, terms in KNOWN.items():
        assert found[way] == pytest.approx(terms, rel=1e-6)
    assert spread([(predicted(found, row), row.cpu) for row in changes()]) == pytest.approx(1)


def test_no_coefficient_is_negative():
    falling = [Measured("driver", n, n, 50 - n, 1, 0, 1.0 / n) for n in range(1, 20)]
    rest = [row for row in changes() if row.way == "spark"]

    assert all(value >= 0 for value in fitted([*falling, *rest])["driver"].values())


def test_a_page_keeps_what_stands_around_its_part():
    text = f"before\n{MARKS[0]}\nold\n{MARKS[1]}\nafter\n"
    rows = list(changes())
    part = page(fitted(rows), [5_000, 20_000, 80_000], rows[:2], rows)

    found = written(text, part)

    assert found.startswith("before\n")
    assert found.endswith("\nafter\n")
    assert "old" not in found
    assert written(found, part) == found
    assert all(line in found for line in [*formula(KNOWN), *read_off(KNOWN, 7)][:2])


def test_what_the_page_reads_off_follows_from_its_coefficients():
    text = PAGE.read_text(encoding="utf-8")
    found = re.findall(r"^\| (?:the driver|Spark) \| .+? \(`(.+?)`\) \| ([\d.,e+-]+) \|$", text, re.MULTILINE)
    assert [name for name, _ in found] == ["1", "c", "m", "files", "queries", "c + m", "N"]
    values = [float(value.replace(",", "")) / 1e6 for _, value in found]
    queries = int(re.search(r"twenty files and (\d+) queries", text)[1])  # type: ignore[index]
    query, row, stored = values[4:]

    seconds = queries * query + (row * 2 * 10_000_000 + stored * 1_000_000_000) / 1_000
    said = re.search(r"^\| 10,000,000 rows, by Spark \| 1,000 \| .+? \| ([\d.,]+) \|$", text, re.MULTILINE)

    assert said is not None
    assert float(said[1].replace(",", "")) == pytest.approx(seconds, rel=0.05, abs=0.2)
