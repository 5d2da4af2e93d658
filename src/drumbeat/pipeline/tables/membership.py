"""Two generations of a group side by side: who is new, gone, back, or still there."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Final, NamedTuple

from drumbeat.pipeline.tables.group_changes import GroupChange, Member
from drumbeat.pipeline.tables.ownership import LastCommits

# Of consumer groups the log does not tell it: group.consumer.session.timeout.ms has this default.
SESSION_TIMEOUT_MS: Final = 45_000


class Return(NamedTuple):
    """A member that went and came back under a new id."""

    gone: Member
    back: Member


class Membership(NamedTuple):
    joined: tuple[Member, ...]  # without those that came back
    left: tuple[Member, ...]
    replaced: tuple[Return, ...]  # static members: the same group.instance.id
    restarted: tuple[Return, ...]  # the same client id from the same host
    stayed: int


def compare(change: GroupChange) -> Membership:
    joined, left, replaced = _paired(change.joined, change.left, _instance)
    joined, left, restarted = _paired(joined, left, _client)
    return Membership(joined, left, replaced, restarted, len(change.updated))


def last_commit_of(member: Member, change: GroupChange, commits: LastCommits) -> int | None:
    """When a partition that the member had was last committed; None if none ever was."""
    owners = {} if change.before is None else change.before.owners
    return max(
        (
            at_ms
            for partition, at_ms in commits.items()
            if partition in owners and owners[partition].member_id == member.member_id
        ),
        default=None,
    )


def is_silent(member: Member, change: GroupChange, commits: LastCommits) -> bool | None:
    """Whether it stopped committing for as long as its session may last; None if unknown."""
    committed_at = last_commit_of(member, change, commits)
    if committed_at is None:
        return None
    return change.append_ts - committed_at >= (member.session_timeout_ms or SESSION_TIMEOUT_MS)


def _instance(member: Member) -> Hashable | None:
    return member.group_instance_id


def _client(member: Member) -> Hashable | None:
    # Static members that come back have their instance id; another one is another consumer.
    is_dynamic = member.group_instance_id is None
    return (member.client_id, member.client_host) if is_dynamic else None


def _paired(
    joined: Iterable[Member], left: Iterable[Member], identity: Callable[[Member], Hashable | None]
) -> tuple[tuple[Member, ...], tuple[Member, ...], tuple[Return, ...]]:
    """What remains of both, and those that are the same by `identity`, each used once."""
    gone: dict[Hashable, list[Member]] = {}
    for member in left:
        gone.setdefault(identity(member), []).append(member)
    gone.pop(None, None)
    strangers, pairs = [], []
    for member in joined:
        candidates = gone.get(identity(member))
        if candidates:
            pairs.append(Return(candidates.pop(0), member))
        else:
            strangers.append(member)
    paired = {pair.gone.member_id for pair in pairs}
    return (
        tuple(strangers),
        tuple(member for member in left if member.member_id not in paired),
        tuple(pairs),
    )
