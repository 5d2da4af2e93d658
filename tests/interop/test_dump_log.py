"""Kafka's own DumpLogSegments reads our segments: every codec, every index."""

import re

import pytest

from drumbeat.protocol.compression import Codec
from drumbeat.protocol.records import BatchOptions, Record, encode_batch
from drumbeat.testing import Cluster
from interop.kafka_jars import run_tool
from support.data_topics import BASE_TIMESTAMP, create_topic, produce_to
from support.wire import Wire

pytestmark = pytest.mark.interop

DUMP = "org.apache.kafka.tools.DumpLogSegments"
BATCHES, RECORDS_PER_BATCH = 200, 10
SEGMENT_BYTES = 1 << 20  # the smallest that Kafka allows

BATCH_LINE = re.compile(r"baseOffset: (\d+) lastOffset: (\d+) count: (\d+) .* compresscodec: (\w+)")
RECORD_LINE = re.compile(
    r"\| offset: (\d+) CreateTime: (\d+) .* headerKeys: \[(\w+)\] key: (\S+) payload: (\S+)"
)


def written_batch(number: int, codec: Codec) -> bytes:
    """Records of a kilobyte that compress little, so that segments fill up with every codec."""
    first = number * RECORDS_PER_BATCH
    records = [
        Record(
            offset=i,
            timestamp=BASE_TIMESTAMP + first + i,
            key=b"key-%d" % (first + i),
            value=_hard_to_compress(first + i),
            headers=((f"h{codec.name.lower()}", b"x"),),
        )
        for i in range(RECORDS_PER_BATCH)
    ]
    return encode_batch(records, BatchOptions(codec=codec))


def _hard_to_compress(seed: int) -> bytes:
    state, digits = seed + 1, []
    for _ in range(64):
        state = state * 6364136223846793005 + 1442695040888963407 & (1 << 64) - 1
        digits.append(b"%016x" % state)
    return b"".join(digits)


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory):
    """A topic for each codec, written and left by a node that was stopped."""
    folder = tmp_path_factory.mktemp("dumped")
    with Cluster(data=str(folder)) as cluster, Wire(cluster.bootstrap_servers) as wire:
        for codec in Codec:
            topic = create_topic(wire, codec.name.lower(), segment_bytes=str(SEGMENT_BYTES))
            for number in range(BATCHES):
                assert produce_to(wire, topic, written_batch(number, codec)).error_code == 0
    return folder


def files(data_dir, codec: Codec, suffix: str) -> list[str]:
    return [str(path) for path in sorted(data_dir.glob(f"{codec.name.lower()}-0/*{suffix}"))]


@pytest.mark.parametrize("codec", Codec)
def test_every_record_is_dumped(data_dir, codec):
    segments = files(data_dir, codec, ".log")
    assert len(segments) > 1
    dumped = run_tool(DUMP, "--deep-iteration", "--print-data-log", "--files", ",".join(segments))
    batches = [match.groups() for match in map(BATCH_LINE.match, dumped.splitlines()) if match]
    assert batches == [
        (
            str(number * RECORDS_PER_BATCH),
            str((number + 1) * RECORDS_PER_BATCH - 1),
            str(RECORDS_PER_BATCH),
            codec.name.lower(),
        )
        for number in range(BATCHES)
    ]
    records = [match.groups() for match in map(RECORD_LINE.match, dumped.splitlines()) if match]
    assert records == [
        (
            str(i),
            str(BASE_TIMESTAMP + i),
            f"h{codec.name.lower()}",
            f"key-{i}",
            _hard_to_compress(i).decode(),
        )
        for i in range(BATCHES * RECORDS_PER_BATCH)
    ]


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
def test_indexes(data_dir, codec, suffix):
    indexes = files(data_dir, codec, suffix)
    sane = run_tool(DUMP, "--index-sanity-check", "--files", ",".join(indexes))
    assert sane.count("passed sanity check") == len(indexes)
    # Silent about what agrees with the segment.
    verified = run_tool(DUMP, "--verify-index-only", "--files", ",".join(indexes))
    assert verified.splitlines() == [f"Dumping {index}" for index in indexes]
    dumped = run_tool(DUMP, "--files", indexes[0])
    assert len(dumped.splitlines()) > 10
