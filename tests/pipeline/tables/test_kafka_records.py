"""Records that Apache Kafka wrote: groups have the history that was seen; the reducer agrees."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from drumbeat.core import reducer
from drumbeat.core.control_records import ControlType, read_control_type
from drumbeat.core.record_codec import decode
from drumbeat.core.state import State
from drumbeat.pipeline.decode.batches import decode_batches
from drumbeat.pipeline.tables.partition_tables import PartitionTables
from drumbeat.pipeline.tables.time_travel import state_at
from drumbeat.protocol.record_batch import CONTROL_FLAG, TRANSACTIONAL_FLAG
from drumbeat.protocol.records import BatchOptions, encode_batch
from pipeline.golden_log import SOURCE, built, text_table

RECORDS = Path(__file__).parent.parent.parent / "golden" / "records.json"
END_OF_TIME_MS = 2**62


def kafka_batches():
    for scene in json.loads(RECORDS.read_text()):
        yield from scene["batches"]


def kafka_log() -> tuple[pa.RecordBatch, State]:
    """All scenes one after the other, and what the reducer makes of them."""
    log, state, offset, at_ms = [], State(), 0, 0
    for batch in kafka_batches():
        at_ms = batch["timestamp"] or at_ms  # a few were not noted
        pairs = [(_bytes(record["key"]), _bytes(record["value"])) for record in batch["records"]]
        is_control = bool(batch["attributes"] & CONTROL_FLAG)
        is_txn = bool(batch["attributes"] & TRANSACTIONAL_FLAG)
        producer_id = batch["producerId"]
        options = BatchOptions(
            producer_id=producer_id,
            producer_epoch=batch["producerEpoch"],
            is_transactional=is_txn,
            is_control=is_control,
        )
        rows = [(offset + n, at_ms, *pair, ()) for n, pair in enumerate(pairs)]
        log.append(encode_batch(rows, options))
        for log_offset, _, key, value, _ in rows:
            if is_control:
                is_committed = read_control_type(key) is ControlType.COMMIT
                reducer.end_transaction(state, producer_id, is_committed)
            else:
                record = decode(key, value)
                reducer.apply(state, record, log_offset, producer_id if is_txn else -1)
        offset += len(rows)
    cluster_id, partition = SOURCE
    decoded = decode_batches(b"".join(log), cluster_id=cluster_id, log_partition=partition)
    return pa.concat_batches(list(decoded)), state


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)


@pytest.fixture(scope="module")
def log_and_state():
    return kafka_log()


@pytest.fixture(scope="module")
def tables(log_and_state):
    return built(PartitionTables(SOURCE), [log_and_state[0]])


def test_the_state_at_the_end_is_the_reducers(log_and_state):
    log, state = log_and_state
    assert state_at([log], END_OF_TIME_MS) == state


# A group from its creation to its end: a join, a static member that is replaced, all gone.
GENERATIONS = """\
generation  prev_generation  skipped  n_members  n_static  topics  partitions  sync_ms  state_after
0           -                -        0          0         ()      0           -        Empty
1           0                0        1          0         t1      2           252      Stable
2           1                0        2          1         t1      1           303      Stable
3           2                0        0          0         ()      0           -        Empty
"""
# Partitions 2 and 3 go from one member to the other; then the first is to give up the rest.
ASSIGNMENTS = """\
partition  member_id  generation  state
0          m1         2           owned
1          m1         2           owned
2          m1         2           owned
3          m1         2           owned
2          m1         3           pending_revoke
3          m1         3           pending_revoke
2          m2         3           owned
3          m2         3           owned
0          m1         4           pending_revoke
1          m1         4           pending_revoke
"""


def test_a_classic_group(tables):
    rows = [row for row in tables["group_generations"] if row["group_id"] == "recs"]
    assert text_table(rows, GENERATIONS.partition("\n")[0].split()) == GENERATIONS


def test_a_consumer_group(tables):
    rows = [row for row in tables["assignments"] if row["group_id"] == "k75028"]
    rows.sort(key=lambda row: (row["log_offset"], row["partition"]))
    assert {row["topic"] for row in rows} == {"k1"}  # by name, though the records have its id
    assert text_table(rows, ASSIGNMENTS.partition("\n")[0].split()) == ASSIGNMENTS


def test_transactions_end_as_their_markers_say(tables):
    outcomes = [row["outcome"] for row in tables["txn_offset_commits"]]
    assert outcomes == [
        *("commit", "commit", "abort", "commit", "commit", "abort"),
        *("commit", "commit", "commit"),
    ]


def test_the_log_is_complete(tables, log_and_state):
    assert [row["records"] for row in tables["log_coverage"]] == [len(log_and_state[0])]
    for table, rows in tables.items():
        assert all(row.get("complete", True) for row in rows), table
