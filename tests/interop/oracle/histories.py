"""Lives of groups that leave every kind of record behind, and questions about their end."""

from interop.oracle.campaign import Steps
from interop.oracle.group_steps import JoinGroup, LeaveGroup, Metadata, SyncGroup
from interop.oracle.offset_steps import (
    DeleteGroups,
    DescribeGroups,
    ListGroups,
    OffsetCommit,
    OffsetDelete,
    OffsetFetch,
)
from interop.oracle.vocabulary import Generation, Group, Instance, Member, Topic

ORDERS, PAYMENTS = Topic.ORDERS, Topic.PAYMENTS
RETENTION_MS = 86_400_000  # of the one commit that says so itself

# From outside the group, as administrators and consumers without a group commit.
_OUTSIDE = {
    "member": Member.NONE,
    "generation": Generation.NONE,
    "instance": Instance.NONE,
}


def _outside(**fields: object) -> OffsetCommit:
    return OffsetCommit(**{**_OUTSIDE, **fields})  # type: ignore[arg-type]


STABLE: Steps = (
    JoinGroup(version=3, protocols=("range", "sticky")),
    JoinGroup(client=3, protocols=("sticky", "range"), metadata=Metadata.BOTH),
    JoinGroup(protocols=("range", "sticky")),
    SyncGroup(),
    SyncGroup(client=3),
    OffsetCommit(partitions=((ORDERS, 0), (ORDERS, 1), (PAYMENTS, 0)), metadata="état"),
    OffsetCommit(client=3, partitions=((ORDERS, 2),), leader_epoch=7, offset=2**40),
    OffsetCommit(offset=43),
)
REPLACED: Steps = (
    JoinGroup(client=3, member=Member.NONE),
    SyncGroup(client=3),
    JoinGroup(client=4, member=Member.NONE),
    OffsetCommit(client=4),
)
LEFT: Steps = (
    JoinGroup(version=0),
    SyncGroup(),
    OffsetCommit(),
    LeaveGroup(),
)
OUTSIDE: Steps = (
    _outside(partitions=((ORDERS, 0), (ORDERS, 1), (ORDERS, 3))),
    _outside(version=2, partitions=((PAYMENTS, 0),), retention_time_ms=RETENTION_MS),
    _outside(group=Group.OTHER, offset=0, metadata=None),
    OffsetDelete(partitions=((ORDERS, 1),)),
)
DELETED: Steps = (
    _outside(partitions=((ORDERS, 0), (ORDERS, 1))),
    _outside(group=Group.OTHER),
    DeleteGroups(),
)

# By the prefix of their names.
HISTORIES: dict[str, Steps] = {
    "stable-": STABLE,
    "replaced-": REPLACED,
    "left-": LEFT,
    "outside-": OUTSIDE,
    "deleted-": DELETED,
}

_BOTH = (Group.MAIN, Group.OTHER)
STABLE_OFFSETS = OffsetFetch(groups=_BOTH, require_stable=True)
QUESTIONS: Steps = (
    DescribeGroups(groups=_BOTH),
    DescribeGroups(groups=_BOTH, version=4),
    ListGroups(),
    OffsetFetch(groups=_BOTH, version=9),
    STABLE_OFFSETS,
    OffsetFetch(groups=_BOTH, partitions=tuple((ORDERS, partition) for partition in range(4))),
    OffsetFetch(version=1, partitions=((PAYMENTS, 0), (ORDERS, 0))),
)
