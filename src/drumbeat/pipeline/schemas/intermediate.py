"""What the records say when read in order: commits, generations, members."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from drumbeat.pipeline.schemas.declaration import Table, optional, required
from drumbeat.pipeline.schemas.shared_columns import COMPLETE, GROUP, PARTITION_OF_LOG, PLACE_IN_LOG

OFFSET_COMMITS: Final = Table(
    name="offset_commits",
    question="Where did a group stand, since when, who moved it, and how far?",
    columns=(
        *PLACE_IN_LOG,
        required("append_ts", pa.int64(), "when the record was written, in ms"),
        required("group_id", pa.string(), "the group"),
        required("topic", pa.string(), "the topic"),
        optional("topic_id", pa.binary(), "16 bytes; null where the commit has none"),
        required("partition", pa.int32(), "the topic's partition"),
        optional("committed_offset", pa.int64(), "null in tombstones"),
        optional("leader_epoch", pa.int32(), "epoch of the last record consumed"),
        optional("metadata", pa.string(), "what the committer noted"),
        optional("commit_ts", pa.int64(), "when the offset was committed, in ms"),
        optional("expire_ts", pa.int64(), "when the commit says it expires, in ms"),
        required("kind", pa.string(), "commit, txn_commit, txn_pending, txn_aborted, tombstone"),
        required("producer_id", pa.int64(), "-1 outside of transactions"),
        optional("visible_at", pa.int64(), "from when on readers saw it, in ms; null: never"),
        optional("prev_offset", pa.int64(), "what readers saw until then"),
        optional("delta", pa.int64(), "committed_offset - prev_offset"),
        optional("interval_ms", pa.int64(), "since the partition's last visible commit"),
        optional("direction", pa.string(), "advance, noop or rewind"),
        optional("generation", pa.int32(), "generation or epoch of the group at that moment"),
        optional("owner_member_id", pa.string(), "who had the partition at that moment"),
        optional("owner_client_id", pa.string(), "that member's client id"),
        optional("actor", pa.string(), "member, admin_or_simple or coordinator_expiry; inferred"),
        COMPLETE,
    ),
)

TXN_OFFSET_COMMITS: Final = Table(
    name="txn_offset_commits",
    question="Which transactions committed offsets, how did they end, and which hang?",
    columns=(
        *PARTITION_OF_LOG,
        required("producer_id", pa.int64(), "who ran the transaction"),
        required("producer_epoch", pa.int16(), "of the last record"),
        required("first_offset", pa.int64(), "log offset of its first record"),
        required("last_offset", pa.int64(), "log offset of its last record"),
        optional("marker_offset", pa.int64(), "log offset of its end marker; null while open"),
        required("outcome", pa.string(), "commit, abort or open"),
        required("first_ts", pa.int64(), "append time of its first record, in ms"),
        optional("ended_ts", pa.int64(), "append time of its end marker, in ms"),
        required("open_ms", pa.int64(), "from first_ts to its end, or to the end of the log"),
        required("groups", pa.list_(pa.string()), "whose offsets it committed"),
        required("partitions", pa.int32(), "how many partitions of these groups"),
        COMPLETE,
    ),
)

GROUP_GENERATIONS: Final = Table(
    name="group_generations",
    question="Which generations (or epochs) has a group been through?",
    columns=(
        *PLACE_IN_LOG,
        *GROUP,
        required("generation", pa.int32(), "generation id of a classic group, else its epoch"),
        optional("prev_generation", pa.int32(), "the one before in the log; null for the first"),
        optional("skipped", pa.int32(), "generations that never got an assignment; null: unknown"),
        optional("protocol_type", pa.string(), "such as consumer or connect"),
        optional("protocol", pa.string(), "the assignor that the members chose"),
        optional("leader", pa.string(), "the member that computed the assignment"),
        required("n_members", pa.int32(), "members, when it got durable"),
        required("n_static", pa.int32(), "members with a group.instance.id"),
        required("topics", pa.list_(pa.string()), "topics of which a partition is assigned"),
        required("partitions", pa.int32(), "partitions that are assigned"),
        optional("state_ts", pa.int64(), "classic: when the join phase ended, in ms"),
        required("append_ts", pa.int64(), "when the generation got durable, in ms"),
        optional("ended_ts", pa.int64(), "when the next one did, in ms; null while it lasts"),
        optional("sync_ms", pa.int64(), "classic: sync phase; else until all members had it"),
        required("state_after", pa.string(), "Stable, Reconciling or Empty"),
        COMPLETE,
    ),
)

ASSIGNMENTS: Final = Table(
    name="assignments",
    question="Who owned a partition at a given time?",
    columns=(
        *PLACE_IN_LOG,
        *GROUP,
        optional("topic", pa.string(), "null if the log never tells the name of topic_id"),
        optional("topic_id", pa.binary(), "16 bytes; null in classic groups, which use names"),
        required("partition", pa.int32(), "the topic's partition"),
        required("member_id", pa.string(), "the owner"),
        required("client_id", pa.string(), "the owner's client id"),
        required("generation", pa.int32(), "in which the ownership began"),
        required("state", pa.string(), "owned; pending_revoke: to be given up; shared"),
        required("valid_from", pa.int64(), "in ms"),
        optional("valid_to", pa.int64(), "in ms, exclusive; null while it lasts"),
        COMPLETE,
    ),
)

MEMBERS: Final = Table(
    name="members",
    question="Who was in a group, from when to when, and how did it end?",
    columns=(
        *PLACE_IN_LOG,
        *GROUP,
        required("member_id", pa.string(), "one session of one consumer"),
        optional("group_instance_id", pa.string(), "of a static member"),
        required("client_id", pa.string(), "what the client calls itself"),
        required("client_host", pa.string(), "from where it connects"),
        required("first_generation", pa.int32(), "the first that it was in"),
        required("last_generation", pa.int32(), "the last that it was in"),
        required("joined_at", pa.int64(), "when its first generation got durable, in ms"),
        optional("left_at", pa.int64(), "when it was gone from the log, in ms"),
        optional(
            "end_reason",
            pa.string(),
            "inferred: leave, session_timeout, restart, static_replacement, group_deleted",
        ),
        optional("session_timeout_ms", pa.int32(), "classic groups only"),
        optional("rebalance_timeout_ms", pa.int32(), "how long a rebalance waits for it"),
        optional("assignor", pa.string(), "the last that was used for it"),
        required("subscription", pa.list_(pa.string()), "topics that it last asked for"),
        required("assigned_max", pa.int32(), "most partitions that it had at one time"),
        COMPLETE,
    ),
)
