"""OffsetFetch beyond what the golden rows ask: topic ids, deleted topics, many groups."""

from typing import Any

import pytest

from drumbeat.core.records import GroupMetadataTombstone, OffsetCommitRecord
from drumbeat.core.reducer import apply
from drumbeat.protocol.apis.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.schema import NULL_UUID
from support.coordinator import DEFAULT_TOPICS, START_MS, Coordinator
from support.groups import Clients

T1_ID = DEFAULT_TOPICS.topic_id("t1")
FOREIGN_ID = b"\x09" * 16


def coordinator_with(*records: OffsetCommitRecord) -> Coordinator:
    coordinator = Coordinator(checks=False)
    for log_offset, record in enumerate(records):
        apply(coordinator.state, record, log_offset)
    return coordinator


def stored(offset: int, topic: str = "t1", topic_id: bytes = T1_ID, **fields: Any) -> Any:
    record = OffsetCommitRecord("g", topic, 0, offset, 3, "m", START_MS, topic_id=topic_id)
    return record._replace(**fields)


def by_id(coordinator: Coordinator, *topic_ids: bytes, require_stable: bool = False) -> Any:
    topics = tuple(OffsetFetchRequestTopics("", topic_id, (0,)) for topic_id in topic_ids)
    request = OffsetFetchRequest(
        groups=(OffsetFetchRequestGroup("g", topics=topics),), require_stable=require_stable
    )
    (group,) = coordinator.send(request, 10).response.groups
    return [
        (t.topic_id, p.committed_offset, p.error_code) for t in group.topics for p in t.partitions
    ]


# stored id, found by the topic's id now
IDS = {"same": (T1_ID, 5), "none stored": (NULL_UUID, 5), "another topic's": (FOREIGN_ID, -1)}


@pytest.mark.parametrize(("topic_id", "expected"), IDS.values(), ids=IDS)
def test_an_offset_of_a_topic_that_was_made_anew_is_not_found_by_id(topic_id, expected):
    coordinator = coordinator_with(stored(5, topic_id=topic_id))
    assert by_id(coordinator, T1_ID) == [(T1_ID, expected, ErrorCode.NONE)]


@pytest.mark.parametrize("version", [1, 7])
@pytest.mark.parametrize("topic_id", [T1_ID, NULL_UUID, FOREIGN_ID])
def test_by_name_it_is_found(version, topic_id):
    coordinator = coordinator_with(stored(5, topic_id=topic_id))
    request = OffsetFetchRequest("g", (OffsetFetchRequestTopic("t1", (0,)),))
    (topic,) = coordinator.send(request, version).response.topics
    assert topic.partitions[0].committed_offset == 5


def test_topics_of_unknown_id_come_last():
    coordinator = coordinator_with(stored(5))
    assert by_id(coordinator, FOREIGN_ID, T1_ID) == [
        (T1_ID, 5, ErrorCode.NONE),
        (FOREIGN_ID, -1, ErrorCode.UNKNOWN_TOPIC_ID),
    ]


@pytest.mark.parametrize(("version", "expected"), [(8, ["t1", "gone"]), (9, ["t1", "gone"])])
def test_all_topics_by_name_has_deleted_ones_too(version, expected):
    coordinator = coordinator_with(stored(5), stored(6, topic="gone"))
    request = OffsetFetchRequest(groups=(OffsetFetchRequestGroup("g", topics=None),))
    (group,) = coordinator.send(request, version).response.groups
    assert [topic.name for topic in group.topics] == expected


def test_all_topics_by_id_cannot_have_deleted_ones():
    coordinator = coordinator_with(stored(5), stored(6, topic="gone"))
    request = OffsetFetchRequest(groups=(OffsetFetchRequestGroup("g", topics=None),))
    (group,) = coordinator.send(request, 10).response.groups
    assert [topic.topic_id for topic in group.topics] == [T1_ID]


@pytest.mark.parametrize("version", [7, 10])
@pytest.mark.parametrize("require_stable", [True, False])
def test_an_open_transaction_is_in_the_way_of_stable_reads_only(version, require_stable):
    coordinator = coordinator_with(stored(5))
    apply(coordinator.state, stored(9), 1, producer_id=7)
    if version == 10:
        answers = by_id(coordinator, T1_ID, require_stable=require_stable)
        (_, offset, error) = answers[0]
    else:
        asked = (OffsetFetchRequestTopic("t1", (0,)),)
        request = OffsetFetchRequest("g", asked, require_stable=require_stable)
        (topic,) = coordinator.send(request, version).response.topics
        _, offset, _, _, error = topic.partitions[0]
    expected = (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT) if require_stable else (5, ErrorCode.NONE)
    assert (offset, error) == expected


@pytest.mark.parametrize("version", [1, 7, 8, 10])
def test_a_group_that_is_gone_has_no_offsets(version):
    """Its tombstone was written, those of its offsets were not (or are compacted away)."""
    coordinator = coordinator_with(stored(5))
    apply(coordinator.state, GroupMetadataTombstone("g"), 1)
    check_nothing(coordinator, version)


@pytest.mark.parametrize("version", [1, 7, 8, 10])
def test_a_dead_group_has_no_offsets(version):
    coordinator = Coordinator()
    clients = Clients(coordinator)
    (member_id,) = clients.stable("a")
    clients.commit(5, member_id, 1)
    coordinator.unload()
    check_nothing(coordinator, version)


def check_nothing(coordinator: Coordinator, version: int) -> None:
    if version >= 8:
        asked = (OffsetFetchRequestTopics("t1", T1_ID, (0,)),)
        request = OffsetFetchRequest(groups=(OffsetFetchRequestGroup("g", topics=asked),))
        response = coordinator.send(request, version).response.groups[0]
    else:
        request = OffsetFetchRequest("g", (OffsetFetchRequestTopic("t1", (0,)),))
        response = coordinator.send(request, version).response
    assert response.error_code == ErrorCode.NONE
    (topic,) = response.topics
    assert tuple(topic.partitions[0]) == (0, -1, -1, "", ErrorCode.NONE)
