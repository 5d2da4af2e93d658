"""The kinds of findings: how bad each is, and what to do about it."""

from __future__ import annotations

from enum import Enum
from typing import Any, Final, NamedTuple


class Severity(Enum):
    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


class Kind(Enum):
    STUCK_PARTITION = "STUCK_PARTITION"
    STOPPED = "STOPPED"
    REWIND = "REWIND"
    RESET = "RESET"
    REBALANCE_STORM = "REBALANCE_STORM"
    FAILED_REBALANCES = "FAILED_REBALANCES"
    FLAPPING_MEMBER = "FLAPPING_MEMBER"
    IDLE_MEMBERS = "IDLE_MEMBERS"
    ABANDONED_TOPIC = "ABANDONED_TOPIC"
    GHOST_GROUP = "GHOST_GROUP"
    EXPIRY_SOON = "EXPIRY_SOON"
    DATA_LOSS_RISK = "DATA_LOSS_RISK"
    COMMIT_HOG = "COMMIT_HOG"
    HANGING_TXN = "HANGING_TXN"
    BAD_METADATA = "BAD_METADATA"
    COMMIT_AHEAD_OF_LEO = "COMMIT_AHEAD_OF_LEO"
    TOPIC_RECREATED = "TOPIC_RECREATED"
    DECODE_ERROR = "DECODE_ERROR"


class Advice(NamedTuple):
    severity: Severity
    action: str


class Finding(NamedTuple):
    kind: Kind
    group_id: str | None
    subject: str
    from_ts: int
    to_ts: int
    evidence: dict[str, Any]


_INFO, _WARNING, _CRITICAL = Severity.INFO, Severity.WARNING, Severity.CRITICAL

ADVICE: Final = {
    Kind.STUCK_PARTITION: Advice(
        _CRITICAL,
        "Look at the record at the committed offset: the member consumes its other partitions, so "
        "this one probably fails. Skip it with a reset of this partition by one, or fix the code.",
    ),
    Kind.STOPPED: Advice(
        _CRITICAL,
        "Check that the consumers run and can reach the coordinator; compare with rebalances of "
        "the same time.",
    ),
    Kind.REWIND: Advice(
        _WARNING,
        "Expect records to be processed twice. If a rebalance came with it, commit in "
        "onPartitionsRevoked; if the offset was out of range, check retention.",
    ),
    Kind.RESET: Advice(
        _INFO,
        "Somebody set the offsets while the group was empty. If that was a mistake, `drumbeat "
        "history undo` gives the offsets of before as a file for the reset tool.",
    ),
    Kind.REBALANCE_STORM: Advice(
        _CRITICAL,
        "See the causes in `drumbeat history rebalances`. Usual remedies: a longer "
        "max.poll.interval.ms, static membership, the cooperative-sticky assignor.",
    ),
    Kind.FAILED_REBALANCES: Advice(
        _WARNING,
        "Members joined and none came to an assignment: look for members that die or time out "
        "between JoinGroup and SyncGroup.",
    ),
    Kind.FLAPPING_MEMBER: Advice(
        _WARNING, "This client comes and goes: look at its logs and for restarts by its platform."
    ),
    Kind.IDLE_MEMBERS: Advice(
        _INFO, "There are more members than partitions: run fewer, or add partitions."
    ),
    Kind.ABANDONED_TOPIC: Advice(
        _INFO,
        "No member subscribes to this topic any more: delete its offsets with "
        "`kafka-consumer-groups --delete-offsets`, or its lag will grow for ever.",
    ),
    Kind.GHOST_GROUP: Advice(
        _INFO, "Nobody is left in the group and nobody commits: delete it if it is not needed."
    ),
    Kind.EXPIRY_SOON: Advice(
        _WARNING,
        "The group's offsets will be deleted when offsets.retention.minutes is over: start a "
        "member, or note the offsets with `drumbeat history undo`.",
    ),
    Kind.DATA_LOSS_RISK: Advice(
        _CRITICAL,
        "Records are deleted before they are consumed, or soon will be: raise the topic's "
        "retention now, then add consumers.",
    ),
    Kind.COMMIT_HOG: Advice(
        _WARNING,
        "This group writes most of its log partition: commit less often (auto.commit.interval.ms) "
        "and not for partitions that have not moved.",
    ),
    Kind.HANGING_TXN: Advice(
        _CRITICAL,
        "The transaction blocks readers of these offsets: find it with `kafka-transactions "
        "find-hanging`, then abort it.",
    ),
    Kind.BAD_METADATA: Advice(
        _INFO,
        "Commit short printable text as metadata, or none: tools show it and brokers limit it.",
    ),
    Kind.COMMIT_AHEAD_OF_LEO: Advice(
        _CRITICAL,
        "The group will miss records up to the committed offset: after a topic was created anew "
        "or lost records, reset the group to earliest.",
    ),
    Kind.TOPIC_RECREATED: Advice(
        _WARNING, "Offsets committed before belong to another topic of that name: reset the group."
    ),
    Kind.DECODE_ERROR: Advice(
        _WARNING,
        "Newer software may have written these records, or they are damaged; their bytes are kept "
        "in log_records.",
    ),
}
