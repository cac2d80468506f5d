"""The passes that spec files may apply, by name.

A pass takes the input text of a case, the relations in force (name to type, both as written in the spec)
and the words after ``apply <name>``; it answers with the text that belongs below ``----``. A pass that is
meant to refuse its input answers with the message of the refusal.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

SpecPass: TypeAlias = Callable[[str, Mapping[str, str], tuple[str, ...]], str]

PASSES: dict[str, SpecPass] = {}
