"""JSON lines: what they are read as, and that writing and reading agree."""

import json
from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest

from nestling.calculus.types import BOOL, FLOAT, INT, STR, Bag, Scalar, record
from nestling.database.jsonl import from_json, read_lines, to_json
from nestling.errors import ChangeError
from nestling.frontend.schema import python_value, row_value

TYPE = record(
    id=INT, ok=BOOL, name=STR, rate=FLOAT, price=Scalar("decimal"), raw=Scalar("bytes"), day=Scalar("date"),
    at=Scalar("datetime"), took=Scalar("timedelta"), note=Scalar("str", True), tags=Bag(STR),
    items=Bag(record(pid=INT, days=Bag(Scalar("date")))),
)  # fmt: skip
ROW = (
    7, True, "Cléo", 0.5, Decimal("12.50"), b"\x00hi", date(2024, 2, 29), datetime(2024, 2, 29, 12, 30),
    timedelta(minutes=1.5), None, ["a", "b", "b"], [(1, [date(2024, 1, 1)]), (2, [])],
)  # fmt: skip


def test_what_is_written_reads_the_same(tmp_path):
    value = row_value(TYPE, ROW)
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps(to_json(TYPE, python_value(TYPE, value))) + "\n")

    ((line, found),) = read_lines(file)

    assert line.number == 1
    assert row_value(TYPE, from_json(TYPE, found)) == value


def test_numbers_with_a_point_are_exact_where_they_are_decimals():
    found = json.loads('{"price": 0.10, "rate": 0.10}', parse_float=Decimal)
    read = from_json(record(price=Scalar("decimal"), rate=FLOAT), found)

    assert (read["price"], read["rate"]) == (Decimal("0.10"), 0.1)
    assert type(read["rate"]) is float


def test_a_record_may_be_a_list():
    assert from_json(record(id=INT, day=Scalar("date")), [1, "2024-01-01"]) == (1, date(2024, 1, 1))


@pytest.mark.parametrize("name", ["date", "datetime", "decimal", "bytes"])
def test_a_string_that_is_none_says_how_to_write_it(name):
    with pytest.raises(ChangeError, match=f"'no!' is no {name}\nhint: write it as"):
        from_json(Scalar(name), "no!")


def test_a_file_that_is_not_text(tmp_path):
    (tmp_path / "M.jsonl").write_bytes(b"1\n\xff\n")

    with pytest.raises(ChangeError, match=r"M.jsonl is not UTF-8 after line \d"):
        list(read_lines(tmp_path / "M.jsonl"))


def test_a_long_line_is_cut_around_the_place(tmp_path):
    (tmp_path / "M.jsonl").write_text('"' + "a" * 200 + '" 1\n')

    with pytest.raises(ChangeError) as refused:
        list(read_lines(tmp_path / "M.jsonl"))

    at = refused.value.at
    assert at is not None
    assert len(at.text) <= 80
    assert at.text[at.column] == "1"
