"""Answers that come later."""

import gc

import pytest

from drumbeat.runtime.requests import Deferred


@pytest.mark.parametrize("listens_first", [True, False])
def test_a_settled_answer_leaves_nothing_to_the_garbage_collector(listens_first):
    """A connection's listener holds the answer that holds it: one such pair per commit."""
    deferred = Deferred(mutes=False)
    heard = []

    def listener(response, problem, held=deferred):
        heard.append((response, problem, held.is_settled))

    gc.collect()
    gc.disable()
    try:
        if listens_first:
            deferred.when_settled(listener)
        deferred.resolve("response")
        if not listens_first:
            deferred.when_settled(listener)
        del listener, deferred
        assert gc.collect() == 0
    finally:
        gc.enable()
    assert heard == [("response", None, True)]
