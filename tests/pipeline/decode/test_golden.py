"""The very bytes that Apache Kafka 4.3.1 wrote, and one that broke another decoder."""

import json
from pathlib import Path

import pytest

from drumbeat.protocol.record_batch import CONTROL_FLAG, TRANSACTIONAL_FLAG
from drumbeat.protocol.records import BatchOptions, Record, encode_batch
from pipeline.decode.plain import plain_rows
from pipeline.decode.reading import read_buffer

SCENES = json.loads((Path(__file__).parents[2] / "golden" / "records.json").read_text())
BATCHES = [
    pytest.param(batch, id=f"{number}-{scene['kind']}")
    for number, scene in enumerate(SCENES)
    for batch in scene["batches"]
]

# Kafka's names of what the columns say of an offset commit.
COMMIT_FIELDS = {
    "offset": "committed_offset",
    "leaderEpoch": "commit_leader_epoch",
    "metadata": "metadata",
    "commitTimestamp": "commit_ts",
    "expireTimestamp": "expire_ts",
}


def hexed(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)


def encoded(batch) -> bytes:
    records = [
        Record(n, batch["timestamp"] or 0, hexed(record["key"]), hexed(record["value"]))
        for n, record in enumerate(batch["records"])
    ]
    options = BatchOptions(
        producer_id=batch["producerId"],
        producer_epoch=batch["producerEpoch"],
        is_transactional=bool(batch["attributes"] & TRANSACTIONAL_FLAG),
        is_control=bool(batch["attributes"] & CONTROL_FLAG),
    )
    return encode_batch(records, options)


@pytest.mark.parametrize("batch", BATCHES)
def test_every_record_is_read_as_kafka_reads_it(batch):
    rows, damage = read_buffer(encoded(batch))
    assert damage is None
    for row, record in zip(rows, batch["records"], strict=True):
        assert row["decode_error"] is None
        key, value = record["key_decoded"], record["value_decoded"]
        if row["is_control"]:
            assert row["control_type"] == key["type"]
            continue
        assert (row["key_type"], row["group_id"]) == (key["type"], key["group"])
        assert row["is_tombstone"] == (value is None)
        if key["type"] == 1:
            check_commit(row, key, value)
        else:
            assert (row["key"], row["value"]) == (hexed(record["key"]), hexed(record["value"]))


def check_commit(row, key, value):
    assert (row["topic"], row["partition"]) == (key["topic"], key["partition"])
    assert (row["key"], row["value"]) == (None, None), "the columns say it all"
    for field, column in COMMIT_FIELDS.items():
        expected = (value or {}).get(field)
        assert row[column] == (None if expected == -1 else expected), column


@pytest.mark.parametrize("batch", BATCHES)
def test_every_record_is_read_as_the_coordinator_reads_it(batch):
    data = encoded(batch)
    assert read_buffer(data)[0] == plain_rows(data)[0]


def test_a_commit_of_kafka_4_1():
    """Value version 4 stopped KMinion and Burrow (twmb/franz-go#1105, linkedin/Burrow#851)."""
    key = bytes.fromhex("000100016700017400000007")
    value = bytes.fromhex("0004000000000021d4a8ffffffff010000019964f2d83600")
    ((row,), _) = read_buffer(encode_batch([Record(0, 0, key, value)]))
    expected = {
        "group_id": "g",
        "topic": "t",
        "partition": 7,
        "value_version": 4,
        "committed_offset": 2_217_128,
        "commit_leader_epoch": None,
        "metadata": "",
        "commit_ts": 1_758_335_260_726,
        "topic_id": None,
        "decode_error": None,
    }
    assert {name: row[name] for name in expected} == expected
