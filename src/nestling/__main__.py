"""``python -m nestling``: the command line, also where no script is installed."""

from __future__ import annotations

from nestling.cli.main import main

if __name__ == "__main__":
    main()
