"""Every file in ``examples``: runs as a script, and as a pipeline with its data."""

import subprocess
import sys

import pytest

from tests.cli.commands import EXAMPLES, nestling

FILES = sorted(EXAMPLES.glob("*.py"))
SAID = {
    "auction": "the clock is sold\n"
    '  prices: <diff><remove sel="/*/*[1]"/></diff>\n'
    '  buyers: <diff><replace sel="/*/*[1]/@spent">115</replace>'
    '<add sel="/*/*[1]/*[1]" pos="before"><item>clock</item></add></diff>\n'
    "\n"
    '<buyers><buyer name="Ben" spent="115"><item>clock</item><item>map</item></buyer></buyers>\n',
    "movies": "Drive becomes a crime film\n"
    "  American Beauty  Jarhead, Skyfall\n"
    "  Bronson          Drive\n"
    "  Drive            Bronson\n"
    "  Jarhead          American Beauty, Skyfall\n"
    "  Rush             Skyfall\n"
    "  Skyfall          American Beauty, Jarhead, Rush\n"
    "\n"
    "movies by director: {'Howard': 1, 'Mendes': 3, 'Refn': 2}\n",
    "objects": "unsold: tray - loyal: Ada Ben\n"
    "\n"
    "tea gets dearer, and Ada calls herself Ada L.\n"
    "Cleo    5400  by Ada L.\n"
    "Ada L.  2400\n"
    "Ben        0  by Ada L.\n"
    "\n"
    "refused: the row with key 1 of customers is referred to by orders 10 (customer)\n"
    "sold in February: {'cup': 6, 'tea': 1}\n",
    "sales": "2024-03-03    264.80  in 11 lines\n2024-03-04    215.40  in 8 lines\nunsold: timer\n",
    "shop": "spend {'Ada': 900, 'Ben': 1070}\n"
    "\n"
    "Ada's order 1 gains two cups\n"
    "  Ada, orders.items + ('cup', 2, 1800)\n"
    "\n"
    "tea gets dearer\n"
    "  Ada, orders.items - ('tea', 2, 900)\n"
    "  Ada, orders.items + ('tea', 2, 1100)\n"
    "  Ben, orders.items - ('tea', 1, 450)\n"
    "  Ben, orders.items + ('tea', 1, 550)\n"
    "\n"
    "refused: constraint positive would be broken by Row(id=9, pid=1)\n"
    "\n"
    "spend {'Ada': 2900, 'Ben': 1170}\n",
}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_as_a_script(path):
    run = subprocess.run(
        [sys.executable, "-X", "utf8", str(path)], capture_output=True, encoding="utf-8", check=False
    )

    assert run.returncode == 0, run.stderr
    assert run.stdout.endswith(SAID[path.stem])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("command", ["run", "verify"])
def test_as_a_pipeline(command, path):
    changes = EXAMPLES / "data" / path.stem
    result = nestling(command, path, *(("--changes", changes) if changes.exists() else ()))

    assert result.exit_code == 0, result.output
