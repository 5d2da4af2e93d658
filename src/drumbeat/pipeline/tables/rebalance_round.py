"""One rebalance, of a group of any type: what is known of it when it has ended."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from drumbeat.pipeline.tables.causes import Finding
from drumbeat.pipeline.tables.group_changes import GroupChange, Member, Owner, TopicPartition
from drumbeat.pipeline.tables.membership import Membership


class Method(StrEnum):
    """How it is known when a rebalance began or ended."""

    EVENT = "event"
    LAST_COMMIT = "last_commit"
    REBALANCE_TIMEOUT = "rebalance_timeout"
    SYNC_PHASE = "sync_phase"
    RECONCILED = "reconciled"
    SUPERSEDED = "superseded"


class Times(NamedTuple):
    start_ts: int | None
    end_ts: int
    method: Method | None
    sync_ms: int | None

    def columns(self) -> dict[str, Any]:
        start_ts = self.start_ts
        return {
            "start_ts": start_ts,
            "end_ts": self.end_ts,
            "duration_ms": None if start_ts is None else self.end_ts - start_ts,
            "duration_method": None if self.method is None else str(self.method),
            "sync_ms": self.sync_ms,
        }


class Round(NamedTuple):
    """`change` is from the group before to the group after, each with its members and owners."""

    change: GroupChange
    membership: Membership
    finding: Finding
    times: Times
    is_complete: bool
    failed_attempts: int | None
    end_offset: int | None  # of the record that ended it; None if another rebalance did
    withheld: Mapping[TopicPartition, Owner]  # what nobody has now or before, and who had it last
    paused: frozenset[TopicPartition] | None  # what changed hands; None: members gave up all
    committed_ms: int | None  # the newest commit of these before it ended


def people_columns(membership: Membership) -> dict[str, Any]:
    returned = (*membership.replaced, *membership.restarted)
    return {
        "joined": _ids(membership.joined),
        "left": _ids(membership.left),
        "restarted": [pair.back.member_id for pair in returned],
        "stayed": membership.stayed,
    }


def cause_columns(finding: Finding) -> dict[str, Any]:
    return {
        "cause": str(finding.cause),
        "cause_confidence": finding.confidence,
        "cause_source": str(finding.source),
        "client_reason": finding.client_reason,
    }


def _ids(members: tuple[Member, ...]) -> list[str]:
    return [member.member_id for member in members]
