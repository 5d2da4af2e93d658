"""A whole node whose offsets log is compacted all the time: clients notice nothing, nor does a
restart; and a compacted data topic, read by a client that was there before and one that was not."""

from drumbeat.protocol.apis import offset_commit, offset_fetch
from drumbeat.protocol.apis.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from drumbeat.protocol.apis.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.records import Record, encode_batch
from drumbeat.runtime.topics import CONSUMER_OFFSETS
from drumbeat.testing import Cluster
from support.data_topics import create_topic, fetch_from, produce_to, records_in
from support.waiting import wait_until
from support.wire import Wire

SETTINGS = {
    "offsets.topic.num.partitions": "1",
    "log.roll.ms": "20",
    "log.cleaner.backoff.ms": "1",
    "log.cleaner.min.cleanable.ratio": "0.01",
}
GROUPS = ("g1", "g2", "g3")


def commit(wire, group_id, offset):
    partition = OffsetCommitRequestPartition(0, offset)
    topic = OffsetCommitRequestTopic("t", partitions=(partition,))
    request = OffsetCommitRequest(group_id, topics=(topic,))
    (topic,) = wire.call(offset_commit.API, 9, request).topics
    assert topic.partitions[0].error_code == 0


def committed(wire, group_id):
    topic = OffsetFetchRequestTopics("t", partition_indexes=(0,))
    request = OffsetFetchRequest(groups=(OffsetFetchRequestGroup(group_id, topics=(topic,)),))
    groups = []

    def is_answered():
        groups[:] = wire.call(offset_fetch.API, 9, request).groups
        return groups[0].error_code != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

    wait_until(is_answered, 20, "the load")
    assert groups[0].error_code == 0
    return groups[0].topics[0].partitions[0].committed_offset


def commit_for_a_while(wire, first):
    for offset in range(first, first + 100):
        for group_id in GROUPS:
            commit(wire, group_id, offset)


def test_commits_survive_compaction_and_restart(tmp_path):
    folder = tmp_path / f"{CONSUMER_OFFSETS}-0"
    with Cluster(SETTINGS, data=str(tmp_path)) as cluster, Wire(cluster.bootstrap_servers) as wire:
        create_topic(wire, "t")
        commit_for_a_while(wire, 0)
        wait_until(lambda: len(list(folder.glob("*.log"))) <= 3, 20, "compaction")
        assert [committed(wire, group_id) for group_id in GROUPS] == [99] * 3
    with Cluster(SETTINGS, data=str(tmp_path)) as cluster, Wire(cluster.bootstrap_servers) as wire:
        assert [committed(wire, group_id) for group_id in GROUPS] == [99] * 3
        commit_for_a_while(wire, 100)
        assert [committed(wire, group_id) for group_id in GROUPS] == [199] * 3
    live = sum(path.stat().st_size for path in folder.glob("*.log"))
    past = sum(path.stat().st_size for path in (folder / "history").iterdir())
    assert past > 3 * live


def test_a_compacted_topic_is_read_from_any_offset(tmp_path):
    with Cluster(SETTINGS, data=str(tmp_path)) as cluster, Wire(cluster.bootstrap_servers) as wire:
        topic = create_topic(wire, cleanup_policy="compact", segment_ms="1000")
        for number in range(40):
            key = b"k%d" % (number % 4)
            record = Record(0, 1_700_000_000_000 + 2_000 * number, key, b"%d" % number)
            assert produce_to(wire, topic, encode_batch([record])).error_code == 0
        folder = tmp_path / f"{topic.name}-0"
        wait_until(lambda: len(list(folder.glob("*.log"))) == 2, 20, "compaction")
        for offset in range(40):
            assert read_offsets(wire, topic, offset) == list(range(max(offset, 35), 40))


def read_offsets(wire, topic, offset):
    """The offsets of all records from `offset` on, as a consumer gets to them."""
    found = []
    while offset < 40:
        records = records_in(fetch_from(wire, topic, offset).records)
        found += [record.offset for record in records if record.offset >= offset]
        offset = records[-1].offset + 1
    return found
