"""Every table of the pipeline, declared once: what it answers, and its columns.

Arrow's schema and Spark's are derived from the declaration. Instants are milliseconds since the
epoch, as Kafka has them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import pyarrow as pa

_SPARK_TYPES: Final = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.float64(): "DOUBLE",
    pa.string(): "STRING",
    pa.binary(): "BINARY",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    name: str
    type: pa.DataType
    doc: str
    is_nullable: bool = False


@dataclass(frozen=True, kw_only=True)
class Table:
    name: str
    question: str
    columns: tuple[Column, ...]

    @cached_property
    def arrow_schema(self) -> pa.Schema:
        fields = [pa.field(column.name, column.type, column.is_nullable) for column in self.columns]
        return pa.schema(fields)

    @cached_property
    def spark_schema(self) -> str:
        """The schema in the language that Spark takes wherever it takes a schema."""
        return ", ".join(map(_spark_column, self.columns))


def _spark_column(column: Column) -> str:
    declared = f"`{column.name}` {spark_type(column.type)}"
    return declared if column.is_nullable else f"{declared} NOT NULL"


def spark_type(arrow_type: pa.DataType) -> str:
    """Spark's name of an Arrow type; KeyError for a type that no table uses."""
    if pa.types.is_list(arrow_type):
        return f"ARRAY<{spark_type(arrow_type.value_type)}>"
    if pa.types.is_struct(arrow_type):
        fields = ", ".join(f"`{field.name}`: {spark_type(field.type)}" for field in arrow_type)
        return f"STRUCT<{fields}>"
    return _SPARK_TYPES[arrow_type]


def _required(name: str, column_type: pa.DataType, doc: str) -> Column:
    return Column(name=name, type=column_type, doc=doc)


def _optional(name: str, column_type: pa.DataType, doc: str) -> Column:
    return Column(name=name, type=column_type, doc=doc, is_nullable=True)


LOG_RECORDS: Final = Table(
    name="log_records",
    question="What is in the log, who wrote it, and what could not be read?",
    columns=(
        _required("cluster_id", pa.string(), "the cluster whose log this is"),
        _required("log_partition", pa.int32(), "partition of __consumer_offsets"),
        _required("log_offset", pa.int64(), "the record's place in that partition"),
        _required("append_ts", pa.int64(), "the record's timestamp, in ms"),
        _required("ts_type", pa.int8(), "who set append_ts: 0 the writer, 1 the broker"),
        _required("batch_base_offset", pa.int64(), "first offset of the record's batch"),
        _required("leader_epoch", pa.int32(), "epoch of the leader that appended the batch"),
        _required("producer_id", pa.int64(), "-1 outside of transactions"),
        _required("producer_epoch", pa.int16(), "-1 outside of transactions"),
        _required("is_txn", pa.bool_(), "whether the record belongs to a transaction"),
        _required("is_control", pa.bool_(), "whether the broker wrote it, such as a marker"),
        _optional("control_type", pa.string(), "COMMIT or ABORT, how a transaction ended"),
        _optional("key_type", pa.int16(), "record type; null in control records"),
        _optional("key_version", pa.int16(), "version of the key; null if its type is unknown"),
        _optional("value_version", pa.int16(), "version of the value; null in tombstones"),
        _required("is_tombstone", pa.bool_(), "whether a data record has no value"),
        _optional("group_id", pa.string(), "the group that the record is about"),
        _optional("topic", pa.string(), "topic of an offset commit"),
        _optional("partition", pa.int32(), "partition of an offset commit"),
        _optional("committed_offset", pa.int64(), "null unless the record is an offset commit"),
        _optional("commit_leader_epoch", pa.int32(), "epoch of the last record consumed"),
        _optional("metadata", pa.string(), "what the committer noted; often empty"),
        _optional("commit_ts", pa.int64(), "when the offset was committed, in ms"),
        _optional("expire_ts", pa.int64(), "when the commit says it expires, in ms"),
        _optional("topic_id", pa.binary(), "16 bytes; null where the commit has none"),
        _optional("key", pa.binary(), "as written; null where the other columns say it all"),
        _optional("value", pa.binary(), "as written; null where the other columns say it all"),
        _required("key_bytes", pa.int32(), "size of the key; -1 if it is null"),
        _required("value_bytes", pa.int32(), "size of the value; -1 if it is null"),
        _optional("decode_error", pa.string(), "why the record could not be read"),
    ),
)

_PARTITION_OF_LOG: Final = (
    _required("cluster_id", pa.string(), "the cluster whose log this is"),
    _required("log_partition", pa.int32(), "partition of __consumer_offsets"),
)
_PLACE_IN_LOG: Final = (
    *_PARTITION_OF_LOG,
    _required("log_offset", pa.int64(), "the record that says so; of several, the first"),
)
_COMPLETE: Final = _required(
    "complete", pa.bool_(), "whether no record is missing that could have changed this row"
)
_GROUP: Final = (
    _required("group_id", pa.string(), "the group"),
    _required("group_type", pa.string(), "classic, consumer, share or streams"),
)

LOG_COVERAGE: Final = Table(
    name="log_coverage",
    question="Is this history complete, and where is it not?",
    columns=(
        *_PARTITION_OF_LOG,
        _required("first_offset", pa.int64(), "of the stretch"),
        _required("last_offset", pa.int64(), "of the stretch, inclusive"),
        _required("kind", pa.string(), "read, or a gap: compacted, control, truncated, never_read"),
        _required("records", pa.int64(), "records that were read from the stretch"),
        _required("evidence", pa.string(), "how that is known"),
    ),
)

OFFSET_COMMITS: Final = Table(
    name="offset_commits",
    question="Where did a group stand, since when, who moved it, and how far?",
    columns=(
        *_PLACE_IN_LOG,
        _required("append_ts", pa.int64(), "when the record was written, in ms"),
        _required("group_id", pa.string(), "the group"),
        _required("topic", pa.string(), "the topic"),
        _optional("topic_id", pa.binary(), "16 bytes; null where the commit has none"),
        _required("partition", pa.int32(), "the topic's partition"),
        _optional("committed_offset", pa.int64(), "null in tombstones"),
        _optional("leader_epoch", pa.int32(), "epoch of the last record consumed"),
        _optional("metadata", pa.string(), "what the committer noted"),
        _optional("commit_ts", pa.int64(), "when the offset was committed, in ms"),
        _optional("expire_ts", pa.int64(), "when the commit says it expires, in ms"),
        _required("kind", pa.string(), "commit, txn_commit, txn_pending, txn_aborted, tombstone"),
        _required("producer_id", pa.int64(), "-1 outside of transactions"),
        _optional("visible_at", pa.int64(), "from when on readers saw it, in ms; null: never"),
        _optional("prev_offset", pa.int64(), "what readers saw until then"),
        _optional("delta", pa.int64(), "committed_offset - prev_offset"),
        _optional("interval_ms", pa.int64(), "since the partition's last visible commit"),
        _optional("direction", pa.string(), "advance, noop or rewind"),
        _optional("generation", pa.int32(), "generation or epoch of the group at that moment"),
        _optional("owner_member_id", pa.string(), "who had the partition at that moment"),
        _optional("owner_client_id", pa.string(), "that member's client id"),
        _optional("actor", pa.string(), "member, admin_or_simple or coordinator_expiry; inferred"),
        _COMPLETE,
    ),
)

TXN_OFFSET_COMMITS: Final = Table(
    name="txn_offset_commits",
    question="Which transactions committed offsets, how did they end, and which hang?",
    columns=(
        *_PARTITION_OF_LOG,
        _required("producer_id", pa.int64(), "who ran the transaction"),
        _required("producer_epoch", pa.int16(), "of the last record"),
        _required("first_offset", pa.int64(), "log offset of its first record"),
        _required("last_offset", pa.int64(), "log offset of its last record"),
        _optional("marker_offset", pa.int64(), "log offset of its end marker; null while open"),
        _required("outcome", pa.string(), "commit, abort or open"),
        _required("first_ts", pa.int64(), "append time of its first record, in ms"),
        _optional("ended_ts", pa.int64(), "append time of its end marker, in ms"),
        _required("open_ms", pa.int64(), "from first_ts to its end, or to the end of the log"),
        _required("groups", pa.list_(pa.string()), "whose offsets it committed"),
        _required("partitions", pa.int32(), "how many partitions of these groups"),
        _COMPLETE,
    ),
)

GROUP_GENERATIONS: Final = Table(
    name="group_generations",
    question="Which generations (or epochs) has a group been through?",
    columns=(
        *_PLACE_IN_LOG,
        *_GROUP,
        _required("generation", pa.int32(), "generation id of a classic group, else its epoch"),
        _optional("prev_generation", pa.int32(), "the one before in the log; null for the first"),
        _optional("skipped", pa.int32(), "generations that never got an assignment; null: unknown"),
        _optional("protocol_type", pa.string(), "such as consumer or connect"),
        _optional("protocol", pa.string(), "the assignor that the members chose"),
        _optional("leader", pa.string(), "the member that computed the assignment"),
        _required("n_members", pa.int32(), "members, when it got durable"),
        _required("n_static", pa.int32(), "members with a group.instance.id"),
        _required("topics", pa.list_(pa.string()), "topics of which a partition is assigned"),
        _required("partitions", pa.int32(), "partitions that are assigned"),
        _optional("state_ts", pa.int64(), "classic: when the join phase ended, in ms"),
        _required("append_ts", pa.int64(), "when the generation got durable, in ms"),
        _optional("ended_ts", pa.int64(), "when the next one did, in ms; null while it lasts"),
        _optional("sync_ms", pa.int64(), "classic: sync phase; else until all members had it"),
        _required("state_after", pa.string(), "Stable, Reconciling or Empty"),
        _COMPLETE,
    ),
)

ASSIGNMENTS: Final = Table(
    name="assignments",
    question="Who owned a partition at a given time?",
    columns=(
        *_PLACE_IN_LOG,
        *_GROUP,
        _optional("topic", pa.string(), "null if the log never tells the name of topic_id"),
        _optional("topic_id", pa.binary(), "16 bytes; null in classic groups, which use names"),
        _required("partition", pa.int32(), "the topic's partition"),
        _required("member_id", pa.string(), "the owner"),
        _required("client_id", pa.string(), "the owner's client id"),
        _required("generation", pa.int32(), "in which the ownership began"),
        _required("state", pa.string(), "owned, or pending_revoke: to be given up"),
        _required("valid_from", pa.int64(), "in ms"),
        _optional("valid_to", pa.int64(), "in ms, exclusive; null while it lasts"),
        _COMPLETE,
    ),
)

MEMBERS: Final = Table(
    name="members",
    question="Who was in a group, from when to when, and how did it end?",
    columns=(
        *_PLACE_IN_LOG,
        *_GROUP,
        _required("member_id", pa.string(), "one session of one consumer"),
        _optional("group_instance_id", pa.string(), "of a static member"),
        _required("client_id", pa.string(), "what the client calls itself"),
        _required("client_host", pa.string(), "from where it connects"),
        _required("first_generation", pa.int32(), "the first that it was in"),
        _required("last_generation", pa.int32(), "the last that it was in"),
        _required("joined_at", pa.int64(), "when its first generation got durable, in ms"),
        _optional("left_at", pa.int64(), "when it was gone from the log, in ms"),
        _optional(
            "end_reason",
            pa.string(),
            "inferred: leave, session_timeout, restart, static_replacement, group_deleted",
        ),
        _optional("session_timeout_ms", pa.int32(), "classic groups only"),
        _optional("rebalance_timeout_ms", pa.int32(), "how long a rebalance waits for it"),
        _optional("assignor", pa.string(), "the last that was used for it"),
        _required("subscription", pa.list_(pa.string()), "topics that it last asked for"),
        _required("assigned_max", pa.int32(), "most partitions that it had at one time"),
        _COMPLETE,
    ),
)

REBALANCES: Final = Table(
    name="rebalances",
    question="When did a classic group rebalance, for how long, why, and what did it move?",
    columns=(
        *_PLACE_IN_LOG,
        _required("group_id", pa.string(), "the group"),
        _optional("from_generation", pa.int32(), "null for the first that the log has"),
        _required("to_generation", pa.int32(), "the generation that it led to"),
        _optional("start_ts", pa.int64(), "when it began, in ms; duration_method says how known"),
        _required("end_ts", pa.int64(), "when the new generation got durable, in ms"),
        _optional("duration_ms", pa.int64(), "an upper bound unless duration_method is event"),
        _optional(
            "duration_method", pa.string(), "event, last_commit, rebalance_timeout or sync_phase"
        ),
        _optional("sync_ms", pa.int64(), "from the end of the join phase to end_ts"),
        _required("joined", pa.list_(pa.string()), "ids of members that are new"),
        _required("left", pa.list_(pa.string()), "ids of members that are gone"),
        _required("restarted", pa.list_(pa.string()), "new ids of members that came back as such"),
        _required("stayed", pa.int32(), "members that kept their ids"),
        _required("partitions_moved", pa.int32(), "owned before and after, by another consumer"),
        _required("min_moves", pa.int32(), "fewest moves that give the same counts per member"),
        _optional("stickiness", pa.float64(), "1: moved no more than it had to; null: nothing to"),
        _optional("failed_attempts", pa.int32(), "generations lost on the way; null: unknown"),
        _required("cause", pa.string(), "see drumbeat.pipeline.tables.causes.Cause"),
        _required("cause_confidence", pa.float64(), "1 if told by an event"),
        _required("cause_source", pa.string(), "event or inferred"),
        _optional("client_reason", pa.string(), "in the client's own words, from the event"),
        _COMPLETE,
    ),
)

GROUP_STATE_SNAPSHOTS: Final = Table(
    name="group_state_snapshots",
    question="What was a group's whole state at a given time?",
    columns=(
        *_PLACE_IN_LOG,
        _required("as_of", pa.int64(), "the state after all that was written before, in ms"),
        _required("group_id", pa.string(), "a group that changed since the snapshot before"),
        _optional("state", pa.string(), "JSON of offsets, members, generation; null: no group"),
        _COMPLETE,
    ),
)

GROUP_EVENTS: Final = Table(
    name="group_events",
    question="What did the coordinator tell that Kafka's records cannot say?",
    columns=(
        _required("group_id", pa.string(), "the group; empty for an event of a partition"),
        _required("type", pa.string(), "see drumbeat.core.events.GroupEventType"),
        _required("at_ms", pa.int64(), "when it happened"),
        _optional("generation_id", pa.int32(), "of the group at that moment"),
        _optional("reason", pa.string(), "see drumbeat.core.events.Reason"),
        _optional("client_reason", pa.string(), "the client's own words"),
        _optional("member_id", pa.string(), "whom it is about"),
        _optional("client_id", pa.string(), "that member's, or the administrator's"),
        _optional("client_host", pa.string(), "that member's, or the administrator's"),
        _optional("join_ms", pa.int64(), "length of the join phase"),
        _optional("sync_ms", pa.int64(), "length of the sync phase"),
        _required("value", pa.string(), "the whole event as JSON"),
    ),
)

_CLUSTER: Final = _PARTITION_OF_LOG[0]
_PARTITION_OF_GROUP: Final = (
    *_PARTITION_OF_LOG,
    _required("group_id", pa.string(), "the group"),
    _required("topic", pa.string(), "the topic"),
    _required("partition", pa.int32(), "the topic's partition"),
)

WATERMARKS: Final = Table(
    name="watermarks",
    question="Where did a topic's partitions begin and end at a given time?",
    columns=(
        _CLUSTER,
        _required("topic", pa.string(), "the topic"),
        _required("partition", pa.int32(), "the topic's partition"),
        _required("sampled_at", pa.int64(), "when the sampler asked, in ms"),
        _required("log_start", pa.int64(), "first offset that can be read"),
        _optional("lso", pa.int64(), "where read_committed readers stop; null if not asked"),
        _required("high_watermark", pa.int64(), "one past the last offset that can be read"),
        _optional("max_ts", pa.int64(), "timestamp of the last record, in ms"),
        _required("source", pa.string(), "who sampled"),
    ),
)

LAG_POINTS: Final = Table(
    name="lag_points",
    question="How far behind was a group, is it catching up, and will records be lost?",
    columns=(
        *_PARTITION_OF_GROUP,
        _required("bucket_ts", pa.int64(), "end of the stretch of time that the row is about, ms"),
        _optional("committed", pa.int64(), "what readers saw then; null: no commit"),
        _optional("hw", pa.int64(), "the end that lag is counted to; null: never sampled"),
        _required("end_kind", pa.string(), "high_watermark, or lso for read_committed groups"),
        _optional("lag", pa.int64(), "max(hw - max(committed, log start), 0); null: unknown"),
        _required("lag_clamped", pa.bool_(), "whether committed records are already deleted"),
        _required("lag_method", pa.string(), "how hw is known: sampled, interpolated, held, none"),
        _optional("error_bound", pa.int64(), "how many records lag may be off; null: unknown"),
        _optional("lag_seconds", pa.float64(), "age of the first record not yet consumed"),
        _required("lag_seconds_method", pa.string(), "zero, record_timestamp, interpolated, ..."),
        _optional("consume_rate", pa.float64(), "records per second since the point before"),
        _optional("produce_rate", pa.float64(), "records per second since the point before"),
        _optional("velocity", pa.float64(), "change of lag per second; within 1 counts as 0"),
        _optional("eta_s", pa.float64(), "until lag is 0 at this velocity; null: not shrinking"),
        _optional(
            "retention_pct", pa.float64(), "lag as a share of all records there are; 100: lost"
        ),
    ),
)

LAG_STATUS: Final = Table(
    name="lag_status",
    question="From when to when was a partition stuck, slow or stopped?",
    columns=(
        *_PARTITION_OF_GROUP,
        _required("burrow_status", pa.string(), "what Burrow would have said"),
        _required("raw_status", pa.string(), "by our rules, at one evaluation"),
        _required("status", pa.string(), "by our rules, once two evaluations agreed"),
        _required("from_ts", pa.int64(), "first evaluation of this kind, in ms"),
        _required("to_ts", pa.int64(), "last evaluation of this kind, in ms"),
        _required("is_open", pa.bool_(), "whether it still was so at the end"),
        _required("window_n", pa.int32(), "commits that the last evaluation looked at"),
        _required("evidence", pa.string(), "JSON: what the last evaluation saw"),
    ),
)

FINDINGS: Final = Table(
    name="findings",
    question="What should somebody look at, and what can be done about it?",
    columns=(
        *_PARTITION_OF_LOG,
        _required("kind", pa.string(), "see drumbeat.pipeline.findings.kinds.Kind"),
        _required("severity", pa.string(), "info, warning or critical"),
        _optional("group_id", pa.string(), "the group, where it is about one"),
        _required("subject", pa.string(), "what exactly it is about"),
        _required("from_ts", pa.int64(), "in ms"),
        _required("to_ts", pa.int64(), "in ms"),
        _required("evidence", pa.string(), "JSON: the numbers behind it"),
        _required("suggested_action", pa.string(), "what to do"),
    ),
)

GROUP_ACTIVITY_DAILY: Final = Table(
    name="group_activity_daily",
    question="What does each group cost the offsets topic, and which could go?",
    columns=(
        *_PARTITION_OF_LOG,
        _required("group_id", pa.string(), "the group"),
        _required("day", pa.string(), "in UTC, as 2026-11-16"),
        _required("commits", pa.int64(), "offset commits, aborted ones included"),
        _required("noop_commits", pa.int64(), "commits of the offset that stood there before"),
        _required("tombstones", pa.int64(), "records without a value"),
        _required("bytes", pa.int64(), "of keys and values"),
        _required("share_of_topic", pa.float64(), "of all bytes of that day; 0 to 1"),
        _required("rebalances", pa.int64(), "that completed on that day"),
        _required("downtime_ms", pa.int64(), "time spent in them, at most"),
        _optional("commit_interval_p50_ms", pa.int64(), "per partition, within 2 %"),
        _optional("commit_interval_p95_ms", pa.int64(), "per partition, within 2 %"),
    ),
)

COMPACTION_REPORT: Final = Table(
    name="compaction_report",
    question="Does compaction keep what it must, and how much could it free?",
    columns=(
        *_PARTITION_OF_LOG,
        _required("records", pa.int64(), "data records of the full log"),
        _required("bytes", pa.int64(), "of their keys and values"),
        _required("live_keys", pa.int64(), "keys whose newest record is not a tombstone"),
        _required("dead_records", pa.int64(), "superseded or aborted"),
        _required("dead_bytes", pa.int64(), "of their keys and values"),
        _required("dirty_ratio", pa.float64(), "dead_bytes / bytes"),
        _required("tombstones_due", pa.int64(), "newest of their key, and past their grace"),
        _required("expected_hash", pa.string(), "of the newest value of each live key, full log"),
        _optional("actual_hash", pa.string(), "the same of the compacted log; null: none given"),
        _required("lost_keys", pa.int64(), "live in the full log, missing in the compacted one"),
        _required("changed_keys", pa.int64(), "live in both, with another value"),
        _required("returned_keys", pa.int64(), "live in the compacted log only"),
    ),
)

VERIFICATION: Final = Table(
    name="verification",
    question="Which promises of a group coordinator does this log break?",
    columns=(
        *_PLACE_IN_LOG,
        _required("invariant", pa.string(), "see drumbeat.pipeline.findings.invariants.Invariant"),
        _required("certainty", pa.string(), "violation, or suspect: legal but unusual"),
        _optional("group_id", pa.string(), "the group"),
        _required("violated_at", pa.int64(), "in ms"),
        _required("detail", pa.string(), "what was found"),
    ),
)

PIPELINE_PROGRESS: Final = Table(
    name="pipeline_progress",
    question="How fresh is this warehouse?",
    columns=(
        *_PARTITION_OF_LOG,
        _required("batch_id", pa.string(), "the run or micro-batch"),
        _required("read_offset", pa.int64(), "the next offset that will be read"),
        _optional("hw", pa.int64(), "where the log ended then; null if unknown"),
        _optional("lag", pa.int64(), "hw - read_offset"),
        _required("records", pa.int64(), "read by this batch"),
        _required("rec_s", pa.float64(), "records per second"),
        _required("at_ms", pa.int64(), "when the batch ended"),
    ),
)

TABLES: Final = {
    table.name: table
    for table in (
        LOG_RECORDS,
        LOG_COVERAGE,
        OFFSET_COMMITS,
        TXN_OFFSET_COMMITS,
        GROUP_GENERATIONS,
        ASSIGNMENTS,
        MEMBERS,
        REBALANCES,
        GROUP_STATE_SNAPSHOTS,
        GROUP_EVENTS,
        WATERMARKS,
        LAG_POINTS,
        LAG_STATUS,
        FINDINGS,
        GROUP_ACTIVITY_DAILY,
        COMPACTION_REPORT,
        VERIFICATION,
        PIPELINE_PROGRESS,
    )
}
