"""The JSON Patches (RFC 6902) of the steps of a view, made when somebody asks for one.

The model that finds the positions is built when the first patch is asked for, and follows the steps from then on: each
that it passes gets its patch. A step from before is reached by going back.

Law: the patch of a step, applied to the document before it, gives the document after it, whenever it is asked for.
"""

from __future__ import annotations

from typing import Any

from nestling.calculus.types import Type
from nestling.database.change import copied
from nestling.database.document.model import Model, Operation
from nestling.database.document.shape import ROWS, shape_of
from nestling.database.document.sorting import columns_of
from nestling.database.logs import Logging
from nestling.database.step import Step
from nestling.database.watching import Logs, Taken


class Document(list[Any]):
    """The rows of a view as JSON has them, in the order that patches address, and the ``version`` they are of."""

    def __init__(self, rows: list[Any], version: int) -> None:
        super().__init__(rows)
        self.version = version


def model_of(logging: Logging, view: str) -> Model:
    """The document of a view as it is."""
    definition, levels = logging.state.definitions[view], logging.levels(view)
    element = definition.element
    shape = shape_of(element, levels, definition.orders)
    if levels:
        return Model(shape, *logging.flat_rows(view))
    rows = ((columns_of(element, value), times) for value, times in logging.state.read(view).items())
    return Model(shape, rows, lambda label: ())


class Patches:
    """The patches of one view's steps."""

    __slots__ = ("_at", "_element", "_model")

    def __init__(self, element: Type) -> None:
        self._element = element
        #: The document after the last step that was passed.
        self._model: Model | None = None
        self._at: Step | None = None

    def patch(self, logging: Logging, view: str, step: Step, last: Step) -> list[Operation]:
        """The patch of ``step``; the state is locked, and ``last`` the last that was noted."""
        self.catch_up()
        if step.patch is None:
            model, self._model = self._model or self._started(logging, view), None  # whole, or not there
            steps = [step, *step.later()]
            for each in reversed(steps):
                model.follow(self._logs(each.taken), -1)
            for each in steps:
                self._pass(model, each)
            self._model, self._at = model, last
        assert step.patch is not None
        patch: list[Operation] = copied(step.patch)
        return patch

    def catch_up(self) -> None:
        """Pass the steps that were noted since."""
        if self._model is None or self._at is None or self._at.next is None:
            return
        model, at, self._model = self._model, self._at, None
        for step in at.later():
            self._pass(model, step)
            at = step
        self._model, self._at = model, at

    def _pass(self, model: Model, step: Step) -> None:
        patch = model.follow(self._logs(step.taken))
        step.patch = [{"op": "replace", "path": "", "value": model.document()}] if step.is_anew else patch

    def withdraw(self) -> None:
        """The last step was undone: a model that has passed it is of no use."""
        if self._at is not None and self._at.next is None:
            self._model = self._at = None

    def document(self) -> list[Any] | None:
        """The document after the last step, if there is a model."""
        self.catch_up()
        return None if self._model is None else self._model.document()

    def _started(self, logging: Logging, view: str) -> Model:
        model = model_of(logging, view)
        _, logged = logging.source(view) if logging.levels(view) else (None, {})
        if logged:
            model.follow(logged, -1)  # not noted yet
        return model

    def _logs(self, taken: Taken) -> Logs:
        if taken.logs or taken.rows is None:
            return taken.logs
        return {ROWS: {columns_of(self._element, value): times for value, times in taken.rows.items()}}
