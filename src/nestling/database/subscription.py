"""A subscription to the changes of a view."""

from __future__ import annotations

import logging
from collections.abc import Callable

from nestling.database.change import Change

Told = Callable[[Change], object]
OnError = Callable[[Exception, Change], object]

LOG = logging.getLogger("nestling")


class Subscription:
    """A function that is called with every change of a view; ``cancel`` ends it.

    An exception that it raises goes to the logger ``nestling`` and, with the change, to ``on_error``. The change stays
    committed, and the other subscribers receive it.
    """

    __slots__ = ("_cancel", "active", "function", "history", "on_error", "view")

    def __init__(
        self,
        cancel: Callable[[Subscription], None],
        view: str,
        function: Told,
        history: int,
        on_error: OnError | None,
    ) -> None:
        self._cancel = cancel
        self.view, self.function, self.history, self.on_error = view, function, history, on_error
        self.active = True

    def cancel(self) -> None:
        """Tell no more, from now on: also not of changes that are committed and not yet told."""
        self._cancel(self)

    def tell(self, change: Change) -> None:
        """Hand over a change. What ends the program or is an interrupt passes; nothing else does."""
        try:
            self.function(change)
        except Exception as error:
            LOG.exception("a subscriber of %s failed at version %d", self.view, change.version)
            self._failed(error, change)

    def _failed(self, error: Exception, change: Change) -> None:
        if self.on_error is None:
            return
        try:
            self.on_error(error, change)
        except Exception:
            LOG.exception("on_error of a subscriber of %s failed at version %d", self.view, change.version)

    def __repr__(self) -> str:
        return f"Subscription({self.view}{'' if self.active else ', cancelled'})"
