"""Answers that are repeated are encoded once; nobody can tell."""

from typing import Any

import pytest

from drumbeat.protocol.apis import offset_commit
from drumbeat.protocol.apis.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from drumbeat.protocol.errors import ErrorCode
from drumbeat.runtime.dispatch import REMEMBERED_BYTES_MAX, REMEMBERED_MAX, Dispatcher
from drumbeat.runtime.tasks import Tasks
from support.wire import request_frame

VERSION = 8
HEADER_BYTES = 4 + 4 + 1  # length, correlation id, no tags
COMMIT = request_frame(offset_commit.API, VERSION, OffsetCommitRequest("g"))[4:]


def response(topic: str, partitions: int, error: int = 0) -> OffsetCommitResponse:
    answers = tuple(OffsetCommitResponsePartition(index, error) for index in range(partitions))
    return OffsetCommitResponse(topics=(OffsetCommitResponseTopic(topic, partitions=answers),))


RESPONSES = {
    "the same again": [response("t", 1)] * 3,
    "others in between": [response("t", 1), response("t", 2), response("u", 1)] * 2,
    "errors": [response("t", 1, error) for error in (0, ErrorCode.ILLEGAL_GENERATION, 0, 22)],
    "large ones": [response("t", REMEMBERED_BYTES_MAX)] * 2,
    "more than are remembered": [response(f"t{n}", 1) for n in range(REMEMBERED_MAX + 2)] * 2,
}


@pytest.mark.parametrize("responses", RESPONSES.values(), ids=RESPONSES)
def test_every_answer_is_the_one_that_was_given(responses):
    given = iter(responses)

    def handle(*_request: object) -> Any:
        return next(given)

    dispatcher = Dispatcher(None, {offset_commit.API.key: handle}, Tasks())
    encode = offset_commit.API.encode_response(VERSION)
    for expected in responses:
        frame = dispatcher.dispatch(COMMIT, "/127.0.0.1")
        assert frame[HEADER_BYTES:] == encode(expected)
