"""Sums of floats as Spark SQL: by digits, which are ints, as ``values/digits`` says.

Law: a sum that is read off its digits is the exact one to 2⁻⁵¹ of it, and a variance to 2⁻⁴⁵, as long as at most 2⁴⁰
rows are summed; of what digits leave, see there.
"""

from __future__ import annotations

from collections.abc import Sequence

from nestling.calculus.terms import Const, Term
from nestling.values.digits import BASE, DIGITS, FAR, LARGE, SQUARES, UNIT

_BASE = float(1 << BASE)
_MASK = (1 << BASE) - 1
_WIDE = "DECIMAL(38,0)"


def part_sql(name: str, value: str, terms: Sequence[Term]) -> str | None:
    """A digit of ``value``, or what digits leave; none if ``name`` is no such function."""
    place = terms[1].value if len(terms) > 1 and isinstance(terms[1], Const) else 0
    # Asked the other way round: of NULL neither holds, and what ELSE reads is NULL then, as the value is.
    far = f"abs({value}) >= {LARGE!r}D"
    match name:
        case "float_digit":
            return f"CASE WHEN {far} THEN 0L ELSE {_digit(value, place, UNIT)} END"
        case "float_low":
            return f"CASE WHEN {far} THEN 0D ELSE {_low(value, UNIT)} END"
        case "float_large":
            none = f"abs({value}) < {LARGE!r}D OR abs({value}) >= double('Infinity')"
            return f"CASE WHEN {none} THEN 0D ELSE {value} * {2.0**-UNIT!r}D END"
        case "square_digit":
            parts = " + ".join(_digit(part, place, 2 * UNIT) for part in _square(value))
            return f"CASE WHEN {far} THEN 0L ELSE {parts} END"
        case "square_low":
            parts = " + ".join(_low(part, 2 * UNIT) for part in _square(value))
            return f"CASE WHEN {far} THEN 0D ELSE {parts} END"
    return None


def _digit(value: str, place: int, unit: int) -> str:
    at = unit - BASE * place
    return (
        f"CAST(rint({value} * {2.0**at!r}D) - {_BASE!r}D * rint({value} * {2.0 ** (at - BASE)!r}D) AS BIGINT)"
    )


def _low(value: str, unit: int) -> str:
    return f"({value} - rint({value} * {2.0**unit!r}D) * {2.0**-unit!r}D)"


def _square(value: str) -> tuple[str, str]:
    return f"({value} * {value})", f"({lost(value, value)})"


def lost(left: str, right: str) -> str:
    """What a product of floats lacks to be exact (Dekker): the products of their halves have room for all digits."""
    (a, b), (c, d) = _halves(left), _halves(right)
    return f"(({a} * {c} - {left} * {right}) + {a} * {d} + {b} * {c}) + {b} * {d}"


def _halves(number: str) -> tuple[str, str]:
    """The leading and the trailing digits of a float."""
    wide = f"(134217729D * {number})"
    high = f"({wide} - ({wide} - {number}))"
    return high, f"({number} - {high})"


def float_sum(texts: Sequence[str]) -> str:
    """A sum of floats: infinities and NaN decide first, by the rules of IEEE 754."""
    low, some, large, plus, minus, neither = texts[DIGITS + 1 :]
    infinite = f"WHEN {plus} <> 0 THEN double('Infinity') WHEN {minus} <> 0 THEN double('-Infinity')"
    no_number = f"WHEN {neither} <> 0 OR ({plus} <> 0 AND {minus} <> 0) THEN double('NaN')"
    total = f"{_read(texts[1 : DIGITS + 1])} * {2.0**-UNIT!r}D + {low}"
    far = f"CASE WHEN {some} <> 0 THEN {large} * {2.0**UNIT!r}D ELSE 0D END"
    return f"CASE {no_number} {infinite} ELSE {total} + {far} END"


def _read(digits: Sequence[str]) -> str:
    """The number of units that sums of digits come to, from the first digit to the last.

    What exceeds a digit is carried once, so that each has 34 bits: none after the first 53 bits takes these away.
    """
    found = "0D"
    for digit in reversed(_carried(digits)):
        found = f"({found} * {_BASE!r}D + {digit})"
    return found


def _carried(digits: Sequence[str]) -> list[str]:
    rests = [f"({digit} & {_MASK}L)" for digit in digits]
    carries = [f"shiftright({digit}, {BASE})" for digit in digits]
    inner = [f"({rest} + {carry})" for rest, carry in zip(rests[1:], carries, strict=False)]
    return [rests[0], *inner, carries[-1]]


def float_spread(texts: Sequence[str]) -> str:
    """(n·Σx² − (Σx)²) / n², the difference digit by digit: it is exact, and what is close does not cancel."""
    n, *rest = texts
    digits, low, rest = rest[:DIGITS], rest[DIGITS], rest[DIGITS + 1 :]
    squares, square_low, (some, far, far_square, infinite) = (
        rest[:SQUARES],
        rest[SQUARES],
        rest[SQUARES + 1 :],
    )
    raw = _struct(
        n=n, s=f"array({', '.join(digits)})", q=f"array({', '.join(squares)})", low=low, rest=square_low,
        some=some, far=far, square=far_square, odd=infinite,
    )  # fmt: skip
    kept = {name: f"r.{name}" for name in ("n", "low", "rest", "some", "far", "square", "odd")}
    cell = _struct(s=_carried_array("r.s", DIGITS), q=_carried_array("r.q", SQUARES), **kept)
    pairs = (
        f"aggregate(sequence(greatest(0, k - {DIGITS}), least(k, {DIGITS})), CAST(0 AS {_WIDE}), (t, i) ->"
        f" CAST(t + CAST(c.s[i] AS DECIMAL(11,0)) * CAST(c.s[k - i] AS DECIMAL(11,0)) AS {_WIDE}))"
    )
    apart = f"CAST(CAST(c.n AS DECIMAL(19,0)) * CAST(c.q[k] AS DECIMAL(11,0)) - {pairs} AS {_WIDE})"
    base = f"CAST({1 << BASE} AS DECIMAL(10,0))"
    split = (
        f"transform(transform(sequence(0, {SQUARES}), k -> {apart}), d -> named_struct('r',"
        f" CAST(pmod(d, {base}) AS DOUBLE), 'c', CAST((d - pmod(d, {base})) / {base} AS DOUBLE)))"
    )
    own = {name: f"c.{name}" for name in ("low", "rest", "some", "far", "square", "odd")}
    parts = _struct(
        e=split, s=f"{_read_array('c.s', DIGITS)} * {2.0**-UNIT!r}D", n="CAST(c.n AS DOUBLE)",
        q=f"{_read_array('c.q', SQUARES)} * {2.0 ** (-2 * UNIT)!r}D", **own,
    )  # fmt: skip
    exact = (
        f"aggregate(sequence({SQUARES}, 0, -1), p.e[{SQUARES}].c, (t, k) -> t * {_BASE!r}D + p.e[k].r"
        f" + coalesce(get(p.e, k - 1).c, 0D)) * {2.0 ** (-2 * UNIT)!r}D"
    )
    near = f"{exact} + p.n * p.rest - (2D * p.s + p.low) * p.low"
    scale = f"{2.0**-FAR!r}D"
    far = _let("f", _struct(
        n="p.n", s=f"p.far + (p.s + p.low) * {scale}", q=f"p.square + p.q * {scale} * {scale}",
    ), f"(f.n * f.q - f.s * f.s) + (({lost('f.n', 'f.q')}) - ({lost('f.s', 'f.s')}))")  # fmt: skip
    back = f"{2.0**FAR!r}D"
    large = f"greatest(0D, {far}) / (p.n * p.n) * {back} * {back}"
    spread = f"CASE WHEN p.some <> 0 THEN {large} ELSE greatest(0D, {near}) / (p.n * p.n) END"
    found = f"CASE WHEN p.n = 0D THEN NULL WHEN p.odd <> 0 THEN double('NaN') ELSE {spread} END"
    return _let("r", raw, _let("c", cell, _let("p", parts, found)))


def _let(name: str, value: str, body: str) -> str:
    """``body``, in which ``value`` has a name: it is written once."""
    return f"element_at(transform(array({value}), {name} -> {body}), 1)"


def _struct(**fields: str) -> str:
    return f"named_struct({', '.join(f'{chr(39)}{name}{chr(39)}, {text}' for name, text in fields.items())})"


def _carried_array(digits: str, width: int) -> str:
    """``_carried`` of an array."""
    rest, carry = f"get({digits}, j) & {_MASK}L", f"shiftright(get({digits}, j - 1), {BASE})"
    return f"transform(sequence(0, {width}), j -> coalesce({rest}, 0L) + coalesce({carry}, 0L))"


def _read_array(digits: str, width: int) -> str:
    """The number of units that digits come to whose carries are done."""
    return f"aggregate(sequence({width}, 0, -1), 0D, (t, j) -> t * {_BASE!r}D + {digits}[j])"
