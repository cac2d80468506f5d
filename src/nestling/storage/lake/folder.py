"""Which folder may be a lake: one that is ours, or an empty one. All others are left as they are, byte for byte."""

from __future__ import annotations

import os
import re
from pathlib import Path

from nestling.errors import StoreError
from nestling.storage.lake.manifest import Manifest, read_manifest
from nestling.storage.lake.names import CURRENT, DATA, LOG

#: ``s3a://…``, ``dbfs:/…``; and ``s3a:/…``, which ``pathlib`` makes of the former. One letter is a drive.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(?=/|\\|$)")
#: What Spark expands in the path of a file.
_PATTERN = set("{}[]*?\\") - {os.sep}


def scheme_of(path: str) -> str:
    """The file system that a path names; empty for a path on this machine.

    >>> scheme_of("s3a://bucket/shop"), scheme_of("dbfs:/shop"), scheme_of("/data/shop"), scheme_of("C:/shop")
    ('s3a', 'dbfs', '', '')
    """
    found = _SCHEME.match(path)
    return "" if found is None else found[1]


def local_path(path: str | os.PathLike[str]) -> Path:
    """A folder of this machine, from its root; whatever names another file system is refused."""
    text = os.fspath(path)
    if not isinstance(text, str) or not text or "\0" in text:
        raise StoreError(f"{text!r} is no folder", hint='path="/data/shop"')
    scheme = scheme_of(text)
    if scheme == "file":
        raise StoreError(f"{text!r} is an address, not a path", hint="write it without file:, as /data/shop")
    if scheme:
        raise StoreError(
            f"{text!r} is in {scheme}:, and a lake is kept in a local folder",
            hint="give a folder that driver and executors share, such as a mount of it: /dbfs/…, /mnt/…;"
            f" a local folder of that name is ./{scheme}:/…",
        )
    found = os.path.abspath(text)
    if pattern := sorted(set(found) & _PATTERN):
        raise StoreError(
            f"{found!r} has {' '.join(pattern)} in it, which Spark takes for a pattern",
            hint="rename the folder: Spark would read what is in other folders as well, or nothing",
        )
    return Path(found)


def look(folder: Path) -> Manifest | None:
    """The manifest of a folder that is ours, or nothing: then it is empty, or not there yet. Nothing is written."""
    try:
        names = set(os.listdir(folder))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"{folder} cannot be read: {error.strerror}", hint="give a folder") from error
    if CURRENT in names:
        return _ours(folder)
    # Whoever died while it made a lake here left these two, and nothing else.
    left = {f"{CURRENT}-lock", f"{CURRENT}.tmp"} if f"{CURRENT}-lock" in names else set()
    if names - left:
        what = min(names - left)
        raise StoreError(
            f"{folder} is not empty, and is no lake of Nestling: it has {what}",
            hint="give a folder that does not exist yet, or restore CURRENT from a copy",
        )
    return None


def _ours(folder: Path) -> Manifest:
    try:
        manifest = read_manifest((folder / CURRENT).read_bytes(), folder.name)
    except OSError as error:
        raise StoreError(f"the manifest of {folder} cannot be read: {error.strerror}") from error
    for name in (LOG, DATA):
        place = folder / name
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            raise StoreError(
                f"{name} of {folder} is no folder of its own",
                hint="link to the whole folder, or give its real path",
            )
    return manifest


def check_files(folder: Path, manifest: Manifest) -> None:
    """Refuse a folder that lacks files which its manifest names. Who asks has it to itself: files come and go."""
    root = os.path.realpath(folder)
    for file in sorted(manifest.files):
        place = folder / file
        if not place.is_file() or os.path.realpath(place) != os.path.join(root, *file.split("/")):
            raise StoreError(f"{file} of {folder} is missing", hint="restore it from a copy")
