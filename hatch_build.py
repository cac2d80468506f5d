"""Builds the native extension into the package, where there is a C compiler; where there is none the wheel is pure.

A pure wheel runs every program in Python and answers the same. ``NESTLING_BUILD=pure`` asks for one;
``NESTLING_BUILD=native`` makes a build without the extension an error, for those who publish wheels.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # run by itself, to build in place
    BuildHookInterface = object

NO_COMPILER = "there is no C compiler"
WARNINGS = ("-Wall", "-Wextra", "-Wno-missing-field-initializers")


def extension(root: Path) -> Path:
    """Where the extension of this Python stands."""
    return root / "src" / "nestling" / f"_native{sysconfig.get_config_var('EXT_SUFFIX')}"


def compiler() -> list[str]:
    """The C compiler, as the environment or this Python names it."""
    return shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")[:1]


def build(root: Path, *flags: str) -> str:
    """Build the extension; an empty string, or why it was not built."""
    if sys.platform == "win32":
        return "on Windows it is built by clang-cl, in the workflow that makes wheels"
    target = extension(root)
    made = target.with_name(f"{target.name}.{os.getpid()}")
    sources = sorted(map(str, (root / "src" / "native").glob("*.c")))
    shared = ["-bundle", "-undefined", "dynamic_lookup"] if sys.platform == "darwin" else ["-shared"]
    options = ["-O2", "-std=c11", "-fPIC", *WARNINGS, *shared, f"-I{sysconfig.get_path('include')}", *flags]
    command = [*compiler(), *options, *sources, "-o", str(made), "-lm"]
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        return f"{NO_COMPILER}: {error}"
    if run.returncode:
        made.unlink(missing_ok=True)
        return f"the C compiler failed:\n{run.stderr[-2000:]}"
    made.replace(target)  # a process that has the old one open keeps it
    return ""


class NativeBuildHook(BuildHookInterface):
    """Called by hatchling before it packs a wheel, also one that points to a working copy."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        wanted = os.environ.get("NESTLING_BUILD", "")
        if self.target_name != "wheel" or wanted == "pure":
            return
        root = Path(self.root)
        why = build(root)
        if why and wanted == "native":
            raise RuntimeError(f"the native engine was not built: {why}")
        if why:
            self.app.display_warning(f"Nestling without its native engine, all in Python: {why}")
            return
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        if version != "editable":
            build_data["artifacts"].append(str(extension(root).relative_to(root)))


def main() -> int:
    """Build in place. Doing without a compiler is fine; a compiler that fails is not."""
    why = build(Path(__file__).parent, *sys.argv[1:])
    if why:
        sys.stderr.write(f"Nestling without its native engine, all in Python: {why}\n")
    return int(bool(why) and not why.startswith(NO_COMPILER))


if __name__ == "__main__":
    sys.exit(main())
