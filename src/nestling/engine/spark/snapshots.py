"""Which state a thread sees: the one that is stored, one that it holds while it reads, or one that it tries out.

A state is never changed, only replaced, so that a reader who holds one needs no lock. Temporary views and files of a
state that somebody holds stay until it is let go.

Law: between the beginning and the end of ``held`` a thread sees one state, whoever stores another meanwhile; and no
thread but the one that tries a state out sees it before it is stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, get_ident, local

from nestling.engine.spark.state import LakeState


class Snapshots:
    """The stored state of an engine, and those that readers hold."""

    def __init__(self, stored: LakeState) -> None:
        #: The state that was stored last.
        self.stored = stored
        self._own = local()
        #: The state that is tried out, and by which thread; who recovers from what that left ends it.
        self._tried: tuple[int, LakeState] | None = None
        self._lock = Lock()
        #: By identity: states that are held, and by how many.
        self._held: dict[int, tuple[LakeState, int]] = {}
        #: States that were replaced while they, or what they share with others, were held.
        self._replaced: list[LakeState] = []

    @property
    def seen(self) -> LakeState:
        """The state as this thread sees it."""
        tried = self._tried
        held: LakeState | None = getattr(self._own, "seen", None)
        if tried is not None and tried[0] == get_ident():
            return tried[1]
        return self.stored if held is None else held

    @contextmanager
    def held(self) -> Iterator[None]:
        """A block in which this thread sees what is stored now, and nothing later unless it stores it."""
        if getattr(self._own, "seen", None) is not None:
            yield  # within another one
            return
        self._own.seen = self._hold()
        try:
            yield
        finally:
            seen, self._own.seen = self._own.seen, None
            self._let_go(seen)

    def _hold(self) -> LakeState:
        with self._lock:
            found = self.stored
            self._held[id(found)] = (found, self._held.get(id(found), (found, 0))[1] + 1)
            return found

    def _let_go(self, seen: LakeState) -> None:
        with self._lock:
            _, times = self._held.pop(id(seen))
            if times > 1:
                self._held[id(seen)] = (seen, times - 1)
            free, kept = self._free()
        for state in free:
            state.drop_views(*kept, files=True)

    def _free(self) -> tuple[list[LakeState], list[LakeState]]:
        """The replaced states that nobody holds any more, and the states whose views stay."""
        free = [state for state in self._replaced if id(state) not in self._held]
        self._replaced = [state for state in self._replaced if id(state) in self._held]
        return free, [self.stored, *(state for state, _ in self._held.values())]

    def try_on(self, state: LakeState) -> None:
        """Let this thread see ``state``, which is not stored; one at a time does."""
        self._tried = (get_ident(), state)

    def take_off(self) -> None:
        """Let whoever tried a state out see what is stored."""
        self._tried = None

    def replace(self, state: LakeState, *others: LakeState, files: bool = False) -> None:
        """``state`` is stored now; views of the one before, and of ``others``, go unless somebody holds them."""
        seen: LakeState | None = getattr(self._own, "seen", None)
        with self._lock:
            before, self.stored, self._tried = self.stored, state, None
            held = [one for one, _ in self._held.values()]
            if id(before) in self._held:
                self._replaced.append(before)
        if seen is not None:  # a reader who brought a view up to date sees that
            self._own.seen = self._hold()
            self._let_go(seen)
        for one in (before, *others):
            if all(one is not other for other in held):
                one.drop_views(state, *held, files=files)

    @property
    def files(self) -> set[str]:
        """The files of states that are held."""
        with self._lock:
            return {path for state, _ in self._held.values() for path in state.paths}
