"""What Spark's pages say of our jobs, and how these are cancelled.

A classic session has a description and a group for the jobs of a thread; one of Connect has tags of the operations that
a thread sends.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from nestling.engine.spark.remote import is_connect

#: What Spark's pages show of a job.
DESCRIPTION = "spark.job.description"


class _Work(threading.local):
    """What this thread has had Spark do so far: queries, each of some jobs, and bytes that it and they wrote."""

    queries = 0
    bytes = 0


WORK = _Work()


def work_done() -> tuple[int, int]:
    """Queries and bytes of this thread so far."""
    return WORK.queries, WORK.bytes


@contextmanager
def described_jobs(session: Any, text: str) -> Iterator[None]:
    """A block whose jobs are described by ``text``; what the user said of them before holds again after it.

    Whatever is raised in it, none of its jobs goes on. Ctrl-C is ``KeyboardInterrupt``, whatever PySpark makes of it.
    """
    if is_connect(session):
        tag = re.sub(r"[\s,]+", "_", f"nestling_{text}")
        is_new = tag not in session.getTags()
        if is_new:
            session.addTag(tag)
        try:
            yield
        finally:
            if is_new:
                session.removeTag(tag)
        return
    context, tag, handled = session.sparkContext, f"nestling-{uuid4().hex}", sys.exception()
    before = context.getLocalProperty(DESCRIPTION)
    context.setLocalProperty(DESCRIPTION, text)
    context.addJobTag(tag)
    try:
        yield
    except BaseException as error:
        # PySpark's own handler of Ctrl-C may find its connection in use, and then it cancels nothing.
        context.cancelJobsWithTag(tag)
        if isinstance(error, Exception) and _is_interrupted(error, handled):
            raise KeyboardInterrupt from error
        raise
    finally:
        context.removeJobTag(tag)
        context.setLocalProperty(DESCRIPTION, before)


def _is_interrupted(error: BaseException | None, handled: BaseException | None) -> bool:
    """Whether an error came of Ctrl-C, other than one that the caller is handling."""
    while error is not None and error is not handled:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


def named_jobs(session: Any, group: str, text: str) -> None:
    """Let the jobs of this thread be cancelled by the name ``group``."""
    if is_connect(session):
        session.addTag(group)
    else:
        session.sparkContext.setJobGroup(group, text)


def cancel_jobs(session: Any, group: str) -> None:
    """Cancel the jobs of that name."""
    if is_connect(session):
        session.interruptTag(group)
    else:
        session.sparkContext.cancelJobGroup(group)
