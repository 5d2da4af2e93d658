"""What was read: the log itself, record by record, and the ends of topics."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from drumbeat.pipeline.schemas.declaration import Table, optional, required
from drumbeat.pipeline.schemas.shared_columns import CLUSTER, PARTITION_OF_LOG

LOG_RECORDS: Final = Table(
    name="log_records",
    question="What is in the log, who wrote it, and what could not be read?",
    columns=(
        required("cluster_id", pa.string(), "the cluster whose log this is"),
        required("log_partition", pa.int32(), "partition of __consumer_offsets"),
        required("log_offset", pa.int64(), "the record's place in that partition"),
        required("append_ts", pa.int64(), "the record's timestamp, in ms"),
        required("ts_type", pa.int8(), "who set append_ts: 0 the writer, 1 the broker"),
        required("batch_base_offset", pa.int64(), "first offset of the record's batch"),
        required("leader_epoch", pa.int32(), "epoch of the leader that appended the batch"),
        required("producer_id", pa.int64(), "-1 outside of transactions"),
        required("producer_epoch", pa.int16(), "-1 outside of transactions"),
        required("is_txn", pa.bool_(), "whether the record belongs to a transaction"),
        required("is_control", pa.bool_(), "whether the broker wrote it, such as a marker"),
        optional("control_type", pa.string(), "COMMIT or ABORT, how a transaction ended"),
        optional("key_type", pa.int16(), "record type; null in control records"),
        optional("key_version", pa.int16(), "version of the key; null if its type is unknown"),
        optional("value_version", pa.int16(), "version of the value; null in tombstones"),
        required("is_tombstone", pa.bool_(), "whether a data record has no value"),
        optional("group_id", pa.string(), "the group that the record is about"),
        optional("topic", pa.string(), "topic of an offset commit"),
        optional("partition", pa.int32(), "partition of an offset commit"),
        optional("committed_offset", pa.int64(), "null unless the record is an offset commit"),
        optional("commit_leader_epoch", pa.int32(), "epoch of the last record consumed"),
        optional("metadata", pa.string(), "what the committer noted; often empty"),
        optional("commit_ts", pa.int64(), "when the offset was committed, in ms"),
        optional("expire_ts", pa.int64(), "when the commit says it expires, in ms"),
        optional("topic_id", pa.binary(), "16 bytes; null where the commit has none"),
        optional("key", pa.binary(), "as written; null where the other columns say it all"),
        optional("value", pa.binary(), "as written; null where the other columns say it all"),
        required("key_bytes", pa.int32(), "size of the key; -1 if it is null"),
        required("value_bytes", pa.int32(), "size of the value; -1 if it is null"),
        optional("decode_error", pa.string(), "why the record could not be read"),
    ),
)

LOG_COVERAGE: Final = Table(
    name="log_coverage",
    question="Is this history complete, and where is it not?",
    columns=(
        *PARTITION_OF_LOG,
        required("first_offset", pa.int64(), "of the stretch"),
        required("last_offset", pa.int64(), "of the stretch, inclusive"),
        required("kind", pa.string(), "read, or a gap: compacted, control, truncated, never_read"),
        required("records", pa.int64(), "records that were read from the stretch"),
        required("evidence", pa.string(), "how that is known"),
    ),
)

WATERMARKS: Final = Table(
    name="watermarks",
    question="Where did a topic's partitions begin and end at a given time?",
    columns=(
        CLUSTER,
        required("topic", pa.string(), "the topic"),
        required("partition", pa.int32(), "the topic's partition"),
        required(
            "sampled_at",
            pa.int64(),
            "when the sampler asked, in ms; of time_index: the newest record timestamp by then",
        ),
        required(
            "log_start",
            pa.int64(),
            "first offset that can be read; of time_index: as last sampled before, else 0",
        ),
        optional("lso", pa.int64(), "where read_committed readers stop; null if not asked"),
        required("high_watermark", pa.int64(), "one past the last offset that can be read"),
        optional("max_ts", pa.int64(), "timestamp of the last record, in ms"),
        required(
            "source",
            pa.string(),
            "who sampled; time_index: told later by time indexes and batch headers of the log",
        ),
    ),
)

GROUP_EVENTS: Final = Table(
    name="group_events",
    question="What did the coordinator tell that Kafka's records cannot say?",
    columns=(
        required("group_id", pa.string(), "the group; empty for an event of a partition"),
        required("type", pa.string(), "see drumbeat.core.events.GroupEventType"),
        required("at_ms", pa.int64(), "when it happened"),
        optional("generation_id", pa.int32(), "of the group at that moment"),
        optional("reason", pa.string(), "see drumbeat.core.events.Reason"),
        optional("client_reason", pa.string(), "the client's own words"),
        optional("member_id", pa.string(), "whom it is about"),
        optional("client_id", pa.string(), "that member's, or the administrator's"),
        optional("client_host", pa.string(), "that member's, or the administrator's"),
        optional("join_ms", pa.int64(), "length of the join phase"),
        optional("sync_ms", pa.int64(), "length of the sync phase"),
        required("value", pa.string(), "the whole event as JSON"),
    ),
)

PIPELINE_PROGRESS: Final = Table(
    name="pipeline_progress",
    question="How fresh is this warehouse?",
    columns=(
        *PARTITION_OF_LOG,
        required("batch_id", pa.string(), "the run or micro-batch"),
        required("read_offset", pa.int64(), "the next offset that will be read"),
        optional("hw", pa.int64(), "where the log ended then; null if unknown"),
        optional("lag", pa.int64(), "hw - read_offset"),
        required("records", pa.int64(), "read by this batch"),
        required("rec_s", pa.float64(), "records per second"),
        required("at_ms", pa.int64(), "when the batch ended"),
    ),
)
