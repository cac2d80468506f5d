"""What a lake asks of a storage: named blobs that never change.

Names are relative to the lake, with ``/``. There is no rename, replace, append or lock, and no time. Whatever a
storage refuses is an ``OSError``, and a name that is not there a ``FileNotFoundError``.

Laws, which ``tests/storage/test_stores.py`` tries on every store:

* Of all calls of ``put_new`` with one name at most one returns, and ``get`` gives its bytes from then on.
* ``list`` has every name whose ``put_new`` returned before, until it is removed, and nothing that is half there.
* ``remove`` of what is not there does nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple, Protocol


class NameTaken(Exception):
    """There is a blob of this name."""


class Listed(NamedTuple):
    """What a folder has: a file with its bytes, a folder, or something else, such as a link."""

    name: str
    kind: Literal["file", "folder", "other"]
    size: int = 0


class BlobStore(Protocol):
    """A place for named blobs that never change."""

    @property
    def place(self) -> str:
        """Where it is, for people: a path or an address."""
        ...

    @property
    def is_shared(self) -> bool:
        """Whether every machine sees it by this address; the folder of one machine is not."""
        ...

    def put_new(self, name: str, data: bytes) -> None:
        """Give a name to ``data``, all of it, or raise ``NameTaken``; it lasts once this returns."""
        ...

    def get(self, name: str) -> bytes:
        """The bytes of a name."""
        ...

    def open(self, name: str) -> Any:
        """What Arrow reads a file from, in parts: a path, or an object with ``seek`` and ``read``."""
        ...

    def list(self, folder: str = "", deep: bool = False) -> list[Listed]:
        """What is in a folder, in the order of names, ``deep`` with all that is below; folders may be left out."""
        ...

    def remove(self, names: Iterable[str]) -> None:
        """Remove files, and folders if they are empty."""
        ...

    def settle(self, folder: str) -> None:
        """Make what others wrote to a folder last."""
        ...

    def uri(self, name: str) -> str:
        """What Spark calls it."""
        ...

    def hold(self) -> None:
        """Keep other processes out as far as the storage can: then their error says who has it."""
        ...

    def release(self, withdrawn: bool = False) -> None:
        """Let others in; ``withdrawn``: folders that ``hold`` made, and that are empty, go."""
        ...


def temporary(name: str, token: str) -> str:
    """What a blob is called until all of it is there: Spark overlooks such names.

    >>> temporary("log/000000000007.record", "0123456789abcdef")
    'log/.000000000007.record.0123456789abcdef.tmp'
    """
    folder, _, last = name.rpartition("/")
    return f"{folder}/.{last}.{token}.tmp" if folder else f".{last}.{token}.tmp"
