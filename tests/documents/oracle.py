"""Saxon as the oracle of XQuery: a query over the text of one document."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from saxonche import PySaxonApiError, PySaxonProcessor

__all__ = ["PySaxonApiError", "saxon", "saxon_of"]


@lru_cache(1)
def _processor() -> Any:
    return PySaxonProcessor(license=False)


@lru_cache(1)
def _parsed(text: str) -> Any:
    return _processor().parse_xml(xml_text=text)


def saxon(query: str, text: str) -> str:
    """The answer of ``query`` with the document ``text`` as its context; PySaxonApiError where XQuery has an error."""
    run = _processor().new_xquery_processor()
    run.set_context(xdm_item=_parsed(text))
    run.set_property("!omit-xml-declaration", "yes")
    run.set_query_content(query)
    found = run.run_query_to_string()
    return (found or "").replace("&#34;", "&quot;")


def saxon_of(query: str, texts: Mapping[str, str]) -> str:
    """The answer of a query that reads documents by their names."""
    run = _processor().new_xquery_processor()
    declared = []
    for number, (name, text) in enumerate(texts.items()):
        declared.append(f"declare variable $document{number} external;")
        run.set_parameter(f"document{number}", _processor().parse_xml(xml_text=text))
        query = query.replace(f'doc("{name}")', f"$document{number}")
    run.set_property("!omit-xml-declaration", "yes")
    run.set_query_content(f"{' '.join(declared)} {query}")
    return (run.run_query_to_string() or "").replace("&#34;", "&quot;")
