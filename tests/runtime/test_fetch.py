"""Fetch: what is answered at once, and what a wrong request is told."""

import pytest

from drumbeat.protocol.apis.fetch import FetchTopic
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.record_batch import read_header
from support.data_topics import (
    FETCH,
    Topic,
    batch,
    create_topic,
    fetch_from,
    fetch_partition,
    fetch_request,
    lowest_and_highest,
    partitions_of,
    produce_to,
    records_in,
    values_in,
)
from support.wire import Wire

VERSIONS = lowest_and_highest(FETCH)
LOWEST, HIGHEST = VERSIONS
NONE = ErrorCode.NONE
READ_COMMITTED = 1


@pytest.fixture(scope="module")
def topic(bootstrap_servers):
    """Two partitions; the first has three batches of two records."""
    with Wire(bootstrap_servers) as connection:
        created = create_topic(connection, partitions=2)
        for first in (0, 2, 4):
            produce_to(connection, created, batch(b"%d" % first, b"%d" % (first + 1)))
        yield created


@pytest.mark.parametrize("version", FETCH.versions)
def test_records_come_with_the_state_of_their_partition(wire, topic, version):
    data = fetch_from(wire, topic, version=version)
    assert (data.error_code, data.partition_index) == (NONE, 0)
    assert (data.high_watermark, data.last_stable_offset) == (6, 6)
    assert data.log_start_offset == (0 if version >= 5 else -1)
    assert data.preferred_read_replica == -1
    assert [(r.offset, r.value) for r in records_in(data.records)] == [
        (i, b"%d" % i) for i in range(6)
    ]


@pytest.mark.parametrize("version", FETCH.versions)
def test_a_fetch_at_the_end_is_empty(wire, topic, version):
    data = fetch_from(wire, topic, 6, version=version)
    assert (data.error_code, data.high_watermark, data.records) == (NONE, 6, b"")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("offset", "first_returned"), [(0, 0), (1, 0), (2, 2), (3, 2), (5, 4)])
def test_whole_batches_are_returned_from_the_one_that_holds_the_offset(
    wire, topic, version, offset, first_returned
):
    data = fetch_from(wire, topic, offset, version=version)
    assert records_in(data.records)[0].offset == first_returned


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("offset", [-1, 7, 2**63 - 1])
def test_offsets_that_are_not_there(wire, topic, version, offset):
    data = fetch_from(wire, topic, offset, version=version)
    assert data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert (data.high_watermark, data.records) == (-1, b"")


@pytest.mark.parametrize(
    ("version", "error_code"),
    [
        (LOWEST, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (12, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (13, ErrorCode.UNKNOWN_TOPIC_ID),
        (HIGHEST, ErrorCode.UNKNOWN_TOPIC_ID),
    ],
)
def test_an_unknown_topic(wire, version, error_code):
    data = fetch_from(wire, Topic("never-created", b"\x02" * 16), version=version)
    assert (data.error_code, data.records) == (error_code, b"")


@pytest.mark.parametrize("version", VERSIONS)
def test_an_unknown_partition_of_a_known_topic(wire, topic, version):
    data = fetch_from(wire, topic, partition=2, version=version)
    assert data.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("version", VERSIONS)
def test_every_partition_is_answered_for_itself(wire, topic, version):
    other = create_topic(wire)
    produce_to(wire, other, batch(b"x"))
    request = fetch_request(topic, *(fetch_partition(0, p) for p in (1, 9, 0)))
    request = request._replace(topics=(*request.topics, FetchTopic(*other, (fetch_partition(),))))
    answers = {
        (answered.topic_id if version >= 13 else answered.topic, data.partition_index): (
            data.error_code,
            values_in(data.records),
        )
        for answered in wire.call(FETCH, version, request).responses
        for data in answered.partitions
    }
    place = 1 if version >= 13 else 0
    assert answers == {
        (topic[place], 1): (NONE, []),
        (topic[place], 9): (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, []),
        (topic[place], 0): (NONE, [b"%d" % i for i in range(6)]),
        (other[place], 0): (NONE, [b"x"]),
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_read_committed_names_the_aborted_transactions_of_which_there_are_none(
    wire, topic, version
):
    def aborted(isolation_level):
        request = fetch_request(topic, isolation_level=isolation_level)
        (data,) = partitions_of(wire.call(FETCH, version, request))
        assert len(values_in(data.records)) == 6
        return data.aborted_transactions

    assert aborted(READ_COMMITTED) == ()
    assert aborted(0) is None


# -- leader epochs -------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [9, HIGHEST])
def test_leader_epochs(wire, topic, version):
    epoch = read_header(fetch_from(wire, topic).records).partition_leader_epoch
    for asked, error_code in (
        (-1, NONE),
        (-2, NONE),
        (-(2**31), NONE),
        (epoch, NONE),
        (epoch + 1, ErrorCode.UNKNOWN_LEADER_EPOCH),
        (2**31 - 1, ErrorCode.UNKNOWN_LEADER_EPOCH),
    ):
        data = fetch_from(wire, topic, version=version, current_leader_epoch=asked)
        assert data.error_code == error_code
        assert bool(data.records) == (error_code == NONE)


# -- sessions (KIP-227) --------------------------------------------------------------------------

SESSIONS = {
    # session id, epoch: answer
    "no session": (0, -1, NONE),
    "a new session": (0, 0, NONE),
    "a session that is to be closed": (5, -1, NONE),
    "a session that was never there": (5, 1, ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
    "no session, but the second fetch of it": (0, 1, ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
    "an epoch that no session has": (0, -2, ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
}


@pytest.mark.parametrize("version", [7, HIGHEST])
@pytest.mark.parametrize(("session_id", "epoch", "answer"), SESSIONS.values(), ids=SESSIONS.keys())
def test_sessions(wire, topic, version, session_id, epoch, answer):
    request = fetch_request(topic, session_id=session_id, session_epoch=epoch)
    response = wire.call(FETCH, version, request)
    assert response.error_code == answer
    if answer == NONE:
        assert len(values_in(partitions_of(response)[0].records)) == 6
    else:
        assert response.responses == ()
