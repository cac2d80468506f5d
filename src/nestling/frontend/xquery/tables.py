"""Tables as documents: a table with a key is ``<name><row><column>…</column>…</row>…</name>``, its rows in the order of
their keys; a null is no element, and values are untyped, as in any document without a schema.

::

    doc("t")/t/row          r ← t;  K := (r.key)
    r/column                [not is_null(r.column)]: a cell, text(r.column)
    r, copied               an element of its cells

There is no navigation table: a row of the table is the node, and a cell of it is read as an attribute is.
"""

from __future__ import annotations

from typing import TypeAlias

from nestling.calculus.build import call, const
from nestling.calculus.terms import Field, Relation, Term, Var
from nestling.calculus.types import Bag, Record, Scalar
from nestling.frontend.xquery.axes import AxisTranslator
from nestling.frontend.xquery.branches import (
    Branch,
    CellItem,
    DocumentItem,
    ElementItem,
    ForBind,
    RowItem,
    TableDocument,
    TermKey,
    TestBind,
)
from nestling.frontend.xquery.context import Variables
from nestling.frontend.xquery.positions import counted
from nestling.frontend.xquery.syntax import PathStep

#: The element of a row.
ROW = "row"
TableSteps: TypeAlias = "list[PathStep]"


class TableTranslator(AxisTranslator):
    """Translates steps from tables, their rows and their cells."""

    def table_path(self, branch: Branch, steps: TableSteps, variables: Variables) -> list[Branch]:
        """What steps lead to; ``branch`` is the document that a table is, or rows of one."""
        item, step = branch.item, steps[0]
        if branch.is_many and not branch.is_distinct:
            self.refuse(
                step.at, "rows that may be there twice have no path", "write the path in the for clause"
            )
        if isinstance(item, RowItem):
            if step.axis == "self" and step.test in ("node()", ROW, "*"):
                return self._on([self._tested(branch, step, variables)], steps[1:], variables)
            return self._on(self._cells(branch, item, step, variables), steps[1:], variables)
        if isinstance(item, CellItem):
            if step.axis != "child" or step.test not in ("text()", "node()") or item.name == "text()":
                self.refuse(
                    step.at, "a cell of a table holds one text", "write text(), or leave the step out"
                )
            found = Branch(branch.binds, branch.order, CellItem(item.value, "text()", item.owner))
            found = found.having(TestBind(call("!=", item.value, const(""))))
            return self._on([self._tested(found, step, variables)], steps[1:], variables)
        assert isinstance(item, DocumentItem)
        return self._from_document(branch, self.table_documents[item.document], steps, variables)

    def _on(self, found: list[Branch], steps: TableSteps, variables: Variables) -> list[Branch]:
        if not steps:
            return found
        return [each for branch in found for each in self.table_path(branch, steps, variables)]

    def _from_document(
        self, branch: Branch, table: TableDocument, steps: TableSteps, variables: Variables
    ) -> list[Branch]:
        step, rest = steps[0], steps[1:]
        is_root = step.axis == "child" and step.test in (table.name, "*") and not step.predicates
        if is_root and rest and rest[0].axis in ("child", "//"):
            step, rest = rest[0], rest[1:]
        elif step.axis != "//":
            self.refuse(step.at, "this is no row of the table", f'doc("{table.name}")/{table.name}/{ROW}')
        rows = self._all_rows(branch, table)
        if (step.test in (ROW, "*") and step.axis != "//") or step.test == ROW:
            return self._on([self._tested(rows, step, variables)], rest, variables)
        if step.axis != "//" or step.test == "*":
            self.refuse(step.at, "this is no row of the table", f'doc("{table.name}")/{table.name}/{ROW}')
        assert isinstance(rows.item, RowItem)
        return self._on(self._cells(rows, rows.item, step, variables), rest, variables)

    def _all_rows(self, branch: Branch, table: TableDocument) -> Branch:
        row = self.fresh(ROW, table.record)
        [key] = table.key
        bind = ForBind(row, Relation(table.name, Bag(table.record)))
        return Branch((*branch.binds, bind), (TermKey(Field(row, key)),), RowItem(row, table.name, key))

    def _cells(self, branch: Branch, item: RowItem, step: PathStep, variables: Variables) -> list[Branch]:
        table = self.table_documents[item.table]
        if step.axis not in ("child", "//", "descendant") or step.test.endswith("()"):
            self.refuse(
                step.at, "a row of a table has cells alone", f"name a column: {ROW}/{table.record.names[0]}"
            )
        names = [name for name in table.record.names if step.test in (name, "*")]
        if not names:
            known = ", ".join(table.record.names)
            self.refuse(step.at, f"{table.name} has no column {step.test}", f"its columns are {known}")
        if len(names) > 1:
            self.refuse(step.at, "all cells of a row are not one path", "name a column, or copy the row")
        [name] = names
        value, is_there = cell(item.row, name)
        found = branch.having(*is_there)
        order = branch.order or (TermKey(item.id),)
        found = Branch(
            found.binds, order, CellItem(value, name, item.id), branch.is_distinct, branch.is_single
        )
        return [self._tested(found, step, variables)]

    def _tested(self, branch: Branch, step: PathStep, variables: Variables) -> Branch:
        for predicate in step.predicates:
            if counted(predicate) is not None:
                self.refuse(predicate.at, "rows of a table are not counted", "write a condition on the key")
            branch = branch.having(*self.predicate_guards(predicate, branch, variables))
        return branch

    def row_element(self, item: RowItem) -> ElementItem:
        """A row as an element."""
        content = []
        for name in self.table_documents[item.table].record.names:
            value, is_there = cell(item.row, name)
            content.append([Branch(is_there, (), CellItem(value, name, item.id))])
        return ElementItem(ROW, (), tuple(content))


def cell(row: Var, name: str) -> tuple[Term, tuple[TestBind, ...]]:
    """The text of a column of a row, and the test that it is not null."""
    value = Field(row, name)
    assert isinstance(row.type, Record)
    type_ = dict(row.type.fields)[name]
    assert isinstance(type_, Scalar)
    is_there = (TestBind(call("not", call("is_null", value))),) if type_.nullable else ()
    return _text(value, type_), is_there


def _text(value: Term, type_: Scalar) -> Term:
    text = value if type_.name == "str" else call("to_text", value)
    if type_.name == "datetime":
        text = call("replace", text, const(" "), const("T"))
    return call("coalesce", text, const("")) if type_.nullable else text
