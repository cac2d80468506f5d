"""A store wherever Spark's JVM reaches, by Hadoop's FileSystem: schemes, credentials and retries are the executors'.

The bytes of records come by py4j, which takes a quarter of a second for 5 MB; larger parts of a file are written to a
temporary file here by the JVM, and read from that.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from uuid import uuid4

from nestling.errors import StoreError
from nestling.storage.lake.store import Listed, NameTaken, temporary

#: A create that is refused at its end if the name is there by then.
_CONDITIONAL = "fs.option.create.conditional.overwrite"
#: Where a rename refuses a name that is there, in one step.
_RENAMING = ("hdfs", "abfs", "abfss")
#: The most bytes that come by py4j at once.
_DIRECT = 64 * 1024
#: What Java raises, as Python's.
_ERRORS: dict[str, type[OSError]] = {
    "java.io.FileNotFoundException": FileNotFoundError,
    "java.nio.file.NoSuchFileException": FileNotFoundError,
    "java.nio.file.FileAlreadyExistsException": FileExistsError,
    "org.apache.hadoop.fs.FileAlreadyExistsException": FileExistsError,
    "org.apache.hadoop.fs.s3a.RemoteFileChangedException": FileExistsError,
    "org.apache.hadoop.security.AccessControlException": PermissionError,
    "org.apache.hadoop.fs.ParentNotDirectoryException": NotADirectoryError,
}


class HadoopStore:
    """A folder of some file system of Hadoop."""

    is_shared = True

    def __init__(self, address: str, spark: Any) -> None:
        self._gateway = spark.sparkContext._gateway
        self._jvm = self._gateway.jvm
        self._new_path = self._jvm.org.apache.hadoop.fs.Path
        with _as_os_errors(address):
            root = self._new_path(address)
            self._fs = root.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
            self.place = str(self._fs.makeQualified(root).toString())
            self._put = self._way(self._resolved(root))

    def _way(self, scheme: str) -> Callable[[str, bytes], None]:
        """How a name is given to a blob where none has it."""
        if self._fs.hasPathCapability(self._new_path(self.place), _CONDITIONAL):
            return self._put_conditionally
        if scheme in _RENAMING:
            return self._put_by_renaming
        if scheme == "file":
            return self._put_by_linking
        raise StoreError(
            f"{self.place} is in {scheme}:, which cannot put a file only where there is none",
            hint="give a place in hdfs:, abfss:, or in s3a: or gs: with a connector that has conditional creates",
        )

    def _resolved(self, path: Any) -> str:
        """The scheme in which a path lies behind its mounts."""
        while path is not None:
            with suppress(FileNotFoundError), _as_os_errors(""):
                return str(self._fs.resolvePath(path).toUri().getScheme())
            path = path.getParent()
        return str(self._fs.getUri().getScheme())

    def uri(self, name: str) -> str:
        return f"{self.place}/{name}" if name else self.place

    def _path(self, name: str) -> Any:
        return self._new_path(self.uri(name))

    # -- blobs

    def put_new(self, name: str, data: bytes) -> None:
        with _as_os_errors(name):
            self._put(name, data)

    def _put_conditionally(self, name: str, data: bytes) -> None:
        builder = self._fs.createFile(self._path(name)).recursive()
        try:
            with _as_os_errors(name):
                self._write(builder.must(_CONDITIONAL, True).build(), data)
        except FileExistsError:
            raise NameTaken(name) from None

    def _put_by_renaming(self, name: str, data: bytes) -> None:
        other = self._half(name, data)
        if not self._fs.rename(other, self._path(name)):
            self._fs.delete(other, False)
            raise NameTaken(name)

    def _put_by_linking(self, name: str, data: bytes) -> None:
        other = self._half(name, data)
        try:
            folder = self._fs.resolvePath(self._path(name).getParent()).toUri().getPath()
            link, file = (
                self._jvm.java.io.File(folder, last).toPath()
                for last in (name.rpartition("/")[2], other.getName())
            )
            with _as_os_errors(name):
                self._jvm.java.nio.file.Files.createLink(link, file)
        except FileExistsError:
            raise NameTaken(name) from None
        finally:
            self._fs.delete(other, False)

    def _half(self, name: str, data: bytes) -> Any:
        """``data`` under a name that nobody else has."""
        other = self._path(temporary(name, uuid4().hex[:16]))
        self._write(self._fs.create(other, False), data)
        return other

    @staticmethod
    def _write(stream: Any, data: bytes) -> None:
        try:
            stream.write(bytearray(data))
            if stream.hasCapability("hsync"):
                stream.hsync()
        finally:
            stream.close()

    def get(self, name: str) -> bytes:
        with _as_os_errors(name):
            stream = self._fs.open(self._path(name))
            try:
                return bytes(stream.readAllBytes())
            finally:
                stream.close()

    def open(self, name: str) -> HadoopFile:
        with _as_os_errors(name):
            return HadoopFile(self, name, int(self._fs.getFileStatus(self._path(name)).getLen()))

    def part(self, name: str, at: int, size: int) -> bytes:
        """Some bytes of a file."""
        with _as_os_errors(name):
            stream = self._fs.open(self._path(name))
            try:
                if size <= _DIRECT:
                    stream.seek(at)
                    return bytes(stream.readNBytes(size))
                there = self._gateway.new_array(self._jvm.byte, size)
                stream.readFully(at, there)
            finally:
                stream.close()
            with tempfile.NamedTemporaryFile() as here:
                sink = self._jvm.java.io.FileOutputStream(here.name)
                sink.write(there)
                sink.close()
                return here.read()

    # -- folders

    def list(self, folder: str = "", deep: bool = False) -> list[Listed]:
        try:
            with _as_os_errors(folder):
                return sorted(self._listed(self._path(folder), deep))
        except FileNotFoundError:
            return []

    def _listed(self, path: Any, deep: bool) -> Iterator[Listed]:
        start = len(self.place) + 1
        if not deep:
            for status in self._fs.listStatus(path):
                name, is_file = status.getPath().toString()[start:], status.isFile()
                kind: Any = "file" if is_file else "folder" if status.isDirectory() else "other"
                yield Listed(name, kind, int(status.getLen()) if is_file else 0)
            return
        found = self._fs.listFiles(path, True)
        folders = set()
        while found.hasNext():
            status = found.next()
            name = status.getPath().toString()[start:]
            yield Listed(name, "file", int(status.getLen()))
            parts = name.split("/")
            folders |= {"/".join(parts[:end]) for end in range(1, len(parts))}
        inside = path.toString()[start:]
        yield from (Listed(name, "folder") for name in folders if name.startswith(f"{inside}/") or not inside)

    def remove(self, names: Iterable[str]) -> None:
        for name in names:
            path = self._path(name)
            try:
                with _as_os_errors(name):
                    self._fs.delete(path, False)
            except FileNotFoundError:
                pass
            except OSError:
                with _as_os_errors(name):
                    if not self._fs.getFileStatus(
                        path
                    ).isDirectory():  # a folder stays that has something in it
                        raise

    def settle(self, folder: str) -> None:
        """It lasts: whoever wrote it was told so."""

    def hold(self) -> None:
        """There is no lock: whoever comes later takes over."""

    def release(self, withdrawn: bool = False) -> None:
        """Nothing is held."""


class HadoopFile(io.RawIOBase):
    """A file of a store, read in parts; nothing stays open between two of them."""

    def __init__(self, store: HadoopStore, name: str, size: int) -> None:
        super().__init__()
        self._store, self._name, self._size, self._at = store, name, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = max(0, offset + (0, self._at, self._size)[whence])
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        left = max(0, self._size - self._at)
        wanted = left if size is None or size < 0 else min(size, left)
        found = self._store.part(self._name, self._at, wanted) if wanted else b""
        self._at += len(found)
        return found


@contextmanager
def _as_os_errors(what: str) -> Iterator[None]:
    """What Java raises, as an ``OSError``."""
    from py4j.protocol import Py4JJavaError

    try:
        yield
    except Py4JJavaError as error:
        raised = error.java_exception
        kind, told = raised.getClass().getName(), str(raised.getMessage()).partition("\n")[0]
        raise _ERRORS.get(kind, OSError)(0, f"{what}: {told} ({kind.rpartition('.')[2]})") from error
