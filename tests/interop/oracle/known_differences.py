"""Where Drumbeat answers otherwise than Apache Kafka 4.3, and why.

The same rows stand in docs/protocol-support.md. A row that sequences can run into says how to
recognise it; everything that no row recognises is a bug.
"""

from collections.abc import Callable
from typing import NamedTuple

from drumbeat.protocol.apis import leave_group, sync_group
from drumbeat.protocol.errors import ErrorCode
from interop.oracle.admin_steps import (
    ApiVersions,
    DescribeTopicPartitions,
    IncrementalAlterConfigs,
    Metadata,
    Operation,
)
from interop.oracle.connection import Call
from interop.oracle.data_steps import Fetch
from interop.oracle.normal import Difference
from interop.oracle.vocabulary import Step


class Row(NamedTuple):
    api: str
    kafka: str
    here: str
    why: str
    recognise: Callable[[Step, Difference], bool] | None = None


def _is_cluster_default(_step: Step, difference: Difference) -> bool:
    return "[min.insync.replicas]" in difference.path


def _is_session(step: Step, difference: Difference) -> bool:
    return isinstance(step, Fetch) and difference.path == "session_id"


def _is_message(_step: Step, difference: Difference) -> bool:
    return difference.path.endswith("error_message") and not difference.kafka


def _is_feature(step: Step, difference: Difference) -> bool:
    return isinstance(step, ApiVersions) and "_features" in difference.path


def _is_unused_partition(step: Step, difference: Difference) -> bool:
    return (
        isinstance(step, Metadata | DescribeTopicPartitions)
        and difference.path.endswith("leader_epoch")
        and difference.drumbeat == -1
    )


def _is_undocumented(_step: Step, difference: Difference) -> bool:
    return difference.path.endswith("documentation") and difference.drumbeat is None


def _is_unknown_operation(step: Step, difference: Difference) -> bool:
    return (
        isinstance(step, IncrementalAlterConfigs)
        and step.operation is Operation.UNKNOWN
        and difference.kafka == ErrorCode.UNKNOWN_SERVER_ERROR
    )


ROWS: tuple[Row, ...] = (
    Row("x", "", "", "", _is_unknown_operation),
    Row(
        "Fetch",
        "incremental sessions",
        "session id 0: every fetch is a full one",
        "a broker may always do so (KIP-227)",
        _is_session,
    ),
    Row("x", "", "", "", _is_feature),
    Row("x", "", "", "", _is_unused_partition),
    Row("x", "", "", "", _is_undocumented),
    Row("error messages", "often none", "what was wrong", "helps whoever reads them", _is_message),
    Row(
        "CreateTopics, DescribeConfigs: the source of `min.insync.replicas`",
        "a dynamic default of the cluster",
        "the broker's default",
        "Kafka stores it when it begins to track eligible leader replicas; there is one copy here",
        _is_cluster_default,
    ),
)


def is_known(step: Step, difference: Difference) -> bool:
    return any(row.recognise is not None and row.recognise(step, difference) for row in ROWS)


def is_silence_known(drumbeat: Call, later: Call) -> bool:
    """Whether Kafka's silence about a parked request is known, given what was asked since."""
    error_code = getattr(drumbeat.result.result(), "error_code", 0) if drumbeat.is_done else 0
    if error_code == ErrorCode.REBALANCE_IN_PROGRESS:
        return later.api is drumbeat.api and later.body.member_id == drumbeat.body.member_id
    if error_code == ErrorCode.UNKNOWN_MEMBER_ID:
        return drumbeat.api is sync_group.API and later.api is leave_group.API
    return False
