"""Who holds a state sees it whole: its views and files stay until it is let go, and go then."""

from threading import Thread
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from nestling.engine.spark.snapshots import Snapshots


class Fake:
    """A state that names views, and remembers for all of them which were dropped."""

    def __init__(self, names: set[str], dropped: set[str]) -> None:
        self.names, self.dropped = frozenset(names), dropped

    @property
    def paths(self) -> set[str]:
        return {f"{name}.parquet" for name in self.names}

    def drop_views(self, *kept: Any, files: bool = False) -> None:
        gone = self.names.difference(*(other.names for other in kept))
        assert not gone & self.dropped, "dropped twice"
        self.dropped |= gone


#: A reader comes; one of the readers goes; a state takes the place of another, keeping some of its views.
STEPS = st.lists(
    st.one_of(
        st.just(("hold", 0)), st.tuples(st.just("let go"), st.integers(0, 5)),
        st.tuples(st.just("replace"), st.integers(0, 7)),
    ),
    max_size=25,
)  # fmt: skip


@given(STEPS)
def test_what_somebody_holds_stays(steps: list[tuple[str, int]]) -> None:
    dropped: set[str] = set()
    made = {"v0"}
    snapshots: Any = Snapshots(Fake(made, dropped))  # type: ignore[arg-type]
    readers: list[Any] = []
    for number, (step, which) in enumerate(steps, 1):
        if step == "hold":
            readers.append(snapshots._hold())
        elif step == "let go" and readers:
            snapshots._let_go(readers.pop(which % len(readers)))
        elif step == "replace":
            names = {name for i, name in enumerate(sorted(snapshots.stored.names)) if which >> (i % 3) & 1}
            made |= names | {f"v{number}"}
            snapshots.replace(Fake(names | {f"v{number}"}, dropped), files=True)
        used = snapshots.stored.names.union(*(reader.names for reader in readers))
        assert not used & dropped
        assert snapshots.files == {f"{name}.parquet" for reader in readers for name in reader.names}
    for reader in readers:
        snapshots._let_go(reader)
    assert dropped == made - snapshots.stored.names
    assert snapshots.files == set()


def test_what_is_tried_out_is_seen_by_one_thread() -> None:
    stored, tried, dropped = Fake({"a"}, set()), Fake({"a", "b"}, set()), Fake({"c"}, set())
    snapshots: Any = Snapshots(stored)  # type: ignore[arg-type]
    seen: list[Any] = []

    def look() -> None:
        thread = Thread(target=lambda: seen.append(snapshots.seen))
        thread.start()
        thread.join()

    snapshots.try_on(tried)
    look()
    assert (snapshots.seen, seen) == (tried, [stored])
    snapshots.take_off()
    assert snapshots.seen is stored
    snapshots.try_on(tried)
    with snapshots.held():
        assert snapshots.seen is tried
        snapshots.replace(tried)
        assert snapshots.seen is tried
        thread = Thread(target=lambda: snapshots.replace(dropped))
        thread.start()
        thread.join()
        assert snapshots.seen is tried
    assert snapshots.seen is dropped
