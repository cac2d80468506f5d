"""Trigger programs read as they are meant."""

from textwrap import dedent

import pytest

from nestling.calculus.build import call, const
from nestling.calculus.terms import Const, InL, Var
from nestling.calculus.types import INT, LABEL, STR
from nestling.program.flat import Atom, Monomial, Query
from nestling.program.show import show_program, show_query, show_statement
from nestling.program.statements import Find, Statement
from tests.program.programs import ANSWER, COUNTS, FLIP, MEANS, PROGRAMS, SUM

TEXTS = {
    "genres": """
        table M(name, gen) by name
        R0[name, x_name] := Sum M(name, gen) · M(x_name, gen)
          (rows: M ⋈ M)
        A1[gen, x_name] := Sum M(x_name, gen)
          (aux: names by genre)
        on M(name, gen) × times:
          R0[name, x_name] += n · times  for x_name ↦ n in A1[gen, ·]
          R0[x_name, name] += times  for x_name in M[·, gen]  where name != x_name
          A1[gen, name] += times
          M(name, gen) += times
        view pairs:
          answer[name, x_name] += n  for name, x_name ↦ n in R0[·, ·]
        view pairs(first):
          answer[first, x_name] += n  for x_name ↦ n in R0[first, ·]
        """,
    "quantities": """
        table L(pk, qty, price)
        L0[] := Sum
          (1, price)
            · L(pk, qty, price)
            · avg := avg(Sum[pk] (1, qty) · L(pk, qty, _))[pk]
            · [qty * 5 < avg]
          (lift: sum reads it)
        L1[pk] := Sum (1, qty) · L(pk, qty, _)
          (lift: avg reads it)
        on L(pk, qty, price) × times:
          ΔL1[pk] += (times, times · qty)
          L0[] += (times, times · price)  with avg := avg L1[pk]  where qty * 5 < avg
          L(pk, qty, price) += times
          then each ΔL1[k], (old0, old1) → (new0, new1):
            L0[] += (n · sign, n · sign · x_price)
              for avg ↦ sign in avg(new0, new1) ↦ 1, avg(old0, old1) ↦ -1 if they differ
              for x_qty, x_price ↦ n in L[k, ·, ·]
              where x_qty * 5 < avg
        view small:
          answer[total] += 1  with total := sum L0[]
        """,
    "tagged": """
        table P(pid, tags)
        C0[pid] := Sum P(pid, _)
          (count: distinct reads it)
        L1[pid, tag] := Sum P(pid, tags) · tag ∈ tags
          (lift, in order of its last column: max reads it)
        R2[pid] := Sum distinct(Sum[pid] P(pid, _))[pid]
          (rows: the pids)
        on P(pid, tags) × times:
          ΔC0[pid] += times
          ΔL1[pid, tag] += copies · times  for tag ↦ copies in tags
          P(pid, tags) += times
          then each ΔC0[k], old → new:
            R2[k] += flag  with flag := distinct(new) - distinct(old) ≠ 0
          then each ΔL1[k], max was → is:
        view shelf:
          answer[pid, high, twice] += 1
            for pid in R2[·]
            with high := max L1[pid]
            with twice := 2 * (pid + 1)
        view shelf bag 1(k):
          answer[tag] += n  for tags ↦ n in P[k, ·]  for ⟨a: tag, b: b⟩ ↦ copies in tags
        """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    assert show_program(PROGRAMS[name]) == dedent(TEXTS[name]).strip()


def test_a_statement_by_itself():
    assert show_statement(FLIP, width=1000) == (
        "L0[] += (n · sign, n · sign · x_price)"
        "  for avg ↦ sign in avg(new0, new1) ↦ 1, avg(old0, old1) ↦ -1 if they differ"
        "  for x_qty, x_price ↦ n in L[k, ·, ·]  where x_qty * 5 < avg"
    )


def test_queries():
    assert show_query(MEANS) == "Sum[pk] (1, qty) · L(pk, qty, _)"
    assert show_query(COUNTS) == "Sum[pid] P(pid, _)"
    assert show_query(ANSWER) == "Sum[name, x_name] M(name, gen) · M(x_name, gen)"
    assert show_query(SUM, width=40).splitlines()[0] == "Sum[]"
    assert show_query(Query((), ())) == "Sum[] 0"


def test_columns_that_are_not_variables_are_said():
    x, y, column = Var("x", INT), Var("y", INT), Var("c", LABEL)
    row = (Atom("R", (x, y)),)
    query = Query(
        (column,), (Monomial((InL(1, (x,)),), (const(1),), row), Monomial((InL(2, (y,)),), (const(-1),), row))
    )
    assert show_query(query) == "Sum[c] inL_1(x) ← R(x, _) + inL_2(y) ← -1 · R(_, y)"


def test_a_column_does_not_catch_another_variable():
    x, y = Var("x", INT), Var("y", INT)
    query = Query(
        (x,), (Monomial((x,), (const(1),), (Atom("R", (x, y)),)), Monomial((y,), (x,), (Atom("R", (x, y)),)))
    )
    assert show_query(query) == "Sum[x] R(x, _) + y ← x · R(x, y)"


def test_names_stay_apart_when_shortened():
    a, b, c = Var("R.id", INT), Var("S.id", INT), Var("id", INT)
    statement = Statement("T", (a, b), (call("*", c, const(2)),), (Find("R", (a, b, c), (), ()),))
    assert show_statement(statement) == "T[R_id, S_id] += id · 2  for R_id, S_id, id in R[·, ·, ·]"


def test_a_column_read_twice_is_an_equation():
    x = Var("x", INT)
    statement = Statement("T", (), (const(1),), (Find("R", (x, x), (), ()),))
    assert show_statement(statement) == "T[] += 1  for _ in R[x, x]"


def test_a_row_that_only_has_to_be_there():
    statement = Statement("T", (), (const(1),), (Find("R", (Const("a", STR),), (0,), ()),))
    assert show_statement(statement) == "T[] += 1  if R['a']"


def test_a_number_is_no_name():
    x = Var("R.1", INT)
    statement = Statement("T", (x,), (const(1),), (Find("R", (x,), (), ()),))
    assert show_statement(statement) == "T[R_1] += 1  for R_1 in R[·]"


def test_a_name_that_no_column_can_have():
    times, column = Var("·times", INT), Var("R.times", INT)
    statement = Statement("T", (column,), (times,), ())
    assert show_statement(statement, (times,)) == "T[R_times] += times"
    assert show_statement(statement, (column,)) == "T[times] += times2"
