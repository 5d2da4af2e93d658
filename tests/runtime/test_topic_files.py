"""Topics in a data directory: what is written, and what a crash in between leaves."""

import asyncio
import json

import pytest

from drumbeat.log.port import LogSettings, TopicPartition
from drumbeat.log.store import LocalStore
from drumbeat.protocol.apis import metadata
from drumbeat.protocol.errors import ErrorCode
from drumbeat.runtime.entropy import new_topic_id, uuid_text
from drumbeat.runtime.topic_catalog import TopicCatalog
from drumbeat.runtime.topic_files import FileTopicStore, TopicFileError
from drumbeat.runtime.topics import METADATA_TOPIC, Topic
from drumbeat.testing import Cluster
from support.data_topics import batch, create_topic, offset_of, produce_to
from support.topics import described
from support.wire import Wire

LONGEST = "x" * 249


def new_topic(name="orders", partitions=2, **configs):
    return Topic(name, new_topic_id(), partitions, 3, configs)


def with_store(data_dir, function):
    """`function` of a topic store and the log store beside it."""

    async def run():
        logs = LocalStore(str(data_dir))
        await logs.open()
        try:
            return await function(FileTopicStore(str(data_dir), logs), logs)
        finally:
            await logs.close()

    return asyncio.run(run())


def loaded(data_dir):
    async def load(store, _logs):
        return {topic.name: topic for topic in store.load()}

    return with_store(data_dir, load)


@pytest.mark.parametrize("name", ["orders", "a.b_c-d", LONGEST])
def test_a_topic_is_read_back_as_it_was_saved(tmp_path, name):
    topic = new_topic(name, **{"retention.ms": "5"})

    async def save(store, _logs):
        store.load()
        store.save(topic)
        store.save(topic._replace(partition_count=7))

    with_store(tmp_path, save)
    assert loaded(tmp_path) == {name: topic._replace(partition_count=7)}


def test_a_removed_topic_is_gone(tmp_path):
    topic = new_topic()

    async def save_and_remove(store, _logs):
        store.load()
        store.save(topic)
        store.remove(topic)
        store.remove(topic)

    with_store(tmp_path, save_and_remove)
    assert loaded(tmp_path) == {}


def test_folders_without_a_description_become_a_topic(tmp_path):
    topic_id = new_topic_id()

    async def acquire(store, logs):
        for partition in (0, 3):
            await logs.acquire(
                TopicPartition("copied", partition), LogSettings(), topic_id=uuid_text(topic_id)
            )

    with_store(tmp_path, acquire)
    expected = {"copied": Topic("copied", topic_id, 4, 1)}
    assert loaded(tmp_path) == expected
    assert loaded(tmp_path) == expected


@pytest.mark.parametrize("is_described", [False, True])
def test_kafkas_metadata_log_is_no_topic_and_is_left_alone(tmp_path, caplog, is_described):
    """A copied data directory has it; an earlier version has described it."""

    async def acquire(store, logs):
        for name in (METADATA_TOPIC, "copied"):
            log = await logs.acquire(TopicPartition(name, 0), LogSettings())
            await log.release()
        if is_described:
            store.load()
            store.save(new_topic(METADATA_TOPIC))

    with_store(tmp_path, acquire)
    caplog.clear()
    folder = tmp_path / f"{METADATA_TOPIC}-0"
    before = {path: path.read_bytes() for path in folder.iterdir()}
    with Cluster(data=str(tmp_path)) as cluster, Wire(cluster.bootstrap_servers) as wire:
        listed = wire.call(metadata.API, 12, metadata.MetadataRequest(topics=None)).topics
        assert [topic.name for topic in listed] == ["copied"]
        refused = described(wire, METADATA_TOPIC)
        assert refused.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    told = [r.getMessage() for r in caplog.records if METADATA_TOPIC in r.getMessage()]
    assert told == [f"{METADATA_TOPIC}: Kafka's own log of its cluster; left alone"]


DAMAGED = {
    "empty": "",
    "no JSON": "{",
    "no object": "[]",
    "no id": json.dumps({"partitions": 1, "replication_factor": 1, "configs": {}}),
    "no number": json.dumps(
        {"topic_id": "x" * 22, "partitions": "many", "replication_factor": 1, "configs": {}}
    ),
}


@pytest.mark.parametrize("text", DAMAGED.values(), ids=DAMAGED.keys())
def test_a_damaged_description_is_named(tmp_path, text):
    folder = tmp_path / "topics"
    folder.mkdir()
    (folder / "orders.json").write_text(text)
    with pytest.raises(TopicFileError, match=r"topics/orders\.json: not a topic description"):
        loaded(tmp_path)


def test_a_description_that_was_being_written_is_not_read(tmp_path):
    folder = tmp_path / "topics"
    folder.mkdir()
    (folder / "unfinished").write_text('{"topic_id"')
    assert loaded(tmp_path) == {}


@pytest.mark.parametrize("removed", [0, 1, 2])
def test_a_deletion_cut_short_by_a_crash_is_finished_at_the_next_start(tmp_path, removed):
    """The crash comes after so many of two partition folders are gone."""
    with Cluster(data=str(tmp_path)) as cluster, Wire(cluster.bootstrap_servers) as wire:
        topic = create_topic(wire, "doomed", partitions=2)
        for partition in range(2):
            produce_to(wire, topic, batch(b"v"), partition=partition)

    async def delete_half(store, logs):
        catalog = TopicCatalog(store)
        catalog.load()

        async def remove_logs(topic):
            for partition in range(removed):
                await logs.delete(TopicPartition(topic.name, partition))
            raise ConnectionAbortedError

        with pytest.raises(ConnectionAbortedError):
            await catalog.delete(catalog.topics.get("doomed"), remove_logs)

    with_store(tmp_path, delete_half)
    with Cluster(data=str(tmp_path)) as cluster, Wire(cluster.bootstrap_servers) as wire:
        assert described(wire, "doomed").error_code != 0
        assert list(tmp_path.glob("doomed-*")) == []
        again = create_topic(wire, "doomed", partitions=2)
        assert again.topic_id != topic.topic_id
        assert offset_of(wire, again, partition=1) == (0, -1)
