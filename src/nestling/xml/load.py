"""Text to entries, by the parser of the standard library, in memory that does not grow with the text.

What is not well-formed, an external entity, an entity that expands beyond all measure, and nesting beyond ``DEEPEST``
are refused with line and column. Kept are elements, attributes, texts, comments, processing instructions and
namespaces; CDATA and internal entities become the text they stand for; the declaration and the document type are not
kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from xml.parsers import expat

from nestling.errors import ChangeError
from nestling.xml.entries import (
    COMMENT,
    DEEPEST,
    ELEMENT,
    INSTRUCTION,
    TEXT,
    XML,
    Entry,
    expanded,
    is_declaration,
)
from nestling.xml.orderkeys import FIRST, following

#: Before this version the parser had no limit to what entities expand to.
_BOUNDED = (2, 4, 1)
_CHUNK = 1 << 16
_WRAPPER = "<_>"


def document_entries(chunks: Iterable[bytes | str], strip: bool = False) -> Iterator[Entry]:
    """The entries of a document that comes in parts; with ``strip``, without texts of white space alone."""
    loader = _Loader(strip)
    for chunk in chunks:
        loader.feed(chunk)
        yield from loader.taken()
    loader.feed("", True)
    yield from loader.taken()


def fragment_entries(text: str, namespaces: Mapping[str, str] | None = None) -> list[Entry]:
    """The nodes that ``text`` has, as if it stood inside an element: their keys begin with that of the document.

    Prefixes that it does not declare are those of ``namespaces``.

    >>> fragment_entries("<a>1</a>b")
    [('a0', 'e', 'a', ()), ('a0.a0', 't', '', '1'), ('a1', 't', '', 'b')]
    """
    loader = _Loader(False, len(_WRAPPER))
    loader.feed(_WRAPPER)
    if namespaces:
        loader.open[-1].prefixes = {**loader.plain, **namespaces}
    for place in range(0, len(text), _CHUNK):
        loader.feed(text[place : place + _CHUNK])
    loader.feed("</_>", True)
    return [(key[3:], *rest) for key, *rest in loader.taken() if "." in key]


def chunks_of(read: Callable[[int], Any]) -> Iterator[Any]:
    """What a file gives, in parts."""
    while chunk := read(_CHUNK):
        yield chunk


class _Open:
    """An element whose end has not been read."""

    __slots__ = ("key", "last", "prefixes")

    def __init__(self, key: str, prefixes: dict[str, str]) -> None:
        self.key, self.prefixes = key, prefixes
        self.last: str | None = None

    def next_key(self) -> str:
        self.last = FIRST if self.last is None else following(self.last)
        return f"{self.key}.{self.last}" if self.key else self.last


class _Loader:
    """Collects entries while the parser reads."""

    def __init__(self, strip: bool, shift: int = 0) -> None:
        self.strip, self.shift = strip, shift
        self.found: list[Entry] = []
        #: The namespaces where none is declared: most elements take a shorter way there.
        self.plain = {"xml": XML}
        self.open = [_Open("", self.plain)]
        self.text: list[str] = []
        parser = self.parser = expat.ParserCreate()
        parser.ordered_attributes = True
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = self.start, self.end
        parser.CharacterDataHandler = self.text.append
        parser.CommentHandler, parser.ProcessingInstructionHandler = self.comment, self.instruction
        parser.EntityDeclHandler = self.declared
        parser.SkippedEntityHandler = self.skipped

    def feed(self, chunk: bytes | str, final: bool = False) -> None:
        try:
            self.parser.Parse(chunk, final)
        except expat.ExpatError as error:
            words = expat.errors.messages.get(error.code, str(error))
            raise self.refused(words, "mend the text", error.lineno, error.offset) from error
        except (UnicodeError, LookupError) as error:
            raise self.refused(f"its encoding cannot be read: {error}", "save it as UTF-8") from error

    def taken(self) -> list[Entry]:
        """The entries so far, which are then no longer here."""
        found, self.found = self.found, []
        return found

    def refused(self, why: str, hint: str, line: int | None = None, column: int | None = None) -> ChangeError:
        line = self.parser.CurrentLineNumber if line is None else line
        column = self.parser.CurrentColumnNumber if column is None else column
        if line == 1:
            column = max(0, column - self.shift)
        return ChangeError(
            f"this is no XML that can be stored: {why} (line {line}, column {column + 1})", hint=hint
        )

    def flush(self) -> None:
        """The text that ended here."""
        if self.text:  # in parts, where it is long or has references
            text = "".join(self.text)
            self.text.clear()
            if len(self.open) > 1 and not (self.strip and not text.strip(" \t\r\n")):
                self.found.append((self.open[-1].next_key(), TEXT, "", text))

    def start(self, name: str, pairs: list[str]) -> None:
        self.flush()
        if len(self.open) > DEEPEST + 1:
            raise self.refused(
                f"it nests more than {DEEPEST} elements", "store its parts as documents of their own"
            )
        outer, names = self.open[-1], pairs[::2]
        if (
            outer.prefixes is self.plain
            and ":" not in name
            and (not pairs or ("xmlns" not in names and ":" not in "".join(names)))
        ):
            key = outer.next_key()
            self.open.append(_Open(key, self.plain))
            attributes = tuple(zip(names, pairs[1::2], strict=True)) if pairs else ()
            self.found.append((key, ELEMENT, name, attributes))
            return
        prefixes = self.prefixes(names, pairs[1::2], outer.prefixes)
        opened = _Open(outer.next_key(), prefixes)
        full = [each if is_declaration(each) else self.named(each, prefixes, False) for each in names]
        if len(set(map(expanded, full))) < len(full):
            raise self.refused("two attributes have one name in one namespace", "leave one of them out")
        attributes = tuple(zip(full, pairs[1::2], strict=True))
        self.found.append((opened.key, ELEMENT, self.named(name, prefixes, True), attributes))
        self.open.append(opened)

    def prefixes(self, names: list[str], values: list[str], outer: dict[str, str]) -> dict[str, str]:
        """The namespaces inside an element."""
        declared = {
            name[6:]: value for name, value in zip(names, values, strict=True) if is_declaration(name)
        }
        for prefix, uri in declared.items():
            if prefix == "xmlns" or (prefix == "xml") != (uri == XML) or (prefix and not uri):
                raise self.refused(f"the prefix {prefix!r} cannot stand for {uri!r}", "use another prefix")
        return outer | declared if declared else outer

    def named(self, name: str, prefixes: dict[str, str], is_element: bool) -> str:
        """A name with its namespace."""
        prefix, colon, local = name.partition(":")
        if colon and (not prefix or not local or ":" in local):
            raise self.refused(f"{name!r} is no name with a prefix", "one colon, and a name on either side")
        if not colon:
            uri = prefixes.get("", "") if is_element else ""
        elif prefix in prefixes:
            uri = prefixes[prefix]
        else:
            raise self.refused(f"the prefix {prefix!r} is declared nowhere", f"declare it: xmlns:{prefix}=…")
        return f"{{{uri}}}{name}" if uri else name

    def end(self, name: str) -> None:
        self.flush()
        self.open.pop()

    def comment(self, text: str) -> None:
        self.flush()
        self.found.append((self.open[-1].next_key(), COMMENT, "", text))

    def instruction(self, target: str, text: str) -> None:
        self.flush()
        if ":" in target:
            raise self.refused(f"{target!r} is no name of a processing instruction", "leave the colon out")
        self.found.append((self.open[-1].next_key(), INSTRUCTION, target, text))

    def declared(self, name: str, is_parameter: bool, value: str | None, *rest: Any) -> None:
        """An entity is declared: one outside this text is not read."""
        if value is None:
            raise self.refused(f"the entity {name!r} is outside this text", "write its content in the text")
        if expat.version_info < _BOUNDED:
            raise self.refused(f"it declares the entity {name!r}", "write its content in the text")

    def skipped(self, name: str, is_parameter: bool) -> None:
        raise self.refused(f"the entity {name!r} is declared nowhere in this text", "write its content")
