"""Leaders that move, and brokers that refuse: told by two brokers that answer from a script."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from client.net.scripted_broker import broker, listening
from drumbeat.client.errors import TopicAuthorizationError
from drumbeat.client.values import TopicPartition
from drumbeat.pipeline.sources.brokers import Brokers
from drumbeat.pipeline.sources.fetching import read_batches
from drumbeat.protocol.apis import api_versions, fetch, metadata
from drumbeat.protocol.apis.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from drumbeat.protocol.apis.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.records import Record, encode_batch

# Versions whose response header is the old one, which is all that the script writes.
OFFERED = {api_versions.API.key: (0, 2), metadata.API.key: (4, 7), fetch.API.key: (4, 11)}
TP = TopicPartition("t", 0)
HANG_UP = "the connection ends"


class Script:
    """Broker 1 leads until it was asked for records once, and answers that with `problem`."""

    def __init__(self, problem):
        self._problem = problem
        self._addresses = {}
        self._epoch = 0
        self.asked = []

    async def read(self):
        """Records 0 to 3, with the broker that each fetch went to in `asked`."""
        async with AsyncExitStack() as stack:
            for node_id in (1, 2):
                talk = broker(
                    lambda header, node=node_id: self._answer(node, header), offered=OFFERED
                )
                self._addresses[node_id] = await stack.enter_async_context(listening(talk))
            brokers = Brokers.at(self._addresses[1], retry_backoff_ms=1, reconnect_backoff_ms=1)
            fetched = await asyncio.to_thread(lambda: list(read_batches(brokers, TP, 0, 4)))
            return b"".join(each.records for each in fetched)

    def _answer(self, node_id, header):
        if header.api_key == metadata.API.key:
            return metadata.API.encode_response(header.api_version)(self._metadata())
        self.asked.append(node_id)
        data = PartitionData(records=batch(2 * len(self.asked) - 4), high_watermark=4)
        if node_id == 1:
            self._epoch = 1
            if self._problem == HANG_UP:
                raise ConnectionError
            data = PartitionData(error_code=self._problem)
        response = FetchResponse(responses=(FetchableTopicResponse("t", partitions=(data,)),))
        return fetch.API.encode_response(header.api_version)(response)

    def _metadata(self):
        brokers = [(node_id, *at.split(":")) for node_id, at in self._addresses.items()]
        partition = MetadataResponsePartition(
            partition_index=0, leader_id=1 + self._epoch, leader_epoch=self._epoch
        )
        return MetadataResponse(
            brokers=tuple(MetadataResponseBroker(n, host, int(port)) for n, host, port in brokers),
            controller_id=1,
            topics=(MetadataResponseTopic(name="t", partitions=(partition,)),),
        )


def batch(base_offset):
    return encode_batch([Record(base_offset + place, 1, None, b"v") for place in range(2)])


PASSING = [
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.OFFSET_NOT_AVAILABLE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    HANG_UP,
]


@pytest.mark.parametrize("problem", PASSING)
def test_reading_goes_on_at_the_new_leader(problem):
    script = Script(problem)
    assert asyncio.run(script.read()) == batch(0) + batch(2)
    assert script.asked == [1, 2, 2]


def test_what_does_not_pass_is_told_at_once():
    script = Script(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(TopicAuthorizationError, match="t-0 at offset 0: this client may not use"):
        asyncio.run(script.read())
    assert script.asked == [1]
