"""Laws of the codec: what is written is read, a value has one text, any text is a value or a StoreError."""

import decimal
import json
import math
import sys
from collections import Counter
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from enum import IntEnum
from typing import NamedTuple
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nestling.errors import StoreError
from nestling.storage.codec import DEPTH, decode, encode
from nestling.values.bag import ZBag
from nestling.values.label import Label


def hashable(value):
    """Whether ``value`` may be in a bag: a signalling NaN may not."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


OFFSETS = st.timedeltas(min_value=timedelta(hours=-23), max_value=timedelta(hours=23))
ZONES = st.one_of(
    st.none(),
    st.just(UTC),
    st.builds(timezone, OFFSETS),
    st.builds(timezone, OFFSETS, st.text()),
    st.sampled_from(["Europe/Berlin", "America/New_York", "Asia/Kolkata", "UTC"]).map(ZoneInfo),
)
DATETIMES = st.builds(
    lambda moment, zone, fold: moment.replace(tzinfo=zone, fold=fold),
    st.datetimes(),
    ZONES,
    st.sampled_from([0, 1]),
)
TEXTS = st.one_of(st.text(), st.text(st.characters(categories=["Cs", "Lu", "Cc"])))
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(2040, 20_000).map(lambda bits: 1 - (1 << bits)),
    st.floats(),
    st.decimals(),
    TEXTS,
    st.binary(),
    st.dates(),
    DATETIMES,
    st.timedeltas(),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(tuple),
        st.builds(Label, st.one_of(st.integers(), st.text()), st.lists(inner, max_size=3).map(tuple)),
        st.lists(st.tuples(inner.filter(hashable), st.integers()), max_size=4).map(ZBag),
    ),
    max_leaves=12,
)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.sampled_from("ifudbDTPlzx"), inner, max_size=2)
    ),
)


def shape(value):
    """``value`` with everything that ``==`` overlooks made visible."""
    kind = type(value).__name__
    match value:
        case int():
            return kind, hex(value)
        case tuple():
            return kind, [shape(item) for item in value]
        case Label(site, environment):
            return kind, shape(site), shape(environment)
        case ZBag():
            counts: Counter[str] = Counter()
            for item, times in value.items():
                counts[repr(shape(item))] += times  # several NaNs are one
            return kind, sorted((item, times) for item, times in counts.items() if times)
        case datetime(tzinfo=zone, fold=fold):
            return kind, value.isoformat(), fold, zone and (type(zone), str(zone))
        case Decimal() if value.is_nan():
            return kind, "the one NaN"
        case _:
            return kind, repr(value)


def has_nan(value):
    """Whether a NaN keeps ``value`` from being equal to itself."""
    match value:
        case float() | Decimal():
            return value.is_nan() if isinstance(value, Decimal) else math.isnan(value)
        case tuple():
            return any(map(has_nan, value))
        case Label(_, environment):
            return has_nan(environment)
        case ZBag():
            return any(map(has_nan, value))
    return False


@given(VALUES)
@example(-0.0)
@example("\ud800\udc00")
@example((True, 1, 1.0, Decimal("1.00"), "1", b"1"))
@example(datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Berlin")))
@example(10**5000)
@example(ZBag([(ZBag(), 10**700)]))
@example(Decimal("1E+5"))
@example(timedelta.max)
def test_what_is_written_is_read(value):
    """decode(encode(v)) == v, with the same types and all that == overlooks"""
    again = decode(encode(value))
    assert shape(again) == shape(value)
    assert has_nan(value) or again == value


@given(VALUES)
def test_the_text_is_one_line_of_utf8_json(value):
    text = encode(value)
    assert json.loads(text.encode()) is not None or text == "null"
    assert all(char >= " " for char in text)


@given(st.lists(st.tuples(VALUES.filter(hashable), st.integers()), max_size=6), st.randoms())
def test_equal_bags_have_one_text(pairs, random):
    bag = ZBag(pairs)
    items = list(bag.items())
    random.shuffle(items)
    assert encode(ZBag(items)) == encode(bag)
    assert encode(decode(encode(bag))) == encode(bag)


@given(st.one_of(st.text(), JSON.map(json.dumps)))
@example("")
@example("NaN")
@example(" 1")
@example("1 ")
@example("[" * 100_000)
@example('{"z":' * 5_000)
@example("9" * 5_000)
@example('{"z":[1,1,1,1]}')
@example('{"z":[1,0]}')
@example('{"z":[1,true]}')
@example('{"z":[1]}')
@example('{"z":{"a":1}}')
@example('{"z":[{"d":"sNaN"},1]}')
@example('{"l":[]}')
@example('{"l":"ab"}')
@example('{"l":[null]}')
@example('{"d":"one"}')
@example('{"d":"1e99999999999999999999"}')
@example('{"b":"A"}')
@example('{"b":"é"}')
@example('{"u":"/w=="}')
@example('{"i":"zz"}')
@example('{"f":"1"}')
@example('{"D":"2024-02-30"}')
@example('{"T":["2024-02-28",0,"../../etc/passwd"]}')
@example('{"T":["2024-02-28",0,"Europe"]}')
@example('{"T":["2024-02-28",0,"Atlantis"]}')
@example('{"T":["2024-02-28",2,null]}')
@example('{"T":{"a":1}}')
@example('{"P":1.5}')
@example('{"P":99999999999999999999999}')
@example("{}")
@example('{"b":"","d":"1"}')
@example('{"__reduce__":"x"}')
def test_any_text_gives_a_value_or_a_store_error(text):
    try:
        value = decode(text)
    except StoreError as error:
        assert error.hint
    else:
        assert shape(decode(encode(value))) == shape(value)


@given(VALUES, st.data())
def test_damaged_text_gives_a_value_or_a_store_error(value, data):
    text = encode(value)
    at = data.draw(st.integers(0, len(text) - 1))
    for broken in text[:at], text[:at] + text[at + 1 :], text[:at] + data.draw(TEXTS) + text[at + 1 :]:
        try:
            decode(broken)
        except StoreError:
            continue


def test_a_context_of_decimals_changes_nothing():
    with decimal.localcontext(decimal.Context(prec=2, capitals=0, traps=[])):
        assert encode(Decimal("1.2345E+10")) == '{"d":"1.2345E+10"}'
        assert decode('{"d":"1.2345E+10"}') == Decimal("1.2345E+10")
        with pytest.raises(StoreError):
            decode('{"d":"one"}')


def test_a_limit_on_digits_changes_nothing():
    before, value = sys.get_int_max_str_digits(), 7**1500
    text = encode(value)
    try:
        for limit in 640, 0:
            sys.set_int_max_str_digits(limit)
            assert (encode(value), decode(text)) == (text, value)
    finally:
        sys.set_int_max_str_digits(before)


def nested(depth, wrap):
    value = 0
    for _ in range(depth):
        value = wrap(value)
    return value


@pytest.mark.parametrize("wrap", [lambda v: (v,), ZBag.of, lambda v: Label(1, (v,))], ids=["()", "{}", "⟨⟩"])
def test_depth_has_a_limit_that_says_so(wrap):
    deep = nested(DEPTH, wrap)
    assert decode(encode(deep)) == deep
    for depth in DEPTH + 1, 400:
        with pytest.raises(StoreError, match="nests more than 100"):
            encode(nested(depth, wrap))


def test_depth_is_no_matter_of_the_callers_stack():
    deep = nested(2_000, lambda value: (value,))
    with pytest.raises(StoreError, match="nests more"):
        encode(deep)
    with pytest.raises(StoreError, match="nests more"):
        decode("[" * 2_000 + "]" * 2_000)


class Level(IntEnum):
    LOW = 1


class Elsewhere(tzinfo):
    def utcoffset(self, _moment):
        return timedelta(0)

    dst = tzname = utcoffset


@pytest.mark.parametrize(
    "value",
    [
        [1],
        {"a": 1},
        {1},
        1j,
        object(),
        Level.LOW,
        (1, [2]),
        ZBag.of(Level.LOW),
        Label(Level.LOW),
        datetime(2024, 1, 1, tzinfo=Elsewhere()),
    ],
)
def test_what_is_no_value_is_refused(value):
    with pytest.raises(StoreError, match="cannot be stored") as caught:
        encode(value)
    assert caught.value.hint


class Row(NamedTuple):
    number: int
    text: str


def test_a_named_tuple_is_stored_as_the_tuple_it_equals():
    row = Row(1, "x")
    assert decode(encode(row)) == row
    assert type(decode(encode((row, date(2024, 1, 1))))[0]) is tuple
