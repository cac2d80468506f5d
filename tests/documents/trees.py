"""Random documents, and edits of them, as hypothesis draws them."""

from __future__ import annotations

from hypothesis import strategies as st

from nestling.xml.serialise import in_text, in_value

NAMES = st.sampled_from(("a", "b", "c", "d"))
VALUES = st.text(st.sampled_from("xy 1&<>\"'\n\té"), min_size=1, max_size=4)
ATTRIBUTES = st.dictionaries(st.sampled_from(("k", "l")), VALUES, max_size=2)


def element(name: str, attributes: dict[str, str], content: list[str]) -> str:
    start = f"<{name}" + "".join(f' {key}="{in_value(value)}"' for key, value in attributes.items())
    inner = "".join(content)
    return f"{start}>{inner}</{name}>" if inner else f"{start}/>"


LEAVES = st.one_of(
    VALUES.map(in_text),
    st.builds(element, NAMES, ATTRIBUTES, st.just([])),
    st.just("<!--a comment-->"),
    st.just("<?target some text?>"),
)
MARKUP = st.recursive(
    LEAVES, lambda inner: st.builds(element, NAMES, ATTRIBUTES, st.lists(inner, max_size=4)), max_leaves=12
)
#: Documents, as canonical text.
DOCUMENTS = st.builds(element, st.just("s"), ATTRIBUTES, st.lists(MARKUP, max_size=5))
