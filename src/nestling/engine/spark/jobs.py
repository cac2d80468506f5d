"""What Spark's pages say of our jobs, and how these are cancelled.

A classic session has a description and a group for the jobs of a thread; one of Connect has tags of the operations that
a thread sends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from nestling.engine.spark.remote import is_connect

#: What Spark's pages show of a job.
DESCRIPTION = "spark.job.description"


@contextmanager
def described_jobs(session: Any, text: str) -> Iterator[None]:
    """A block whose jobs are described by ``text``; what the user said of them before holds again after it."""
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
    context = session.sparkContext
    before = context.getLocalProperty(DESCRIPTION)
    context.setLocalProperty(DESCRIPTION, text)
    try:
        yield
    finally:
        context.setLocalProperty(DESCRIPTION, before)


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
