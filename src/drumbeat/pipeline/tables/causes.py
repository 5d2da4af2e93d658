"""Why a group rebalanced.

Kafka's records do not say, so the cause is inferred from what changed between two generations. The
rules are a table: the first that fits counts, and its confidence is how often it can be something
else. Where the cluster tells its reasons, they are used instead.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias

from drumbeat.core.events import Reason
from drumbeat.pipeline.tables.group_changes import GroupChange, GroupType, TopicPartition
from drumbeat.pipeline.tables.group_events import Begun
from drumbeat.pipeline.tables.membership import Membership, is_silent, last_commit_of
from drumbeat.pipeline.tables.ownership import LastCommits


class Cause(StrEnum):
    JOIN = "JOIN"
    LEAVE = "LEAVE"
    SESSION_TIMEOUT = "SESSION_TIMEOUT"
    RESTART = "RESTART"
    STATIC_REPLACEMENT = "STATIC_REPLACEMENT"
    MEMBERS_CHANGED = "MEMBERS_CHANGED"
    SUBSCRIPTION = "SUBSCRIPTION"
    METADATA = "METADATA"
    HANDOVER = "HANDOVER"  # the second round of a cooperative rebalance
    POLL_INTERVAL = "POLL_INTERVAL"
    FAILED = "FAILED"
    LEADER_REJOIN = "LEADER_REJOIN"
    # Only an event can tell these.
    NOT_REJOINED = "NOT_REJOINED"
    NOT_SYNCED = "NOT_SYNCED"
    GROUP_FULL = "GROUP_FULL"
    ASSIGNMENT_TOO_LARGE = "ASSIGNMENT_TOO_LARGE"
    NOBODY_REJOINED = "NOBODY_REJOINED"
    UNKNOWN = "UNKNOWN"


class CauseSource(StrEnum):
    EVENT = "event"
    INFERRED = "inferred"


class Finding(NamedTuple):
    cause: Cause
    confidence: float
    source: CauseSource
    client_reason: str | None = None


class Evidence(NamedTuple):
    """Two generations, and what else the log knows of the time between."""

    change: GroupChange
    membership: Membership
    commits: LastCommits
    failed_attempts: int | None
    withheld: frozenset[TopicPartition] = frozenset()  # owned by somebody until the round before


CAUSE_OF_REASON: Final = {
    Reason.MEMBER_JOINED: Cause.JOIN,
    Reason.MEMBER_CHANGED: Cause.SUBSCRIPTION,
    Reason.LEADER_REJOINED: Cause.LEADER_REJOIN,
    Reason.MEMBER_LEFT: Cause.LEAVE,
    Reason.SESSION_TIMEOUT: Cause.SESSION_TIMEOUT,
    Reason.NOT_REJOINED: Cause.NOT_REJOINED,
    Reason.NOT_SYNCED: Cause.NOT_SYNCED,
    Reason.GROUP_FULL: Cause.GROUP_FULL,
    Reason.STATIC_REPLACED: Cause.STATIC_REPLACEMENT,
    Reason.ASSIGNMENT_TOO_LARGE: Cause.ASSIGNMENT_TOO_LARGE,
    Reason.NOBODY_REJOINED: Cause.NOBODY_REJOINED,
}
_CAUSE_OF_NAME: Final = {str(reason): cause for reason, cause in CAUSE_OF_REASON.items()}


# Of these an event tells who came back, not what for; the generations may tell that.
_CAME_BACK: Final = frozenset({Cause.SUBSCRIPTION, Cause.LEADER_REJOIN})


def told(begun: Begun, evidence: Evidence) -> Finding:
    """An event of a newer version may have a reason that this one does not know."""
    cause = _CAUSE_OF_NAME.get(begun.reason or "", Cause.UNKNOWN)
    if cause in _CAME_BACK and _is_handed_over(evidence):
        cause = Cause.HANDOVER
    confidence = 0.0 if cause is Cause.UNKNOWN else 1.0
    return Finding(cause, confidence, CauseSource.EVENT, begun.client_reason)


def inferred(evidence: Evidence) -> Finding:
    is_classic = evidence.change.group_type is GroupType.CLASSIC
    for cause, confidence, is_met in RULES if is_classic else EPOCH_RULES:
        if is_met(evidence):
            return Finding(cause, confidence, CauseSource.INFERRED)
    if is_classic:
        return Finding(Cause.LEADER_REJOIN, 0.3, CauseSource.INFERRED)
    return Finding(Cause.UNKNOWN, 0.0, CauseSource.INFERRED)


def _is_only_replacement(evidence: Evidence) -> bool:
    membership = evidence.membership
    return bool(membership.replaced) and not _has_others(membership) and not membership.restarted


def _is_only_restart(evidence: Evidence) -> bool:
    return bool(evidence.membership.restarted) and not _has_others(evidence.membership)


def _has_others(membership: Membership) -> bool:
    return bool(membership.joined or membership.left)


def _is_shrunk_in_silence(evidence: Evidence) -> bool:
    change, commits = evidence.change, evidence.commits
    return _is_shrunk(evidence) and any(
        is_silent(member, change, commits) for member in evidence.membership.left
    )


def _is_shrunk_after_a_commit(evidence: Evidence) -> bool:
    change, commits = evidence.change, evidence.commits
    return _is_shrunk(evidence) and any(
        is_silent(member, change, commits) is False for member in evidence.membership.left
    )


def _is_shrunk(evidence: Evidence) -> bool:
    return len(evidence.membership.left) > len(evidence.membership.joined)


def _is_grown(evidence: Evidence) -> bool:
    return len(evidence.membership.joined) > len(evidence.membership.left)


def _are_others(evidence: Evidence) -> bool:
    return _has_others(evidence.membership)


def _is_subscription_changed(evidence: Evidence) -> bool:
    before, after = evidence.change.before, evidence.change.after
    if before is None or after is None:
        return False
    return any(
        before.members[member_id].topics != member.topics
        for member_id, member in after.members.items()
        if member_id in before.members
    )


def _is_partition_count_changed(evidence: Evidence) -> bool:
    return _assigned(evidence, is_after=False) != _assigned(evidence, is_after=True)


def _is_metadata_changed(evidence: Evidence) -> bool:
    before, after = evidence.change.before, evidence.change.after
    return before is not None and after is not None and before.metadata_hash != after.metadata_hash


def _is_handed_over(evidence: Evidence) -> bool:
    """Whether nothing is new but owners of what the round before had taken away."""
    given = _assigned(evidence, is_after=True) - _assigned(evidence, is_after=False)
    return bool(given) and given <= evidence.withheld


def _assigned(evidence: Evidence, *, is_after: bool) -> frozenset[TopicPartition]:
    generation = evidence.change.after if is_after else evidence.change.before
    return frozenset() if generation is None else frozenset(generation.owners)


def _is_late(evidence: Evidence) -> bool:
    """Whether an owner was silent for as long as a rebalance may take to wait for it."""
    change = evidence.change
    return any(
        change.append_ts - committed_at >= member.rebalance_timeout_ms
        for member in change.updated
        if member.rebalance_timeout_ms is not None
        and (committed_at := last_commit_of(member, change, evidence.commits)) is not None
    )


def _has_failed(evidence: Evidence) -> bool:
    return bool(evidence.failed_attempts)


_Rules: TypeAlias = tuple[tuple[Cause, float, Callable[[Evidence], bool]], ...]

_MEMBER_RULES: Final[_Rules] = (
    (Cause.STATIC_REPLACEMENT, 0.95, _is_only_replacement),
    (Cause.RESTART, 0.8, _is_only_restart),
    (Cause.JOIN, 0.9, _is_grown),
    (Cause.SESSION_TIMEOUT, 0.7, _is_shrunk_in_silence),
    (Cause.LEAVE, 0.8, _is_shrunk_after_a_commit),
    (Cause.LEAVE, 0.5, _is_shrunk),
    (Cause.MEMBERS_CHANGED, 0.5, _are_others),
    (Cause.SUBSCRIPTION, 0.9, _is_subscription_changed),
)
RULES: Final[_Rules] = (
    *_MEMBER_RULES,
    (Cause.HANDOVER, 0.9, _is_handed_over),
    (Cause.METADATA, 0.8, _is_partition_count_changed),
    (Cause.POLL_INTERVAL, 0.5, _is_late),
    (Cause.FAILED, 0.5, _has_failed),
)
# Of groups whose epoch the coordinator raises: it never does for a slow or failed member alone.
EPOCH_RULES: Final[_Rules] = (*_MEMBER_RULES, (Cause.METADATA, 0.95, _is_metadata_changed))
