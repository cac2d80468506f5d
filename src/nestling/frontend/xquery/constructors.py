"""Items → rows and templates: what varies becomes columns and inner bags, what does not stays in the template."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nestling.calculus.build import call, const, product
from nestling.calculus.terms import Const, Expr, Sing, SingBag
from nestling.frontend.xquery.branches import (
    STRING,
    AtomItem,
    AttributeItem,
    AttributesItem,
    Branch,
    CellItem,
    DocumentItem,
    ElementItem,
    Item,
    JoinedItem,
    Key,
    NodeItem,
    PlaceKey,
    RowItem,
    TextItem,
    build,
)
from nestling.frontend.xquery.conditions import ConditionTranslator
from nestling.frontend.xquery.template import (
    AtomPart,
    AttributePart,
    AttributesPart,
    ConstantPart,
    CopyPart,
    ElementPart,
    ItemTemplate,
    JoinedText,
    MadeText,
    OrderColumn,
    OrderPart,
    Part,
    Place,
    SequencePart,
    Source,
    TextPart,
)
from nestling.xml import patterns
from nestling.xml.entries import XML, expanded, space_of, written

#: Adds a column to a row, and says which it is.
Put = Callable[[Expr], int]
Parts = Sequence["Part | list[Branch]"]


class Writer:
    """Makes the rows and the template of a query; ``views`` are the bags of its rows."""

    def __init__(self, translator: ConditionTranslator) -> None:
        self.translator = translator
        self.views: list[Expr] = []

    def top(self, branches: list[Branch]) -> tuple[Part, ...]:
        """A query's own sequence: static elements are peeled off, and each branch inside is a view."""
        return (self._top_sequence(branches),)

    def _top_sequence(self, branches: Sequence[Branch]) -> SequencePart:
        sources = []
        for branch in branches:
            if not branch.binds and _is_fixed(branch.item):
                sources.append(Source(None, self._places(branch.order), self._top_item(branch.item)))
            else:
                if isinstance(branch.item, AttributesItem):
                    self.translator.refuse(
                        self.translator.module.body.at,
                        "@* of the query's own element is not supported",
                        "for $x in … return <r>{$x/@*}</r>",
                    )
                rows, order, item = self._rows(branch)
                self.views.append(rows)
                sources.append(Source(len(self.views) - 1, order, item))
        return SequencePart(tuple(sources))

    def _top_item(self, item: Item) -> ItemTemplate:
        match item:
            case ElementItem(name, attributes, content):
                namespaces = self._check_attributes(item)
                named = tuple((each, self._top_parts(parts)) for each, parts in attributes)
                return ElementPart(name, named, self._top_parts(content), namespaces)
            case AtomItem(Const(value), type_):
                return ConstantPart(value, type_)
            case TextItem(content, name):
                return MadeText(self._top_parts((content,)), name)
            case DocumentItem():
                self.translator.refuse(0, "a document alone is no view", "write <r>{…}</r> around it, or /*")
        raise AssertionError(item)  # it is not fixed

    def _top_parts(self, parts: Parts) -> tuple[Part, ...]:
        return tuple([self._top_sequence(part) if isinstance(part, list) else part for part in parts])

    def _places(self, order: Sequence[Key]) -> tuple[OrderPart, ...]:
        return tuple([Place(key.number) for key in order if isinstance(key, PlaceKey)])

    def _rows(self, branch: Branch) -> tuple[Expr, tuple[OrderPart, ...], ItemTemplate]:
        """The rows of a branch, their order and their template."""
        row: list[Expr] = []
        put = _putter(row)
        item = self._item(branch.item, put)
        order = self._order(branch.order, put)
        if not row:
            put(Sing(const(1)))
        columns = [(f"f{number}", column) for number, column in enumerate(row)]
        return build(branch.binds, product(columns)), order, item

    def _order(self, order: Sequence[Key], put: Put) -> tuple[OrderPart, ...]:
        found: list[OrderPart] = []
        for key in order:
            if isinstance(key, PlaceKey):
                found.append(Place(key.number))
            else:
                column = put(Sing(key.term))
                found.append(OrderColumn(column, key.is_descending, key.empty_greatest, key.is_identity))
        return tuple(found)

    def _item(self, item: Item, put: Put) -> ItemTemplate:  # noqa: C901 (one arm per item)
        match item:
            case AtomItem(Const(value), type_):
                return ConstantPart(value, type_)
            case AtomItem(term, type_):
                return AtomPart(put(Sing(term)), type_)
            case AttributeItem(value, name):
                return AttributePart(name, put(Sing(call("coalesce", value, const("")))))
            case AttributesItem(value):
                return AttributesPart(put(Sing(value)))
            case NodeItem():
                return self._node(item, put)
            case TextItem(content, name):
                return MadeText(self._parts((content,), put), name)
            case CellItem(value, "text()"):
                return TextPart(put(Sing(value)))
            case CellItem(value, name):
                return self._item(ElementItem(name, (), ([Branch((), (), AtomItem(value, STRING))],)), put)
            case RowItem():
                return self._item(self.translator.row_element(item), put)
            case JoinedItem(content, separator):
                return JoinedText(
                    SequencePart(tuple([self._source(each, put) for each in content])), separator
                )
            case ElementItem(name, attributes, content):
                namespaces = self._check_attributes(item)
                named = tuple((each, self._parts(parts, put)) for each, parts in attributes)
                return ElementPart(name, named, self._parts(content, put), namespaces)
            case DocumentItem():
                self.translator.refuse(0, "a document is no item here", "write its root element: /*")

    def _node(self, item: NodeItem, put: Put) -> ItemTemplate:
        if item.test == "text()":
            return TextPart(put(Sing(self.translator.column(item, patterns.STRING))))
        put(Sing(self.translator.column(item, patterns.STAMP)))
        return CopyPart(item.table.document, put(Sing(item.id)))

    def _parts(self, parts: Parts, put: Put) -> tuple[Part, ...]:
        found: list[Part] = []
        for part in parts:
            if isinstance(part, list):
                found.append(SequencePart(tuple([self._source(branch, put) for branch in part])))
            else:
                found.append(part)
        return tuple(found)

    def _source(self, branch: Branch, put: Put) -> Source:
        """A branch inside a row: columns of it where it has no generator, else an inner bag."""
        if not branch.binds:
            item = self._item(branch.item, put)
            return Source(None, self._order(branch.order, put), item)
        if isinstance(branch.item, AtomItem | AttributeItem):
            term = self.translator.optional(branch)
            if term is not None:
                column = put(Sing(term))
                name = branch.item.name if isinstance(branch.item, AttributeItem) else ""
                optional = AttributePart(name, column) if name else AtomPart(column, branch.item.type)  # type: ignore[union-attr]
                return Source(None, self._order(branch.order, put), optional)
        rows, order, item = self._rows(branch)
        return Source(put(SingBag(next(self.translator.sites), rows)), order, item)

    def _check_attributes(self, item: ElementItem) -> tuple[tuple[str, str], ...]:
        """Attributes in content come first, once each; returns the element's namespaces, with theirs."""
        names, is_late, at = [expanded(name) for name, _ in item.attributes], False, item.at
        spaces = dict(item.namespaces)
        for part in item.content:
            if not isinstance(part, list):
                is_late = True
                continue
            for branch in part:
                if isinstance(branch.item, AttributesItem):
                    if names or is_late:
                        self.translator.refuse(
                            at,
                            "there may be two attributes of a name",
                            "copy all of them first, and alone",
                            "XQDY0025",
                        )
                    names.append("*")
                    continue
                name = branch.item.name if isinstance(branch.item, AttributeItem | TextItem) else ""
                if not name:
                    is_late = True
                elif is_late:
                    self.translator.refuse(
                        at, f"the attribute {written(name)} comes after content", "put it first", "XQTY0024"
                    )
                elif expanded(name) in names or "*" in names or branch.is_many:
                    short = written(name)
                    self.translator.refuse(
                        at, f"there may be two attributes {short}", f'write {short}="{{…}}"', "XQDY0025"
                    )
                else:
                    names.append(expanded(name))
                    self._check_space(branch, name, spaces, at)
        return tuple(sorted(spaces.items()))

    def _check_space(self, branch: Branch, name: str, spaces: dict[str, str], at: int) -> None:
        """The namespace of an attribute in content is one of its element, whatever the data are."""
        prefix, uri = space_of(name)
        if not uri or uri == XML or spaces.get(prefix) == uri:
            return
        advice = f'declare it at the element: xmlns:{prefix}="{uri}"'
        if prefix in spaces:
            self.translator.refuse(
                at, f"the prefix {prefix} stands for two namespaces in one element", advice
            )
        if branch.binds:
            self.translator.refuse(
                at, f"the attribute {written(name)} may be missing, and with it its namespace", advice
            )
        spaces[prefix] = uri


def _is_fixed(item: Item) -> bool:
    """Whether an item is there whatever the data are: its parts may still depend on them."""
    return isinstance(item, ElementItem | TextItem | DocumentItem) or (
        isinstance(item, AtomItem) and isinstance(item.term, Const)
    )


def _putter(row: list[Expr]) -> Put:
    def put(column: Expr) -> int:
        row.append(column)
        return len(row) - 1

    return put
