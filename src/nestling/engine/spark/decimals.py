"""Arithmetic of decimals as Spark SQL: to the 18 places that a column has; beyond its 19 digits before them, an error.

Sums are exact, and so are products of up to 18 places. Spark types a result by the worst that its operands' types
allow, and cuts places where that exceeds 38 digits. So operands are first cast to types that leave room for the result.
"""

from __future__ import annotations

from nestling.quoting import sql_text

DECIMAL = "DECIMAL(37,18)"

#: Digits before the point of one factor, those of the other being the rest of 19.
_FACTORS = (10, 6, 13, 3, 16, 0, 19)
#: Places of a divisor, its digits before the point being the rest of 20.
_DIVISORS = (6, 0, 3, 9, 12, 15, 18)


def plus(operator: str, left: str, right: str) -> str:
    """A sum or difference of two decimals."""
    return f"CAST(({left} {operator} {right}) AS {DECIMAL})"


def times(left: str, right: str, by_int: bool) -> str:
    """A product of two decimals, or of a decimal and an int, which is seldom another than 1 or -1."""
    if by_int:
        return f"CASE {right} WHEN 1L THEN {left} WHEN -1L THEN -({left}) ELSE {_by_int(left, right)} END"

    def factor(text: str, digits: int, places: int) -> str:
        return f"CAST({text} AS DECIMAL({max(1, digits + places)},{places}))"

    cases = [
        f"WHEN {_below(left, digits)} AND {_below(right, 19 - digits)}"
        f" THEN CAST({factor(left, digits, 18)} * {factor(right, 19 - digits, 18)} AS {DECIMAL})"
        for digits in _FACTORS
    ]
    return _chosen("product", left, right, cases)


def _by_int(left: str, right: str) -> str:
    """A decimal times an int: its whole part and the rest apart, of which each product has all its digits."""
    rest, times = f"({left} % CAST(1 AS DECIMAL(1,0)))", f"CAST({right} AS DECIMAL(19,0))"
    whole = f"CAST(CAST({left} - {rest} AS DECIMAL(19,0)) * {times} AS {DECIMAL})"
    return f"CAST({whole} + CAST(CAST({rest} AS DECIMAL(18,18)) * {times} AS {DECIMAL}) AS {DECIMAL})"


def over(left: str, right: str) -> str:
    """A quotient of two decimals: its whole part, and what the remainder adds."""
    rest = f"({left} % {right})"
    cases = [
        f"WHEN {right} = round({right}, {places}) AND {_below(right, 20 - places)}"
        f" THEN CAST({whole_over(left, right)} + CAST(CAST({rest} AS DECIMAL({38 - places},18))"
        f" / CAST({right} AS DECIMAL(20,{places})) AS DECIMAL(19,18)) AS {DECIMAL})"
        for places in _DIVISORS
    ]
    return _chosen("quotient", left, right, cases)


def over_int(left: str, right: str) -> str:
    """A decimal divided by an int."""
    return f"CAST({left} / CAST({right} AS DECIMAL(19,0)) AS {DECIMAL})"


def whole_over(left: str, right: str) -> str:
    """The whole part of a quotient: Python's ``//`` of decimals rounds to zero."""
    return f"CAST(({left} - {left} % {right}) / {right} AS {DECIMAL})"


def remainder(left: str, right: str) -> tuple[str, str]:
    """Where ``left % right`` has a value, and which: Python has none where the quotient exceeds 28 digits."""
    # A divisor this small is a whole number of the last place.
    last = f"CAST(CAST(abs({right}) AS DECIMAL(18,18)) * CAST('1e18' AS DECIMAL(19,0)) AS DECIMAL(10,0))"
    most = f"CAST({last} * CAST('1e10' AS DECIMAL(11,0)) AS {DECIMAL})"
    long = f"CASE WHEN abs({right}) < CAST('1e-9' AS {DECIMAL}) THEN abs({left}) >= {most} ELSE false END"
    return f"({right} <> 0 AND NOT ({long}))", f"CAST({left} % {right} AS {DECIMAL})"


def fitted(text: str, narrow: str) -> str:
    """A decimal as one of a narrower type, where it is one."""
    what = sql_text(f"a sum of squares of decimals needs more digits than {narrow}")
    wrong = f"CAST(raise_error({what}) AS {narrow})"
    return f"CASE WHEN CAST({text} AS {narrow}) = {text} THEN CAST({text} AS {narrow}) ELSE {wrong} END"


def _below(text: str, digits: int) -> str:
    """Whether a number has no more than so many digits before the point."""
    return f"abs({text}) < CAST({sql_text(f'1e{digits}')} AS DECIMAL(38,0))"


def _chosen(what: str, left: str, right: str, cases: list[str]) -> str:
    refusal = sql_text(f"a {what} of decimals needs more than 37 digits")
    wrong = f"CAST(raise_error({refusal}) AS {DECIMAL})"
    return f"CASE WHEN {left} IS NULL OR {right} IS NULL THEN NULL {' '.join(cases)} ELSE {wrong} END"
