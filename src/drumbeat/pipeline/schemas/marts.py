"""What people ask: rebalances, lag, findings, the state at a time."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from drumbeat.pipeline.schemas.declaration import Table, optional, required
from drumbeat.pipeline.schemas.shared_columns import (
    COMPLETE,
    GROUP,
    PARTITION_OF_GROUP,
    PARTITION_OF_LOG,
    PLACE_IN_LOG,
)

REBALANCES: Final = Table(
    name="rebalances",
    question="When did a group rebalance, how long, why, what did it move, what did it cost?",
    columns=(
        *PLACE_IN_LOG,
        *GROUP,
        optional("from_generation", pa.int32(), "null for the first that the log has"),
        required("to_generation", pa.int32(), "the generation, or epoch, that it led to"),
        optional("start_ts", pa.int64(), "when it began, in ms; duration_method says how known"),
        required(
            "end_ts",
            pa.int64(),
            "classic: when the new generation got durable; else when all members had it, in ms",
        ),
        optional("duration_ms", pa.int64(), "classic: an upper bound unless told by an event"),
        optional(
            "duration_method",
            pa.string(),
            "classic: event, last_commit, rebalance_timeout or sync_phase; "
            "else reconciled, or superseded: by the next epoch",
        ),
        optional("sync_ms", pa.int64(), "from the end of the join phase, or the target, to end_ts"),
        required("joined", pa.list_(pa.string()), "ids of members that are new"),
        required("left", pa.list_(pa.string()), "ids of members that are gone"),
        required("restarted", pa.list_(pa.string()), "new ids of members that came back as such"),
        required("stayed", pa.int32(), "members that kept their ids"),
        required("partitions_moved", pa.int32(), "owned before and after, by another consumer"),
        required("min_moves", pa.int32(), "fewest moves that give the same counts per member"),
        optional("stickiness", pa.float64(), "1: moved no more than it had to; null: nothing to"),
        optional("failed_attempts", pa.int32(), "generations lost on the way; null: unknown"),
        required("cause", pa.string(), "see drumbeat.pipeline.tables.causes.Cause"),
        required("cause_confidence", pa.float64(), "1 if told by an event"),
        required("cause_source", pa.string(), "event or inferred"),
        optional("client_reason", pa.string(), "in the client's own words, from the event"),
        optional(
            "commit_gap_ms",
            pa.int64(),
            "from the last commit before it to the first after it; not classic: of what moved",
        ),
        optional("records_delayed", pa.int64(), "that the first commits after it account for"),
        COMPLETE,
    ),
)

GROUP_STATE_SNAPSHOTS: Final = Table(
    name="group_state_snapshots",
    question="What was a group's whole state at a given time?",
    columns=(
        *PLACE_IN_LOG,
        required("as_of", pa.int64(), "the state after all that was written before, in ms"),
        required("group_id", pa.string(), "a group that changed since the snapshot before"),
        optional("state", pa.string(), "JSON of offsets, members, generation; null: no group"),
        COMPLETE,
    ),
)

LAG_POINTS: Final = Table(
    name="lag_points",
    question="How far behind was a group, is it catching up, and will records be lost?",
    columns=(
        *PARTITION_OF_GROUP,
        required("bucket_ts", pa.int64(), "end of the stretch of time that the row is about, ms"),
        optional("committed", pa.int64(), "what readers saw then; null: no commit"),
        optional("hw", pa.int64(), "the end that lag is counted to; null: never sampled"),
        required("end_kind", pa.string(), "high_watermark, or lso for read_committed groups"),
        optional("lag", pa.int64(), "max(hw - max(committed, log start), 0); null: unknown"),
        required("lag_clamped", pa.bool_(), "whether committed records are already deleted"),
        required("lag_method", pa.string(), "how hw is known: sampled, interpolated, held, none"),
        optional("error_bound", pa.int64(), "how many records lag may be off; null: unknown"),
        optional("lag_seconds", pa.float64(), "age of the first record not yet consumed"),
        required("lag_seconds_method", pa.string(), "zero, record_timestamp, interpolated, ..."),
        optional("consume_rate", pa.float64(), "records per second since the point before"),
        optional("produce_rate", pa.float64(), "records per second since the point before"),
        optional("velocity", pa.float64(), "change of lag per second; within 1 counts as 0"),
        optional("eta_s", pa.float64(), "until lag is 0 at this velocity; null: not shrinking"),
        optional(
            "retention_pct", pa.float64(), "lag as a share of all records there are; 100: lost"
        ),
    ),
)

LAG_STATUS: Final = Table(
    name="lag_status",
    question="From when to when was a partition stuck, slow or stopped?",
    columns=(
        *PARTITION_OF_GROUP,
        required("burrow_status", pa.string(), "what Burrow would have said"),
        required("raw_status", pa.string(), "by our rules, at one evaluation"),
        required("status", pa.string(), "by our rules, once two evaluations agreed"),
        required("from_ts", pa.int64(), "first evaluation of this kind, in ms"),
        required("to_ts", pa.int64(), "last evaluation of this kind, in ms"),
        required("is_open", pa.bool_(), "whether it still was so at the end"),
        required("window_n", pa.int32(), "commits that the last evaluation looked at"),
        required("evidence", pa.string(), "JSON: what the last evaluation saw"),
    ),
)

FINDINGS: Final = Table(
    name="findings",
    question="What should somebody look at, and what can be done about it?",
    columns=(
        *PARTITION_OF_LOG,
        required("kind", pa.string(), "see drumbeat.pipeline.findings.kinds.Kind"),
        required("severity", pa.string(), "info, warning or critical"),
        optional("group_id", pa.string(), "the group, where it is about one"),
        required("subject", pa.string(), "what exactly it is about"),
        required("from_ts", pa.int64(), "in ms"),
        required("to_ts", pa.int64(), "in ms"),
        required("evidence", pa.string(), "JSON: the numbers behind it"),
        required("suggested_action", pa.string(), "what to do"),
    ),
)

GROUP_ACTIVITY_DAILY: Final = Table(
    name="group_activity_daily",
    question="What does each group cost the offsets topic, and which could go?",
    columns=(
        *PARTITION_OF_LOG,
        required("group_id", pa.string(), "the group"),
        required("day", pa.string(), "in UTC, as 2026-11-16"),
        required("commits", pa.int64(), "offset commits, aborted ones included"),
        required("noop_commits", pa.int64(), "commits of the offset that stood there before"),
        required("tombstones", pa.int64(), "records without a value"),
        required("bytes", pa.int64(), "of keys and values"),
        required(
            "share_of_partition",
            pa.float64(),
            "of the day's bytes of the log partition, 0 to 1; history has share_of_topic beside it",
        ),
        required("rebalances", pa.int64(), "that completed on that day"),
        required("downtime_ms", pa.int64(), "time spent in them, at most"),
        optional("commit_interval_p50_ms", pa.int64(), "per partition, within 2 %"),
        optional("commit_interval_p95_ms", pa.int64(), "per partition, within 2 %"),
    ),
)

COMPACTION_REPORT: Final = Table(
    name="compaction_report",
    question="Does compaction keep what it must, and how much could it free?",
    columns=(
        *PARTITION_OF_LOG,
        required("records", pa.int64(), "data records of the full log"),
        required("bytes", pa.int64(), "of their keys and values"),
        required("live_keys", pa.int64(), "keys whose newest record is not a tombstone"),
        required("dead_records", pa.int64(), "superseded or aborted"),
        required("dead_bytes", pa.int64(), "of their keys and values"),
        required("dirty_ratio", pa.float64(), "dead_bytes / bytes"),
        required("tombstones_due", pa.int64(), "newest of their key, and past their grace"),
        required("expected_hash", pa.string(), "of the newest value of each live key, full log"),
        optional("actual_hash", pa.string(), "the same of the compacted log; null: none given"),
        required("lost_keys", pa.int64(), "live in the full log, missing in the compacted one"),
        required("changed_keys", pa.int64(), "live in both, with another value"),
        required("returned_keys", pa.int64(), "live in the compacted log only"),
    ),
)

VERIFICATION: Final = Table(
    name="verification",
    question="Which promises of a group coordinator does this log break?",
    columns=(
        *PLACE_IN_LOG,
        required("invariant", pa.string(), "see drumbeat.pipeline.findings.invariants.Invariant"),
        required("certainty", pa.string(), "violation, or suspect: legal but unusual"),
        optional("group_id", pa.string(), "the group"),
        required("violated_at", pa.int64(), "in ms"),
        required("detail", pa.string(), "what was found"),
    ),
)
