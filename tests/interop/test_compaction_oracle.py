"""Kafka's cleaner and ours, on the same log: batch for batch the same is left; and Kafka's tools
read what ours leaves."""

import asyncio
import re
import shutil
import time

import pytest
from confluent_kafka import Producer

from drumbeat.log.names import parse_segment_name
from drumbeat.log.port import LogSettings, TopicPartition
from drumbeat.log.store import LocalStore
from drumbeat.protocol.apis import incremental_alter_configs as alter_api
from drumbeat.protocol.compression import Codec
from drumbeat.protocol.record_batch import iter_headers
from drumbeat.protocol.records import BatchOptions, Record, decode_records, encode_batch
from interop.kafka_jars import run_tool, start_kafka
from support.data_topics import create_topic, produce_to
from support.waiting import wait_until
from support.wire import Wire

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

TOPIC = "compacted"
PARTITION = TopicPartition(TOPIC, 0)
COMPACTED_AFTER_MS = 600_000
STEP_MS = 3_000
NEVER_DIRTY_ENOUGH = "1"
RETENTION_MS = 60_000
SETTINGS = LogSettings(
    is_compacted=True,
    index_interval_bytes=100,
    delete_retention_ms=RETENTION_MS,
    retention_ms=-1,
    history_retention_ms=-1,
)
DUMP = "org.apache.kafka.tools.DumpLogSegments"
TOPIC_RESOURCE = 2


class Writer:
    """Writes with timestamps that are far enough apart to begin a segment with every batch.

    They begin now: markers carry the broker's time, and records of the past would not roll
    segments after them.
    """

    def __init__(self, servers: str) -> None:
        self.servers = servers
        self.now_ms = int(time.time() * 1000)

    def tick(self) -> int:
        self.now_ms += STEP_MS
        return self.now_ms

    def plain(self, wire, topic, text, codec=Codec.NONE) -> None:
        timestamp = self.tick()
        records = [
            Record(n, timestamp, key.encode(), value.encode() or None, (("h", b"v"),))
            for n, (key, value) in enumerate(word.split("=") for word in text.split())
        ]
        answer = produce_to(wire, topic, encode_batch(records, BatchOptions(codec=codec)))
        assert answer.error_code == 0

    def idempotent(self, *texts) -> None:
        self._produce(Producer(self._options() | {"enable.idempotence": True}), texts)

    def transaction(self, transactional_id, *texts, commits: bool) -> None:
        producer = Producer(self._options() | {"transactional.id": transactional_id})
        producer.init_transactions()
        producer.begin_transaction()
        self._produce(producer, texts)
        producer.commit_transaction() if commits else producer.abort_transaction()

    def _options(self):
        return {"bootstrap.servers": self.servers, "linger.ms": 0}

    def _produce(self, producer, texts) -> None:
        for text in texts:
            key, value = text.split("=")
            producer.produce(TOPIC, value or None, key, partition=0, timestamp=self.tick())
            producer.flush()


def write_everything(servers) -> None:
    with Wire(servers) as wire:
        topic = create_topic(
            wire,
            TOPIC,
            cleanup_policy="compact",
            segment_ms=str(STEP_MS // 2),
            min_cleanable_dirty_ratio=NEVER_DIRTY_ENOUGH,
            delete_retention_ms=str(RETENTION_MS),
        )
        writer = Writer(servers)
        writer.plain(wire, topic, "a=1 b=1 c=1")
        for codec in Codec:
            writer.plain(wire, topic, f"a={codec.name} x=1 y{codec.name}=1 gone=1", codec)
        writer.idempotent("p=1", "p=2", "q=1")
        writer.transaction("t1", "a=t1", "t=1", commits=True)
        writer.transaction("t2", "b=never", "u=1", commits=False)
        writer.transaction("t3", "t=2", "w=1", commits=True)
        writer.plain(wire, topic, "gone= z=1")
        writer.plain(wire, topic, "t=3 q=2 p=3")
        writer.plain(wire, topic, "w=2")
        writer.plain(wire, topic, "last=1")
        writer.plain(wire, topic, "active=1")


def have_kafka_compact(kafka) -> None:
    settings = {"log.cleaner.backoff.ms": "100"}
    checkpoint = kafka / "logs" / "cleaner-offset-checkpoint"
    with start_kafka(kafka, settings) as servers, Wire(servers) as wire:
        change = alter_api.AlterableConfig("min.cleanable.dirty.ratio", 0, "0.01")
        resource = alter_api.AlterConfigsResource(TOPIC_RESOURCE, TOPIC, (change,))
        request = alter_api.IncrementalAlterConfigsRequest((resource,))
        (answer,) = wire.call(alter_api.API, 1, request).responses
        assert answer.error_code == 0
        is_done = re.compile(rf"^{TOPIC} 0 [1-9]", re.MULTILINE)
        wait_until(
            lambda: checkpoint.exists() and is_done.search(checkpoint.read_text()) is not None,
            60,
            "Kafka's cleaner",
        )


async def compact(directory, now_ms) -> None:
    async with LocalStore(directory) as store:
        log = await store.acquire(PARTITION, SETTINGS)
        assert await log.compact(now_ms) is not None


def left_in(folder):
    """All batches but those of the active segment, as far as they do not depend on the time."""
    *closed, _ = sorted(p for p in folder.iterdir() if parse_segment_name(p.name) is not None)
    found = []
    for path in closed:
        data = path.read_bytes()
        for position, header in iter_headers(data):
            has_horizon = header.has_delete_horizon
            found.append(
                (
                    header._replace(
                        batch_length=0,
                        crc=0,
                        base_timestamp=0 if has_horizon else header.base_timestamp,
                    ),
                    decode_records(data[position : position + header.size]),
                )
            )
    return found


@pytest.fixture(scope="module")
def compacted(tmp_path_factory):
    """One log, compacted by both: Kafka's folder and ours, and when we did."""
    folder = tmp_path_factory.mktemp("compaction")
    kafka, ours = folder / "kafka", folder / "ours"
    now_ms = int(time.time() * 1000) + COMPACTED_AFTER_MS
    with start_kafka(kafka) as servers:
        write_everything(servers)
    shutil.copytree(kafka / "logs" / str(PARTITION), ours / str(PARTITION))
    have_kafka_compact(kafka)
    asyncio.run(compact(ours, now_ms))
    return kafka / "logs" / str(PARTITION), ours / str(PARTITION), now_ms


def test_the_same_is_left(compacted):
    theirs, ours = map(left_in, compacted[:2])
    assert [header for header, _ in ours] == [header for header, _ in theirs]
    assert ours == theirs
    counts = [header.record_count for header, _ in ours]
    assert 0 in counts, "a batch is kept for its sequence alone"
    assert any(header.has_delete_horizon for header, _ in ours)
    assert any(header.is_control for header, _ in ours)


def test_kafkas_tool_reads_what_is_left(compacted):
    _, ours, now_ms = compacted
    segments = sorted(str(path) for path in ours.glob("*.log"))
    dumped = run_tool(DUMP, "--deep-iteration", "--print-data-log", "--files", ",".join(segments))
    lines = [line for line in dumped.splitlines() if line.startswith("baseOffset")]
    assert all("isvalid: true" in line for line in lines)
    horizon_ms = now_ms + RETENTION_MS
    assert any(f"deleteHorizonMs: OptionalLong[{horizon_ms}]" in line for line in lines)
    for kind in ("index", "timeindex"):
        checked = run_tool(DUMP, "--index-sanity-check", "--files", f"{ours}/{0:020}.{kind}")
        assert "passed sanity check" in checked or kind == "timeindex"
        assert "mismatch" not in checked.lower()


def test_kafkas_tool_reads_the_history(compacted):
    _, ours, _ = compacted
    past = sorted(str(path) for path in (ours / "history").iterdir())
    assert len(past) > 10
    dumped = run_tool(DUMP, "--deep-iteration", "--print-data-log", "--files", ",".join(past))
    assert all(f"payload: {codec.name}" in dumped for codec in Codec)
