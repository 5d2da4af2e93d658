"""How many records of a segment one core turns into `log_records` rows in a second of CPU time.

    python benchmarks/segment_decode.py [RECORDS]

Commits of 1,440 groups with ten partitions each, value version 4 with a topic id, as Kafka 4.3
writes them: by size of the batches, and then what makes them unlike that. Every checksum is
compared, every column filled. The goal is 2 M for batches of 10 to 500 records and 1 M for batches
of one.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from time import process_time

from drumbeat.core.record_codec import encode
from drumbeat.core.records import GroupMetadataRecord, MemberMetadata, OffsetCommitRecord
from drumbeat.core.records import Record as Fact
from drumbeat.pipeline.decode.segments import decode_segment
from drumbeat.protocol.compression import Codec
from drumbeat.protocol.records import BatchOptions, Record, encode_batch

ROUNDS = 3
TIMESTAMP = 1_700_000_000_000
TOPIC_ID = bytes(range(16))
GROUPS = 1_440
MEMBER = MemberMetadata("c-1", None, "c", "/127.0.0.1", 300_000, 45_000, bytes(40), bytes(40))


def commit(number: int, **changes: object) -> OffsetCommitRecord:
    group = number // 10 % GROUPS
    plain = OffsetCommitRecord(
        group_id=f"payments-service-{group:04}",
        topic=f"orders.events.{group % 7}",
        partition=number % 10,
        committed_offset=1_000_000 + number,
        leader_epoch=3,
        metadata="",
        commit_timestamp_ms=TIMESTAMP + number,
        topic_id=TOPIC_ID,
    )
    return plain._replace(**changes)


def noted(number: int) -> Fact:
    return commit(number, metadata=f"AgAAAYvP5WgA{number:012}")


def never_twice(number: int) -> Fact:
    return commit(number, group_id=f"console-consumer-{number:08}")


def one_group_in_a_hundred(number: int) -> Fact:
    if number % 100:
        return commit(number)
    group_id = f"payments-service-{number // 100 % GROUPS:04}"
    members = (MEMBER,) * 3
    return GroupMetadataRecord(group_id, "consumer", number, "range", "c-1", TIMESTAMP, members)


CASES = (
    ("batches of 1", commit, 1, Codec.NONE),
    ("batches of 10", commit, 10, Codec.NONE),
    ("batches of 100", commit, 100, Codec.NONE),
    ("batches of 500", commit, 500, Codec.NONE),
    ("of 10, each with metadata", noted, 10, Codec.NONE),
    ("of 10, no key twice", never_twice, 10, Codec.NONE),
    ("of 10, 1 % group records", one_group_in_a_hundred, 10, Codec.NONE),
    ("of 100, zstd", commit, 100, Codec.ZSTD),
)


def batches(fact, per_batch: int, codec: Codec, count: int) -> Iterator[bytes]:
    for first in range(0, count, per_batch):
        records = [
            Record(number, TIMESTAMP + number // 10, *encode(fact(number)))
            for number in range(first, first + per_batch)
        ]
        yield encode_batch(records, BatchOptions(codec=codec))


def best_round(path: str, count: int) -> float:
    """CPU seconds of the best round: the others had company."""
    durations = []
    for _ in range(ROUNDS):
        start = process_time()
        rows = sum(
            found.num_rows for found in decode_segment(path, cluster_id="c", log_partition=0)
        )
        durations.append(process_time() - start)
        assert rows == count
    return min(durations)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 300_000
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "00000000000000000000.log")
        for name, fact, per_batch, codec in CASES:
            with open(path, "wb") as file:
                file.writelines(batches(fact, per_batch, codec, count))
            seconds = best_round(path, count)
            rate, nanoseconds = count / seconds / 1e6, seconds / count * 1e9
            print(f"{name:28}{rate:6.2f} M records/s {nanoseconds:7.0f} ns")


if __name__ == "__main__":
    main()
