"""A process that writes to a store until it is killed, and says what the store has acknowledged.

A change is one entry, or one entry and a definition in one transaction. A snapshot holds what the entries
up to there add up to. So what must be in the file follows from the number of the last change.
"""

import random
import sys

from nestling.storage.file import FileStore

KEYS, TOGETHER = 50, 7


def entry(seq):
    """What change ``seq`` says: short, or longer than several pages."""
    return f"{seq}:" + chr(97 + seq % 26) * (20_000 if seq % 17 == 0 else seq % 300)


def state(at):
    """What the changes up to ``at`` add up to: the last one of each key, and something large."""
    latest = {seq % KEYS: seq for seq in range(max(1, at - KEYS + 1), at + 1)}
    yield "latest", [(str(key), entry(seq)) for key, seq in sorted(latest.items())]
    yield "large", ((str(row), f"{at} " * 100) for row in range(2_000))


def definitions(seq):
    """What is defined after change ``seq``."""
    return [("view", "v", str(seq - seq % TOGETHER))] if seq >= TOGETHER else []


def write(store, draw):
    """Write forever; a number on the output is a promise, the word ``snapshot`` says that one begins."""
    at, _ = store.read_snapshot()
    seq = at + store.stats().log_entries
    while True:
        if draw.random() < 0.02:
            at = draw.randint(max(at, seq - 10), seq)
            say("snapshot")
            store.write_snapshot(at, state(at))
        seq += 1
        if seq % TOGETHER:
            store.append(entry(seq))
        else:
            store.atomically(lambda seq=seq: both(store, seq))
        say(seq)


def both(store, seq):
    store.append(entry(seq))
    store.put_definition("view", "v", str(seq))


def say(word):
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    with FileStore.open(sys.argv[1], durability="full" if sys.argv[2] == "full" else "process") as opened:
        write(opened, random.Random(sys.argv[3]))
