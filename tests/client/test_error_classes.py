"""Errors keep their class, code and fields when they are told in other words."""

import pickle

import pytest

from drumbeat.client.errors import (
    CommitFailedError,
    KafkaError,
    NodeDisconnected,
    error_for,
)
from drumbeat.protocol.errors import ErrorCode


class ElsewhereError(KafkaError):
    """One that is made from something else than a code and a message."""

    def __init__(self, offset: int) -> None:
        super().__init__(ErrorCode.OFFSET_OUT_OF_RANGE, f"nothing at {offset}")
        self.offset = offset
        self.args = (offset,)


@pytest.mark.parametrize(
    "error",
    [
        KafkaError(ErrorCode.NOT_COORDINATOR),
        KafkaError(ErrorCode.NOT_COORDINATOR, "before"),
        NodeDisconnected("before"),
        CommitFailedError(),
        error_for(9_999, "before"),
        ElsewhereError(42),
    ],
)
def test_in_other_words(error: KafkaError):
    before = error.message
    other = error.saying("after")
    assert (type(other), other.code, other.message) == (type(error), error.code, "after")
    assert str(other).endswith(": after")
    assert {**vars(other), "message": before} == vars(error)
    assert str(pickle.loads(pickle.dumps(other))) == str(other)
