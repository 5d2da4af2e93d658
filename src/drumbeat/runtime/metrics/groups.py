"""The group coordinator in numbers, under the names that Kafka gives them.

Gauges are counted when somebody asks, shard by shard with a pause after each.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from drumbeat.core.classic.group_state import GroupState
from drumbeat.core.events import GroupEventType
from drumbeat.core.session import View
from drumbeat.runtime.coordinator.group_coordinator import GroupCoordinator
from drumbeat.runtime.metrics.exposition import Family, Sample, by_label, counter, gauge

_MANAGER = "kafka_coordinator_group_groupmetadatamanager"
_COORDINATOR = "kafka_server_group_coordinator_metrics"


@dataclass(slots=True)
class GroupTotals:
    """What all groups of a node are and have."""

    states: Counter[GroupState] = field(default_factory=Counter)
    offsets: int = 0
    pending_offsets: int = 0
    members: int = 0
    pending_members: int = 0
    parked_requests: int = 0

    def add(self, view: View) -> None:
        live = view.live_groups
        self.states.update(group.state for group in live.values())
        # Who is in no generation and not joining one has no live half.
        self.states[GroupState.EMPTY] += sum(group_id not in live for group_id in view.groups)
        self.offsets += sum(map(len, view.offsets.values()))
        self.pending_offsets += sum(
            len(offsets)
            for by_group in view.pending_offsets.values()
            for offsets in by_group.values()
        )
        self.members += sum(len(group.members) for group in live.values())
        self.pending_members += sum(len(group.pending_members) for group in live.values())
        self.parked_requests += view.counts.parked_count


async def collect_groups(coordinator: GroupCoordinator) -> list[Family]:
    totals = GroupTotals()
    for shard in coordinator.active_shards():
        totals.add(shard.view)
        await asyncio.sleep(0)
    return [
        *_kafkas_gauges(totals),
        *_our_gauges(totals),
        *_partitions(coordinator),
        *_counters(coordinator),
    ]


def _kafkas_gauges(totals: GroupTotals) -> Iterator[Family]:
    count = totals.states.total()
    yield gauge(f"{_MANAGER}_numgroups", "Groups.", count)
    for state in GroupState:
        name = f"{_MANAGER}_numgroups{state.value.lower()}"
        yield gauge(name, f"Groups in state {state.value}.", totals.states[state])
    yield gauge(
        f"{_MANAGER}_numoffsets", "Committed offsets, by group and partition.", totals.offsets
    )
    yield by_label(
        "gauge",
        f"{_COORDINATOR}_group_count",
        "Groups by protocol.",
        "protocol",
        {"classic": count},
    )


def _our_gauges(totals: GroupTotals) -> Iterator[Family]:
    yield gauge("drumbeat_group_members", "Members of all groups.", totals.members)
    yield gauge(
        "drumbeat_group_pending_members",
        "Member ids handed out that have not joined yet.",
        totals.pending_members,
    )
    yield gauge(
        "drumbeat_group_parked_requests",
        "JoinGroup and SyncGroup requests that wait for other members.",
        totals.parked_requests,
    )
    yield gauge(
        "drumbeat_group_pending_offsets",
        "Offsets of transactions that have not ended.",
        totals.pending_offsets,
    )


def _partitions(coordinator: GroupCoordinator) -> Iterator[Family]:
    states = coordinator.partition_states()
    yield by_label(
        "gauge",
        f"{_COORDINATOR}_num_partitions",
        "Partitions of __consumer_offsets by state.",
        "state",
        {name: len(partitions) for name, partitions in states._asdict().items()},
    )
    counts = coordinator.counts
    yield gauge(
        f"{_COORDINATOR}_partition_load_time_max",
        "The longest load of a partition since the start, in milliseconds.",
        counts.load_ms_max,
    )
    yield gauge(
        f"{_COORDINATOR}_partition_load_time_avg",
        "The mean load of a partition since the start, in milliseconds.",
        counts.load_ms_total / counts.loads if counts.loads else 0,
    )


def _counters(coordinator: GroupCoordinator) -> Iterator[Family]:
    counts = coordinator.counts
    yield counter(
        f"{_COORDINATOR}_offset_commit_count", "Offsets committed.", counts.offset_commits
    )
    yield counter(
        f"{_COORDINATOR}_offset_expiration_count",
        "Offsets removed because their retention was over.",
        counts.offset_expirations,
    )
    yield counter(
        f"{_COORDINATOR}_offset_deletion_count",
        "Offsets removed by OffsetDelete.",
        counts.events[GroupEventType.OFFSETS_DELETED, ""],
    )
    yield counter(
        f"{_COORDINATOR}_group_completed_rebalance_count",
        "Rebalances of classic groups that ended with an assignment.",
        counts.completed_rebalances,
    )
    yield Family(
        "drumbeat_group_events_total",
        "counter",
        "What happened to groups, by type and reason; __group_events has the details.",
        [
            Sample({"type": kind.value, "reason": reason}, count)
            for (kind, reason), count in sorted(counts.events.items())
        ],
    )
