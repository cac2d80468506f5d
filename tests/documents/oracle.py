"""Saxon as the oracle of XQuery: a query over the text of one document."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from saxonche import PySaxonApiError, PySaxonProcessor

__all__ = ["PySaxonApiError", "saxon"]


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
