"""Answers that come later."""

import gc
import weakref

import pytest

from drumbeat.runtime.requests import Deferred


class Connection:
    """Whatever a listener holds besides the answer."""


@pytest.mark.parametrize("listens_first", [True, False])
def test_a_settled_answer_leaves_nothing_to_the_garbage_collector(listens_first):
    """A connection's listener holds the answer that holds it: one such pair per commit."""
    deferred, connection = Deferred(mutes=False), Connection()
    heard = []

    def listener(response, problem, held=(deferred, connection)):
        heard.append((response, problem, held[0].is_settled))

    is_there = weakref.ref(connection)
    gc.disable()
    try:
        if listens_first:
            deferred.when_settled(listener)
        deferred.resolve("response")
        if not listens_first:
            deferred.when_settled(listener)
        del listener, deferred, connection
        assert is_there() is None
    finally:
        gc.enable()
    assert heard == [("response", None, True)]
