"""The command line: ``nestling demo``, ``run``, ``explain``, ``verify``, ``bench``, ``derive``, ``play``.

One file per command; ``main`` parses arguments. This is the only package that sees typer and rich, which come
with the extra ``cli``. It is a program and not a library, so without them its import ends the process with a
sentence instead of an ``ImportError``.
"""

from __future__ import annotations

from importlib.util import find_spec

MISSING = [name for name in ("rich", "typer") if find_spec(name) is None]

if MISSING:
    raise SystemExit(
        f"The command line of Nestling needs {' and '.join(MISSING)}, which the extra 'cli' brings:\n\n"
        "    python -m pip install 'nestling[cli]'\n\n"
        "The library itself works without: import nestling"
    )
