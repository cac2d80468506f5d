"""A session of ours over Spark Connect ends with its database, and calls no server that was stopped."""

import pytest

pytest.importorskip("pyspark", reason="pip install nestling[spark]")

from pyspark.errors import PySparkException

from nestling.engine.spark.remote import end_session
from nestling.engine.spark.session import own_session
from nestling.errors import QueryError


class Session:
    """What a session of Connect is to who ends it; ``calls`` are those to the server."""

    def __init__(self, fails: bool = False) -> None:
        self.is_stopped, self.calls, self.fails = False, list[str](), fails
        self.client = self

    def release_session(self) -> None:
        self.calls.append("release")
        if self.fails:
            raise PySparkException("it is not there")

    def close(self) -> None:
        self.is_stopped = True

    def stop(self) -> None:
        raise AssertionError("this stops a local server")


Session.__module__ = "pyspark.sql.connect.session"


@pytest.mark.parametrize("fails", [False, True])
def test_it_is_released_and_closed_once(fails):
    session, user = Session(fails), Session()
    end_session(session, user)
    end_session(session, user)
    assert (session.is_stopped, session.calls) == (True, ["release"])
    assert not user.is_stopped


def test_no_server_is_called_once_the_user_has_stopped_it():
    session, user = Session(), Session()
    user.close()
    end_session(session, user)
    assert (session.is_stopped, session.calls) == (True, [])


def test_a_session_with_a_jvm_of_its_own_stays():
    class Classic(Session): ...

    Classic.__module__ = "pyspark.sql.session"
    session = Classic()
    end_session(session, Session())
    assert not session.is_stopped


def test_a_session_that_lets_nothing_be_set_is_refused():
    """as that of Declarative Pipelines is, with what to give instead"""

    class Pipeline(Session):
        @property
        def conf(self):
            return self

        def newSession(self):
            return self

        def get(self, name, default=None):
            return "another"

        def set(self, name, value):
            raise PySparkException("[SESSION_MUTATION_IN_DECLARATIVE_PIPELINE.SET_RUNTIME_CONF] not allowed")

    Pipeline.__module__ = "pyspark.sql.connect.session"
    with pytest.raises(
        QueryError, match=r"does not let spark.sql.ansi.enabled be true[\s\S]*Declarative Pipelines"
    ):
        own_session(Pipeline())
