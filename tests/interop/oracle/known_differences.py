"""Where Drumbeat answers otherwise than Apache Kafka 4.3, and how a sequence recognises it.

What differs and why stands in docs/protocol-support.md; here is, for every row of that table, how
its case is told from a bug, or why no sequence comes across it. What nothing recognises is a bug.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from drumbeat.protocol.apis import join_group, leave_group, sync_group
from drumbeat.protocol.errors import ErrorCode
from interop.oracle.batches import Batch, Sequence
from interop.oracle.cluster_steps import (
    ApiVersions,
    DescribeLogDirs,
    IncrementalAlterConfigs,
    Operation,
)
from interop.oracle.connection import Call
from interop.oracle.data_steps import Fetch, Produce
from interop.oracle.normal import Difference
from interop.oracle.topic_steps import DescribeTopicPartitions, Metadata
from interop.oracle.vocabulary import Step

PAGE = Path(__file__).parents[3] / "docs/protocol-support.md"
HEADING = "## Where the answers differ from Apache Kafka 4.3"
# Between two compressors at work on the batches that sequences send, which are small.
COMPRESSED_SIZE_TOLERANCE = 0.1

Recognises: TypeAlias = Callable[[Step, Difference], bool]
# For a request that Kafka leaves without an answer: ours to it, and a request that came later.
RecognisesSilence: TypeAlias = Callable[[Call, Call], bool]


def documented() -> list[str]:
    """The first cell of each row of the table in the docs."""
    _, table = PAGE.read_text().split(HEADING)
    rows = [line for line in table.splitlines() if line.startswith("| ")]
    return [row.split(" | ")[0].removeprefix("| ") for row in rows[1:]]


def is_known(step: Step, difference: Difference) -> bool:
    return any(recognises(step, difference) for recognises in RECOGNISED.values())


def is_silence_known(drumbeat: Call, later: Call) -> bool:
    """Whether Kafka's silence about a request is known, given one that was sent since."""
    return drumbeat.is_done and any(
        recognises(drumbeat, later) for recognises in RECOGNISED_SILENCES.values()
    )


# -- how they are recognised ---------------------------------------------------------------------


def _is_replaced(drumbeat: Call, later: Call) -> bool:
    return (
        drumbeat.api in (join_group.API, sync_group.API)
        and drumbeat.result.result().error_code == ErrorCode.REBALANCE_IN_PROGRESS
        and later.api is drumbeat.api
        and later.body.member_id == drumbeat.body.member_id
    )


def _has_left(drumbeat: Call, later: Call) -> bool:
    return (
        drumbeat.api is sync_group.API
        and drumbeat.result.result().error_code == ErrorCode.UNKNOWN_MEMBER_ID
        and later.api is leave_group.API
    )


def _is_session(step: Step, difference: Difference) -> bool:
    return isinstance(step, Fetch) and difference.path == "session_id"


def _is_unused_partition(step: Step, difference: Difference) -> bool:
    return (
        isinstance(step, Metadata | DescribeTopicPartitions)
        and difference.path.endswith("leader_epoch")
        and difference.drumbeat == -1
    )


def _is_feature(step: Step, difference: Difference) -> bool:
    return isinstance(step, ApiVersions) and "_features" in difference.path


def _is_without_epoch(step: Step, difference: Difference) -> bool:
    return (
        isinstance(step, Produce) and step.sequence is Sequence.OLD_EPOCH and _is_blamed(difference)
    )


def _is_unpackable(step: Step, difference: Difference) -> bool:
    return isinstance(step, Produce) and step.batch is Batch.UNPACKABLE and _is_blamed(difference)


def _is_blamed(difference: Difference) -> bool:
    """Where Kafka blames itself, we blame the producer."""
    return (difference.kafka, difference.drumbeat) == (
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.INVALID_RECORD,
    )


def _is_unknown_operation(step: Step, difference: Difference) -> bool:
    return (
        isinstance(step, IncrementalAlterConfigs)
        and step.operation is Operation.UNKNOWN
        and difference.kafka == ErrorCode.UNKNOWN_SERVER_ERROR
    )


def _is_compressed_anew(step: Step, difference: Difference) -> bool:
    return (
        isinstance(step, DescribeLogDirs)
        and difference.path.endswith("partition_size")
        and abs(difference.kafka - difference.drumbeat)
        <= COMPRESSED_SIZE_TOLERANCE * difference.kafka
    )


def _is_min_insync_replicas(_step: Step, difference: Difference) -> bool:
    return "[min.insync.replicas]" in difference.path


def _is_undocumented(_step: Step, difference: Difference) -> bool:
    return difference.path.endswith("documentation") and difference.drumbeat is None


def _is_message(_step: Step, difference: Difference) -> bool:
    return difference.path.endswith("error_message") and not difference.kafka


# -- the tables ----------------------------------------------------------------------------------

RECOGNISED: Mapping[str, Recognises] = {
    "Fetch": _is_session,
    "Metadata and DescribeTopicPartitions, leader epoch": _is_unused_partition,
    "ApiVersions, features": _is_feature,
    "Produce with a producer id but no epoch, to a topic that compresses anew": _is_without_epoch,
    "Produce with records that cannot be decompressed, or whose first bytes are no number": (
        _is_unpackable
    ),
    "IncrementalAlterConfigs with an operation that does not exist": _is_unknown_operation,
    "CreateTopics and DescribeConfigs, source of `min.insync.replicas`": _is_min_insync_replicas,
    "DescribeConfigs, documentation": _is_undocumented,
    "DescribeLogDirs, size of a topic that compresses anew": _is_compressed_anew,
    "error messages": _is_message,
}
RECOGNISED_SILENCES: Mapping[str, RecognisesSilence] = {
    "JoinGroup or SyncGroup while an earlier one of the same member is parked": _is_replaced,
    "SyncGroup parked by a member that then leaves": _has_left,
}

_LEAVES_A_HANG = "leaves a group on Kafka that never answers again"
_BEFORE = "over before the first sequence begins"
_OTHER_SETTINGS = "needs other settings, or more than a sequence can send"
_UNSEEN = "no answer shows it"
_UNSENT = "no sequence sends it"
_SHARED = "all sequences would share it"
_PARTS_THE_LOGS = "leaves records behind that only one of the two has"

UNREACHED: Mapping[str, str] = {
    "FindCoordinator": _BEFORE,
    "SyncGroup while loading": _BEFORE,
    "Metadata that creates a topic": _OTHER_SETTINGS,
    "JoinGroup listing a protocol twice": _LEAVES_A_HANG,
    "JoinGroup whose subscription announces more than it holds, or null topics": _LEAVES_A_HANG,
    "AlterConfigs naming a resource twice": _LEAVES_A_HANG,
    "CreateTopics of nothing but `__cluster_metadata`, timeout 0 or less": _UNSENT,
    "DescribeConfigs, synonyms of `node.id`": _UNSENT,
    "Produce with null in place of records": _LEAVES_A_HANG,
    "JoinGroup with strings or metadata that no record can hold": _OTHER_SETTINGS,
    "rebalance timeout 0 with only absent static members": _OTHER_SETTINGS,
    "static member replaced while it owes a SyncGroup": _UNSEEN,
    "too many groups, parked requests or ids handed out": _OTHER_SETTINGS,
    "DeleteGroups whose tombstones exceed one batch": _OTHER_SETTINGS,
    "OffsetCommit that is refused whole, to a group that does not exist": _UNSEEN,
    "replies of group APIs": _UNSEEN,
    "Produce, acks=1": _UNSEEN,
    "Produce with records whose offsets do not count up from 0": _PARTS_THE_LOGS,
    "Produce with compressed records that are longer or shorter than they say": _PARTS_THE_LOGS,
    "Produce with a compression codec that does not exist, or a negative count": _UNSENT,
    "Produce that names a partition twice, the last time without a whole batch": _PARTS_THE_LOGS,
    "Produce with timestamps beyond 64 bits": _UNSENT,
    (
        "Fetch and ListOffsets with an isolation level that does not exist, "
        "Fetch with a negative limit"
    ): _UNSENT,
    (
        "Fetch, Metadata v12 and newer, DescribeTopicPartitions with an id of zeros "
        "or an empty name"
    ): _UNSENT,
    "Fetch by a replica": _UNSENT,
    "CreatePartitions for more than 10,000 partitions": _OTHER_SETTINGS,
    "DescribeTopicPartitions, cursor with a partition near 2^31": _UNSENT,
    "AlterConfigs for all brokers, `min.insync.replicas` of one broker": _SHARED,
    "configs of groups, client metrics and loggers": _UNSENT,
    "configs of a running broker": _SHARED,
    (
        "topic configs: `min.cleanable.dirty.ratio` that is no number, "
        "throttled replicas with empty or repeated elements"
    ): _UNSENT,
    "strings that are not UTF-8": _UNSENT,
    "Produce with more than 32 MiB of records in a compressed batch": _OTHER_SETTINGS,
    "CreateTopics with a replication factor above the number of brokers": _OTHER_SETTINGS,
    "InitProducerId, Produce, FindCoordinator for a transactional id": "no sequence has one",
}
