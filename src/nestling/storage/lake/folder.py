"""Which place may be a lake: one that is ours, or an empty one. All others are left as they are, byte for byte."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

from nestling.errors import StoreError
from nestling.storage.lake.manifest import Manifest
from nestling.storage.lake.names import CURRENT, DATA, LOG, is_half_record, numbers
from nestling.storage.lake.store import BlobStore

#: ``s3a://…``, ``dbfs:/…``; and ``s3a:/…``, which ``pathlib`` makes of the former. One letter is a drive.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(?=/|\\|$)")
#: What Spark expands in the path of a file.
_PATTERN = set("{}[]*?\\") - {os.sep}


def scheme_of(path: str) -> str:
    """The file system that a path names, in small letters; empty for a path on this machine.

    >>> scheme_of("S3A://bucket/shop"), scheme_of("dbfs:/shop"), scheme_of("/data/shop"), scheme_of("C:/shop")
    ('s3a', 'dbfs', '', '')
    """
    found = _SCHEME.match(path)
    return "" if found is None else found[1].lower()


def place_of(path: str | os.PathLike[str]) -> Path | str:
    """A folder of this machine, from its root, or the address of one elsewhere."""
    text = os.fspath(path)
    if not isinstance(text, str) or not text or "\0" in text:
        raise StoreError(f"{text!r} is no folder", hint='path="/data/shop", or an address: "hdfs://…"')
    scheme = scheme_of(text)
    if scheme == "file":
        parts = urlsplit(text)
        if parts.netloc not in ("", "localhost"):
            raise StoreError(f"{text!r} is on another machine", hint="write it as file:///data/shop")
        text, scheme = unquote(parts.path), ""
    elif scheme and not isinstance(path, str):
        raise StoreError(f"{text!r} is no path but an address", hint="give it as a str")
    found = text.rstrip("/") if scheme else os.path.abspath(text)
    if pattern := sorted(set(found) & _PATTERN):
        raise StoreError(
            f"{found!r} has {' '.join(pattern)} in it, which Spark takes for a pattern",
            hint="rename the folder: Spark would read what is in other folders as well, or nothing",
        )
    if scheme and not found.partition(":")[2].strip("/"):
        raise StoreError(f"{text!r} names no folder", hint=f"{scheme}://…/shop")
    return found if scheme else Path(found)


def look(store: BlobStore) -> bool | None:
    """Whether a place is a lake of a former format, or one of this one; nothing: it is empty, or not there yet.

    Nothing is written.
    """
    try:
        there = {entry.name: entry.kind for entry in store.list()}
    except OSError as error:
        raise StoreError(
            f"{store.place} cannot be read: {error.strerror or error}", hint="give a folder"
        ) from error
    for name in (LOG, DATA):
        if there.get(name, "folder") != "folder" and (CURRENT in there or LOG in there):
            raise StoreError(
                f"{name} of {store.place} is no folder of its own",
                hint="link to the whole folder, or give its real path",
            )
    if CURRENT in there:
        return True
    logged = store.list(LOG) if LOG in there else []
    if numbers(logged):
        return False
    # Whoever died while it made a lake here left these, and nothing else.
    left = {f"{CURRENT}-lock", f"{CURRENT}.tmp"} if f"{CURRENT}-lock" in there else set()
    if all(map(is_half_record, logged)) and (logged or left):
        left |= {LOG}
    if others := there.keys() - left:
        raise StoreError(
            f"{store.place} is not empty, and is no lake of Nestling: it has {min(others)}",
            hint="give a folder that does not exist yet, or restore its log from a copy",
        )
    return None


def unlisted(store: BlobStore, sizes: Mapping[str, int], manifest: Manifest) -> dict[str, int]:
    """Files that are there though a listing, which may lag, does not have them; of a local folder it has all."""
    if not store.is_shared:
        return {}
    found = {}
    for name in manifest.files - sizes.keys():
        with suppress(FileNotFoundError):
            found[name] = len(store.get(name))
    return found


def check_files(store: BlobStore, sizes: Mapping[str, int], manifest: Manifest) -> None:
    """Refuse a lake that lacks files which its manifest names, or has other ones under their names."""
    for relation in manifest.relations.values():
        for file in relation.files:
            if file.name not in sizes:
                raise StoreError(f"{file.name} of {store.place} is missing", hint="restore it from a copy")
            if file.bytes not in (0, sizes[file.name]):  # former formats do not have them
                raise StoreError(
                    f"{file.name} of {store.place} is damaged: it has another size",
                    hint="restore it from a copy",
                )
