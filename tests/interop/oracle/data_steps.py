"""Steps of producers and consumers: what is written to topics of the sequence, and read back."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from drumbeat.protocol.api import Api
from drumbeat.protocol.apis import (
    delete_records,
    fetch,
    init_producer_id,
    list_offsets,
    offset_for_leader_epoch,
    produce,
)
from drumbeat.protocol.apis.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from drumbeat.protocol.apis.fetch import FetchPartition, FetchRequest, FetchTopic
from drumbeat.protocol.apis.init_producer_id import InitProducerIdRequest
from drumbeat.protocol.apis.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from drumbeat.protocol.apis.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from drumbeat.protocol.apis.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.records import BatchOptions
from interop.oracle.batches import START_MS, Batch, Sequence, encoded
from interop.oracle.vocabulary import NO_PRODUCER, Known, Step, Topic

RECORDS_PER_BATCH = 2
STRANGER_PRODUCER_ID = 4_000_000_000
MAX_BYTES = 1 << 20


@dataclass(frozen=True, kw_only=True, repr=False)
class InitProducerId(Step):
    api: ClassVar[Api] = init_producer_id.API

    transactional_id: str | None = None
    with_own_id: bool = False

    def request(self, known: Known) -> InitProducerIdRequest:
        producer_id, epoch = known.producers[-1] if known.producers else NO_PRODUCER
        own = (producer_id, epoch) if self.with_own_id else NO_PRODUCER
        return InitProducerIdRequest(self.transactional_id, 60_000, *own)

    def learn(self, known: Known, response: Any) -> None:
        if response.error_code == ErrorCode.NONE:
            known.producers.append((response.producer_id, response.producer_epoch))


@dataclass(frozen=True, kw_only=True, repr=False)
class Produce(Step):
    api: ClassVar[Api] = produce.API

    topic: Topic = Topic.OWN
    partition: int = 0
    acks: int = -1
    batch: Batch = Batch.PLAIN
    sequence: Sequence = Sequence.NONE
    at_s: int = 0
    before: Batch | None = None  # what the request says of the partition first, if then PLAIN

    @property
    def is_silent(self) -> bool:
        return self.acks == 0

    def request(self, known: Known) -> ProduceRequest:
        data = encoded(self.batch, self.at_s, self._options(known))
        partitions = (PartitionProduceData(self.partition, data),)
        if self.before is not None and self.batch is Batch.PLAIN:
            first = encoded(self.before, self.at_s)
            partitions = (PartitionProduceData(self.partition, first), *partitions)
        topic = TopicProduceData(known.topic(self.topic), known.topic_id(self.topic), partitions)
        return ProduceRequest(acks=self.acks, timeout_ms=10_000, topic_data=(topic,))

    def _options(self, known: Known) -> BatchOptions:
        if self.sequence is Sequence.NONE or not known.producers:
            return BatchOptions()
        producer_id, epoch = known.producers[-1]
        due = known.sequences.get((self.topic, self.partition, producer_id), 0)
        said = {
            Sequence.NEXT: (producer_id, epoch, due),
            Sequence.SAME: (producer_id, epoch, max(0, due - RECORDS_PER_BATCH)),
            Sequence.GAP: (producer_id, epoch, due + 1),
            Sequence.OLD_EPOCH: (producer_id, epoch - 1, due),
            Sequence.NEW_EPOCH: (producer_id, epoch + 1, 0),
            Sequence.NEW_EPOCH_LATE: (producer_id, epoch + 1, due + 1),
            Sequence.STRANGER: (STRANGER_PRODUCER_ID, 0, due),
        }[self.sequence]
        return BatchOptions(producer_id=said[0], producer_epoch=said[1], base_sequence=said[2])

    def learn(self, known: Known, response: Any) -> None:
        if self.sequence is not Sequence.NEXT or not known.producers:
            return
        error_code = response.responses[0].partition_responses[0].error_code
        if error_code == ErrorCode.NONE:
            key = (self.topic, self.partition, known.producers[-1][0])
            known.sequences[key] = known.sequences.get(key, 0) + RECORDS_PER_BATCH


@dataclass(frozen=True, kw_only=True, repr=False)
class Fetch(Step):
    api: ClassVar[Api] = fetch.API

    topic: Topic = Topic.OWN
    partitions: tuple[int, ...] = (0,)
    offset: int = 0
    current_leader_epoch: int = -1
    last_fetched_epoch: int = -1
    partition_max_bytes: int = MAX_BYTES
    max_bytes: int = MAX_BYTES
    min_bytes: int = 0
    max_wait_ms: int = 0
    isolation_level: int = 0
    session: tuple[int, int] = (0, -1)  # id and epoch

    def request(self, known: Known) -> FetchRequest:
        partitions = tuple(
            FetchPartition(
                partition=partition,
                current_leader_epoch=known.leader_epoch(self.current_leader_epoch),
                fetch_offset=self.offset,
                last_fetched_epoch=known.leader_epoch(self.last_fetched_epoch),
                partition_max_bytes=self.partition_max_bytes,
            )
            for partition in self.partitions
        )
        topic = FetchTopic(known.topic(self.topic), known.topic_id(self.topic), partitions)
        return FetchRequest(
            max_wait_ms=self.max_wait_ms,
            min_bytes=self.min_bytes,
            max_bytes=self.max_bytes,
            isolation_level=self.isolation_level,
            session_id=self.session[0],
            session_epoch=self.session[1],
            topics=(topic,),
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class ListOffsets(Step):
    api: ClassVar[Api] = list_offsets.API

    topic: Topic = Topic.OWN
    partitions: tuple[int, ...] = (0,)
    timestamp: int = -1  # Kafka's special ones
    at_s: int | None = None  # or so many seconds after the beginning
    current_leader_epoch: int = -1
    isolation_level: int = 0

    @property
    def unordered(self) -> Mapping[str, tuple[str, ...]]:
        return {"topics": ("name",), "partitions": ("partition_index",)}

    def request(self, known: Known) -> ListOffsetsRequest:
        at_ms = self.timestamp if self.at_s is None else START_MS + 1000 * self.at_s
        partitions = tuple(
            ListOffsetsPartition(partition, known.leader_epoch(self.current_leader_epoch), at_ms)
            for partition in self.partitions
        )
        topic = ListOffsetsTopic(known.topic(self.topic), partitions)
        return ListOffsetsRequest(
            replica_id=-1, isolation_level=self.isolation_level, topics=(topic,), timeout_ms=5_000
        )


def end_offset_step(step: Step) -> ListOffsets:
    """Asks where the partition ends that a Produce was for."""
    assert isinstance(step, Produce)
    return ListOffsets(client=step.client, topic=step.topic, partitions=(step.partition,))


@dataclass(frozen=True, kw_only=True, repr=False)
class DeleteRecords(Step):
    api: ClassVar[Api] = delete_records.API

    topic: Topic = Topic.OWN
    partition: int = 0
    offset: int = -1

    def request(self, known: Known) -> DeleteRecordsRequest:
        partition = DeleteRecordsPartition(self.partition, self.offset)
        topic = DeleteRecordsTopic(known.topic(self.topic), (partition,))
        return DeleteRecordsRequest((topic,), 5_000)


@dataclass(frozen=True, kw_only=True, repr=False)
class OffsetForLeaderEpoch(Step):
    api: ClassVar[Api] = offset_for_leader_epoch.API

    topic: Topic = Topic.OWN
    partition: int = 0
    current_leader_epoch: int = -1
    leader_epoch: int = 0

    @property
    def unordered(self) -> Mapping[str, tuple[str, ...]]:
        return {"topics": ("topic",)}

    def request(self, known: Known) -> OffsetForLeaderEpochRequest:
        partition = OffsetForLeaderPartition(
            self.partition,
            known.leader_epoch(self.current_leader_epoch),
            known.leader_epoch(self.leader_epoch),
        )
        topic = OffsetForLeaderTopic(known.topic(self.topic), (partition,))
        return OffsetForLeaderEpochRequest(replica_id=-1, topics=(topic,))
