"""Idempotent producers: a batch is appended once, whatever is sent again, and in order."""

import time

import pytest

from drumbeat.protocol.apis.init_producer_id import API as INIT_PRODUCER_ID
from drumbeat.protocol.apis.init_producer_id import InitProducerIdRequest
from drumbeat.protocol.errors import ErrorCode
from support.brokers import start_broker
from support.data_topics import (
    PRODUCE,
    create_topic,
    fetch_from,
    lowest_and_highest,
    produce_request,
    produce_to,
    sequenced,
    values_in,
)
from support.waiting import wait_until
from support.wire import Wire

NONE = ErrorCode.NONE
OUT_OF_ORDER = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
FENCED = ErrorCode.INVALID_PRODUCER_EPOCH
SEQUENCE_MAX = 2**31 - 1


def new_producer_id(wire, version=INIT_PRODUCER_ID.versions[-1]):
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
    responses = []

    def is_answered():
        # Apache Kafka fetches its first block of ids from the controller.
        responses.append(wire.call(INIT_PRODUCER_ID, version, request))
        return responses[-1].error_code != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

    wait_until(is_answered, 10.0, "a producer id")
    assert (responses[-1].error_code, responses[-1].producer_epoch) == (NONE, 0)
    return responses[-1].producer_id


@pytest.mark.parametrize("producer_id", [-1, -2, -(2**63)])
def test_a_negative_id_is_none(wire, producer_id):
    topic = create_topic(wire)
    for base_offset in (0, 1):
        response = produce_to(wire, topic, sequenced(producer_id, 0, 0, b"a"))
        assert (response.error_code, response.base_offset) == (NONE, base_offset)


@pytest.mark.parametrize("version", lowest_and_highest(INIT_PRODUCER_ID))
def test_every_producer_gets_an_id_of_its_own(wire, version):
    ids = [new_producer_id(wire, version) for _ in range(20)]
    assert len(set(ids)) == len(ids)
    assert all(producer_id >= 0 for producer_id in ids)


@pytest.mark.parametrize(
    ("producer_id", "producer_epoch"), [(-1, 0), (5, -1)], ids=["epoch only", "id only"]
)
@pytest.mark.parametrize("version", [3, INIT_PRODUCER_ID.versions[-1]])
def test_a_producer_names_both_its_id_and_its_epoch_or_neither(
    wire, version, producer_id, producer_epoch
):
    request = InitProducerIdRequest(None, 60_000, producer_id, producer_epoch)
    response = wire.call(INIT_PRODUCER_ID, version, request)
    assert response.error_code == ErrorCode.INVALID_REQUEST
    assert (response.producer_id, response.producer_epoch) == (-1, -1)


# Each scene: (epoch, sequence, records), answer, base offset. A new producer id for each scene.
SCENES = {
    "one after the other": [
        ((0, 0, 2), NONE, 0),
        ((0, 2, 1), NONE, 2),
        ((0, 3, 3), NONE, 3),
    ],
    "the last batch again": [
        ((0, 0, 2), NONE, 0),
        ((0, 0, 2), NONE, 0),
        ((0, 2, 1), NONE, 2),
    ],
    "one of the last five again": [
        *[((0, i, 1), NONE, i) for i in range(6)],
        *[((0, i, 1), NONE, i) for i in range(1, 6)],
        ((0, 6, 1), NONE, 6),
    ],
    "older than the last five": [
        *[((0, i, 1), NONE, i) for i in range(6)],
        ((0, 0, 1), OUT_OF_ORDER, -1),
    ],
    "a gap": [((0, 0, 1), NONE, 0), ((0, 2, 1), OUT_OF_ORDER, -1), ((0, 1, 1), NONE, 1)],
    "overlapping what is there": [((0, 0, 3), NONE, 0), ((0, 1, 2), OUT_OF_ORDER, -1)],
    "not from 0 on, unknown producer": [((0, 7, 1), NONE, 0), ((0, 8, 1), NONE, 1)],
    "a new epoch begins at 0": [
        ((0, 0, 2), NONE, 0),
        ((1, 2, 1), OUT_OF_ORDER, -1),
        ((1, 0, 1), NONE, 2),
        ((1, 1, 1), NONE, 3),
    ],
    "an old epoch": [
        ((1, 0, 1), NONE, 0),
        ((0, 1, 1), FENCED, -1),
        ((0, 0, 1), FENCED, -1),
    ],
    "the sequence wraps between batches": [
        ((0, SEQUENCE_MAX - 1, 2), NONE, 0),
        ((0, 0, 1), NONE, 2),
    ],
    "the sequence wraps within a batch": [
        ((0, SEQUENCE_MAX - 1, 4), NONE, 0),
        ((0, SEQUENCE_MAX - 1, 4), NONE, 0),
        ((0, 2, 1), NONE, 4),
    ],
}


@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES.keys())
def test_sequences(wire, scene):
    topic, producer_id = create_topic(wire), new_producer_id(wire)
    written = []
    for (epoch, sequence, count), error_code, base_offset in scene:
        values = [b"%d:%d" % (epoch, sequence + i) for i in range(count)]
        response = produce_to(wire, topic, sequenced(producer_id, epoch, sequence, *values))
        assert (response.error_code, response.base_offset) == (error_code, base_offset)
        if base_offset == len(written):
            written += values
    assert values_in(fetch_from(wire, topic).records) == written


def test_producers_and_partitions_do_not_disturb_each_other(wire):
    topic = create_topic(wire, partitions=2)
    producer_ids = [new_producer_id(wire) for _ in range(3)]
    for sequence in range(3):
        for producer_id in producer_ids:
            for partition in range(2):
                data = sequenced(producer_id, 0, sequence, b"v")
                response = produce_to(wire, topic, data, partition=partition)
                assert response.error_code == NONE
    for partition in range(2):
        assert len(values_in(fetch_from(wire, topic, partition=partition).records)) == 9


def test_a_refused_batch_does_not_use_up_its_sequence(wire):
    topic, producer_id = create_topic(wire), new_producer_id(wire)
    corrupt = bytearray(sequenced(producer_id, 0, 0, b"a"))
    corrupt[-1] ^= 1
    assert produce_to(wire, topic, bytes(corrupt)).error_code == ErrorCode.CORRUPT_MESSAGE
    assert produce_to(wire, topic, sequenced(producer_id, 0, 0, b"a")).base_offset == 0


def test_pipelined_duplicates_are_recognised_before_the_first_is_on_disk(wire):
    topic, producer_id = create_topic(wire), new_producer_id(wire)
    data = sequenced(producer_id, 0, 0, b"a", b"b")
    for _ in range(5):
        wire.send(PRODUCE, 9, produce_request(topic, data))
    answers = [wire.receive().responses[0].partition_responses[0] for _ in range(5)]
    assert {(one.error_code, one.base_offset) for one in answers} == {(NONE, 0)}
    assert values_in(fetch_from(wire, topic).records) == [b"a", b"b"]


def test_a_restart_forgets_no_sequence_and_repeats_no_producer_id(tmp_path):
    # Producers whose newest record is older than producer.id.expiration.ms are forgotten.
    now_ms = time.time_ns() // 1_000_000
    with start_broker(tmp_path) as servers, Wire(servers) as wire:
        topic, producer_id = create_topic(wire), new_producer_id(wire)
        for sequence in range(7):
            data = sequenced(producer_id, 3, sequence, b"%d" % sequence, timestamp=now_ms)
            assert produce_to(wire, topic, data).base_offset == sequence
    with start_broker(tmp_path) as servers, Wire(servers) as wire:
        assert new_producer_id(wire) != producer_id
        for sequence, epoch, error_code, base_offset in (
            (6, 3, NONE, 6),
            (0, 3, OUT_OF_ORDER, -1),
            (8, 3, OUT_OF_ORDER, -1),
            (7, 2, FENCED, -1),
            (7, 3, NONE, 7),
        ):
            data = sequenced(producer_id, epoch, sequence, b"%d" % sequence, timestamp=now_ms)
            response = produce_to(wire, topic, data)
            assert (response.error_code, response.base_offset) == (error_code, base_offset)
        assert values_in(fetch_from(wire, topic).records) == [b"%d" % i for i in range(8)]
