"""A core of laws and examples under the setting of ``NESTLING_NATIVE`` that the other tests do not have.

All tests run with the engines that a database has by itself. These modules are run once more with the others: doors,
transactions and threads, references, what subscribers hear, nested rows, and what undo leaves.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nestling.database import bulk
from nestling.database.native import chosen

MODULES = (
    "tests/database/test_changes.py", "tests/database/test_transactions.py", "tests/database/test_elements.py",
    "tests/database/test_references.py", "tests/database/test_watching.py", "tests/database/test_subscribers.py",
    "tests/database/test_nested_door.py", "tests/database/test_single.py", "tests/database/test_on_read.py",
    "tests/database/test_views.py", "tests/laws/test_undo.py", "tests/soak/test_threads.py",
)  # fmt: skip


@pytest.mark.parametrize("module", MODULES, ids=lambda module: Path(module).stem)
def test_it_holds_with_the_other_setting_too(module: str) -> None:
    other = "1" if chosen() is bulk.EMBEDDED else "0"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", module]
    run = subprocess.run(
        command,
        cwd=Path(__file__).parents[3],
        env={**os.environ, "NESTLING_NATIVE": other},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, f"NESTLING_NATIVE={other}\n{run.stdout[-3000:]}{run.stderr[-3000:]}"
    assert " passed" in run.stdout
