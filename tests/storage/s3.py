"""A bucket of moto's S3, which answers in this process, for the store by fsspec."""

import atexit
from functools import cache
from importlib.util import find_spec
from typing import Any
from uuid import uuid4

from nestling.storage.lake.fsspec_store import FsspecStore

#: botocore, which both need, and our ``constraints.txt`` differ in python-dateutil: so these are no part of ``dev``.
NEEDED = ("moto", "s3fs", "flask", "flask_cors")


def missing() -> str:
    """Why there is no such bucket; empty if there can be one."""
    absent = [name for name in NEEDED if find_spec(name) is None]
    return f"{', '.join(absent)} not installed: pip install 'moto[server]' s3fs" if absent else ""


@cache
def endpoint() -> str:
    """Where the server of this process listens."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    atexit.register(server.stop)
    host, port = server.get_host_and_port()
    return f"http://{host}:{port}"


def s3_store(path: Any) -> FsspecStore:
    """An empty bucket's folder; ``path`` is what other stores are made of."""
    bucket = f"lake-{uuid4().hex}"
    options = {"key": "test", "secret": "test", "client_kwargs": {"region_name": "eu-west-1"}}
    store = FsspecStore(f"s3://{bucket}/{path.name}", endpoint_url=endpoint(), **options)
    store._fs.mkdir(bucket)
    return store
