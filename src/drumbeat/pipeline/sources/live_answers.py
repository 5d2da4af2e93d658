"""What the coordinators of a running cluster answer about their groups, to compare with the log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from drumbeat.client.admin.groups import CLASSIC, CONSUMER, GroupDescription
from drumbeat.client.admin.results import SomeFailedError
from drumbeat.client.admin.sync import SyncAdmin
from drumbeat.client.errors import GroupIdNotFoundError
from drumbeat.client.values import TopicPartition

GROUPS_MAX: Final = 500  # in one question
_UNTOLD_TYPES: Final = ("", CLASSIC, CONSUMER)  # brokers of old have no other and do not say
# A classic group that rebalances has members that are not in the log, or not yet.
_SETTLED: Final = frozenset({"Stable", "Empty", "Assigning", "Reconciling"})


class GroupAnswer(NamedTuple):
    offsets: Mapping[TopicPartition, int]
    members: frozenset[str] | None  # ids; None while they are changing


class LiveAnswers(NamedTuple):
    """Whatever stands in the log before `ends` was known to those who answered."""

    asked_ms: int
    ends: Mapping[int, int]  # by partition of the log, from before anything was asked
    groups: Mapping[str, GroupAnswer]


def ask_groups(admin: SyncAdmin) -> dict[str, GroupAnswer]:
    """All groups that commit offsets, but those that go away meanwhile."""
    listed = [group.group_id for group in admin.list_groups() if group.type in _UNTOLD_TYPES]
    answers: dict[str, GroupAnswer] = {}
    for group_ids in _portions(listed):
        offsets = _found(admin.list_group_offsets, group_ids)
        described = _found(admin.describe_groups, group_ids)
        for group_id in offsets.keys() & described.keys():
            committed = {tp: each.offset for tp, each in offsets[group_id].items()}
            answers[group_id] = GroupAnswer(committed, _members(described[group_id]))
    return answers


def _members(described: GroupDescription) -> frozenset[str] | None:
    if described.state not in _SETTLED:
        return None
    return frozenset(member.member_id for member in described.members)


def _found(ask: Callable[[Sequence[str]], Mapping[str, Any]], group_ids: list[str]) -> Any:
    try:
        return ask(group_ids)
    except SomeFailedError as some:
        if all(isinstance(error, GroupIdNotFoundError) for error in some.errors.values()):
            return some.results
        raise
    except GroupIdNotFoundError:
        return {}


def _portions(group_ids: Iterable[str]) -> Iterator[list[str]]:
    remaining = iter(group_ids)
    while portion := list(islice(remaining, GROUPS_MAX)):
        yield portion
