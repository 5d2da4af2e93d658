"""Produce and InitProducerId on the wire: batches to requests, responses to answers. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from drumbeat.client.errors import KafkaError, error_for
from drumbeat.client.producer.batch import Outcome, ProducerBatch
from drumbeat.client.values import TopicPartition
from drumbeat.protocol.apis import produce
from drumbeat.protocol.apis.init_producer_id import InitProducerIdRequest
from drumbeat.protocol.apis.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from drumbeat.protocol.compression import Codec
from drumbeat.protocol.errors import ErrorCode

# Version 13 has topic ids, which a producer may not know yet of a topic that was just created.
PRODUCE_VERSIONS: Final = range(produce.API.versions.start, 13)
NEW_PRODUCER: Final = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=2**31 - 1)

_UNANSWERED = PartitionProduceResponse(
    error_code=ErrorCode.UNKNOWN_SERVER_ERROR, error_message="the response left this partition out"
)


def produce_request(
    batches: Iterable[ProducerBatch], acks: int, timeout_ms: int, codec: tuple[Codec, int | None]
) -> ProduceRequest:
    """One batch per partition, by topic."""
    topics: dict[str, list[PartitionProduceData]] = {}
    for batch in batches:
        topic, partition = batch.topic_partition
        data = PartitionProduceData(partition, batch.encode(*codec))
        topics.setdefault(topic, []).append(data)
    return ProduceRequest(
        acks=acks,
        timeout_ms=timeout_ms,
        topic_data=tuple(
            TopicProduceData(name=name, partition_data=tuple(data)) for name, data in topics.items()
        ),
    )


def answers(
    batches: Iterable[ProducerBatch], response: ProduceResponse | None
) -> list[PartitionProduceResponse]:
    """What the broker said to each batch; without a response (acks=0) it said nothing."""
    if response is None:
        return [PartitionProduceResponse(base_offset=-1) for _ in batches]
    by_partition = {
        TopicPartition(topic.name, answer.partition_index): answer
        for topic in response.responses
        for answer in topic.partition_responses
    }
    return [by_partition.get(batch.topic_partition, _UNANSWERED) for batch in batches]


def failed(error: KafkaError) -> PartitionProduceResponse:
    """As if the broker had answered with what the network did."""
    return PartitionProduceResponse(
        error_code=error.code, base_offset=-1, error_message=error.message
    )


def refusal(batch: ProducerBatch, answer: PartitionProduceResponse) -> Outcome:
    """The outcome of a batch that the broker refused for good."""
    words = answer.error_message
    error = error_for(answer.error_code, words and f"{batch.topic_partition}: {words}")
    record_errors = {
        index: error_for(ErrorCode.INVALID_RECORD, message or error.message)
        for index, message in answer.record_errors
    }
    return Outcome(first=batch.first, error=error, record_errors=record_errors)
