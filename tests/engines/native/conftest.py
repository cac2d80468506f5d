"""Where there is no C compiler there is no native engine, and nothing here to test."""

from nestling.database.native import available

collect_ignore_glob = [] if available() else ["test_*.py"]
