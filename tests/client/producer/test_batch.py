"""Batches: their bytes, their outcomes, their parts."""

import pytest

from drumbeat.client.errors import RequestTimedOut
from drumbeat.client.producer.batch import Outcome, ProducerBatch, ProducerIdAndEpoch
from drumbeat.client.producer.delivery import DeliveryFuture
from drumbeat.client.producer.requests import refusal
from drumbeat.client.values import RecordMetadata, TopicPartition
from drumbeat.protocol.apis.produce import BatchIndexAndErrorMessage, PartitionProduceResponse
from drumbeat.protocol.compression import Codec
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.record_batch import read_header
from drumbeat.protocol.records import Record, decode_records

TP = TopicPartition("orders", 1)


def filled(count: int, value_size: int = 10) -> ProducerBatch:
    batch = ProducerBatch(TP, created_ms=0)
    for number in range(count):
        batch.append(1000 + number, b"k", b"%0*d" % (value_size, number), (), value_size + 13)
    return batch


def futures(batch: ProducerBatch) -> list[DeliveryFuture]:
    return [DeliveryFuture(batch.result, n, 1000 + n, 1, 10) for n in range(len(batch.rows))]


def test_bytes_are_those_of_the_records():
    batch = ProducerBatch(TP, created_ms=0)
    batch.append(1000, None, b"v", (("h", b"x"), ("n", None)), 20)
    batch.append(999, b"k", None, (), 20)
    batch.set_sequence(ProducerIdAndEpoch(7, 2), 40)
    data = batch.encode(Codec.GZIP, None)
    header = read_header(data)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 2, 40)
    assert decode_records(data) == [
        Record(0, 1000, None, b"v", (("h", b"x"), ("n", None))),
        Record(1, 999, b"k", None),
    ]


def test_another_sequence_makes_other_bytes():
    batch = filled(2)
    batch.set_sequence(ProducerIdAndEpoch(7, 0), 5)
    first = batch.encode(Codec.NONE, None)
    assert batch.encode(Codec.NONE, None) is first
    batch.set_sequence(ProducerIdAndEpoch(7, 1), 0)
    assert batch.is_sequence_reset
    assert read_header(batch.encode(Codec.NONE, None)).producer_epoch == 1
    assert not batch.is_sequence_reset


@pytest.mark.parametrize(
    ("outcome", "offset", "timestamp"),
    [
        (Outcome(0, base_offset=50), 52, 1002),
        (Outcome(0, base_offset=50, log_append_time_ms=9), 52, 9),
        (Outcome(0), -1, 1002),  # acks=0, or a duplicate whose offset is forgotten
    ],
)
def test_metadata_of_a_stored_record(outcome: Outcome, offset: int, timestamp: int):
    batch = filled(3)
    future = futures(batch)[2]
    assert not future.done()
    batch.complete(outcome)
    assert future.result() == RecordMetadata("orders", 1, offset, timestamp, 1, 10)


def test_parts_keep_order_sequences_and_futures():
    batch = filled(10, value_size=100)
    batch.set_sequence(ProducerIdAndEpoch(7, 0), 2**31 - 3)
    everyone = futures(batch)
    parts = batch.split(61 + 4 * 113)
    assert [len(part.rows) for part in parts] == [4, 4, 2]
    assert [part.sequence for part in parts] == [2**31 - 3, 1, 5]
    values = [r.value for part in parts for r in decode_records(part.encode(Codec.NONE, None))]
    assert values == [row[3] for row in batch.rows]
    for part, base_offset in zip(reversed(parts), (300, 200, 100), strict=True):
        assert not everyone[0].done()
        part.complete(Outcome(0, base_offset))
    expected = [100, 101, 102, 103, 200, 201, 202, 203, 300, 301]
    assert [future.result().offset for future in everyone] == expected


def test_one_part_may_fail():
    batch = filled(4, value_size=100)
    everyone = futures(batch)
    first, second = batch.split(61 + 2 * 113)
    first.complete(Outcome(0, base_offset=7))
    second.complete(Outcome(0, error=RequestTimedOut("too late")))
    assert [future.exception() is None for future in everyone] == [True, True, False, False]


def test_a_record_that_is_refused_spoils_its_batch_and_is_named():
    batch = filled(3)
    everyone = futures(batch)
    answer = PartitionProduceResponse(
        error_code=ErrorCode.INVALID_RECORD,
        record_errors=(BatchIndexAndErrorMessage(1, "null key in a compacted topic"),),
    )
    batch.complete(refusal(batch, answer))
    messages = [str(future.exception()) for future in everyone]
    assert "null key in a compacted topic" in messages[1]
    assert "another record of the same batch" in messages[0]
    assert "another record of the same batch" in messages[2]


def test_callbacks_are_called_once_and_late_ones_at_once():
    batch = filled(1)
    (future,) = futures(batch)
    seen: list[DeliveryFuture] = []
    future.add_done_callback(seen.append)
    for callback in batch.complete(Outcome(0, base_offset=1)):
        callback()
    future.add_done_callback(seen.append)
    assert seen == [future, future]
