"""Sequences about groups: members that come and go, their offsets, and administrators."""

from interop.oracle.group_steps import (
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    Metadata,
    Plan,
    Protocol,
    SyncGroup,
)
from interop.oracle.offset_steps import (
    DeleteGroups,
    DescribeGroups,
    FindCoordinator,
    ListGroups,
    OffsetCommit,
    OffsetDelete,
    OffsetFetch,
)
from interop.oracle.strategies import Deviation, Kind, Language
from interop.oracle.topic_steps import CreateTopics, DeleteTopics
from interop.oracle.vocabulary import Generation, Group, Instance, Member, Step, Topic

ORDERS, PAYMENTS, MISSING = Topic.ORDERS, Topic.PAYMENTS, Topic.MISSING
NO_MEMBER: Deviation = {
    "member": Member.NONE,
    "generation": Generation.NONE,
    "instance": Instance.NONE,
}

_MEMBERS: tuple[Deviation, ...] = (
    {"member": Member.STRANGER},
    {"member": Member.PREVIOUS},
    {"member": Member.NEIGHBOUR},
    {"member": Member.NONE},
    {"instance": Instance.NONE},
    {"instance": Instance.FIRST},
    {"instance": Instance.STRANGER},
)
_GENERATIONS: tuple[Deviation, ...] = (
    {"generation": Generation.NEWEST},
    {"generation": Generation.PREVIOUS},
    {"generation": Generation.NEXT},
    {"generation": Generation.NONE},
)
_GROUPS: tuple[Deviation, ...] = (
    {"group": Group.OTHER},
    {"group": Group.MISSING},
    {"group": Group.EMPTY},  # only where it is refused: all sequences share it
)

JOIN = Kind(
    18,
    JoinGroup,
    20,
    (
        *_MEMBERS,
        {"group": Group.EMPTY},
        {"group": Group.MISSING, "member": Member.STRANGER},
        {"protocols": ("range", "sticky")},
        {"protocols": ("sticky", "range")},
        {"protocols": ("roundrobin", "sticky", "range")},
        {"protocols": ("cooperative-sticky", "range")},
        {"protocols": ("sticky",)},
        {"protocols": ()},
        {"protocol_type": ""},
        {"protocol_type": "connect"},
        {"metadata": Metadata.PAYMENTS},
        {"metadata": Metadata.BOTH},
        {"metadata": Metadata.NOTHING},
        {"metadata": Metadata.SHORT},
        {"metadata": Metadata.EMPTY},
        {"session_timeout_ms": 99},
        {"session_timeout_ms": 1_800_001},
        {"rebalance_timeout_ms": 90_000},
        {"session_timeout_ms": 50_000},
    ),
)
SYNC = Kind(
    12,
    SyncGroup,
    20,
    (
        *_MEMBERS,
        *_GENERATIONS,
        *_GROUPS,
        *({"plan": plan} for plan in (Plan.NOBODY, Plan.SOME, Plan.STRANGER)),
        *(
            {"protocol": protocol}
            for protocol in (Protocol.NONE, Protocol.NO_NAME, Protocol.WRONG, Protocol.WRONG_TYPE)
        ),
    ),
)
HEARTBEAT = Kind(8, Heartbeat, 14, (*_MEMBERS, *_GENERATIONS, *_GROUPS))
LEAVE = Kind(
    7,
    LeaveGroup,
    12,
    (
        *_MEMBERS,
        *_GROUPS,
        {"with_clients": (0,)},
        {"with_clients": (1, 2)},
        {"with_clients": (3, 3)},
        {"member": Member.NONE, "instance": Instance.FIRST},
    ),
)
COMMIT = Kind(
    10,
    OffsetCommit,
    16,
    (
        *_MEMBERS,
        *_GENERATIONS,
        {"group": Group.OTHER},
        {"group": Group.MISSING},
        NO_MEMBER,
        NO_MEMBER,
        {**NO_MEMBER, "group": Group.OTHER},
        {**NO_MEMBER, "group": Group.OTHER},
        {"partitions": ((ORDERS, 1), (PAYMENTS, 0))},
        {"partitions": ((ORDERS, 0), (ORDERS, 3))},
        {"partitions": ((ORDERS, 0), (ORDERS, 0))},
        {"partitions": ((ORDERS, 9), (ORDERS, 1))},
        {"partitions": ((MISSING, 0), (ORDERS, 2))},
        {"partitions": ((MISSING, 0),)},
        {"partitions": ((Topic.INTERNAL, 0),)},
        {"partitions": ()},
        {"partitions": ((Topic.OWN, 0), (ORDERS, 0))},
        {"partitions": ((Topic.OWN, 1),), **NO_MEMBER, "group": Group.OTHER},
        {"offset": 0},
        {"offset": -1},
        {"offset": 2**40},
        {"leader_epoch": 0},
        {"leader_epoch": 7},
        {"metadata": None},
        {"metadata": "état"},
        {"first_metadata_size": 4096, "partitions": ((ORDERS, 0), (ORDERS, 1))},
        {"first_metadata_size": 4097, "partitions": ((ORDERS, 0), (ORDERS, 1))},
        {"retention_time_ms": 3_600_000},
    ),
)
FETCH = Kind(
    8,
    OffsetFetch,
    6,
    (
        {"partitions": ((ORDERS, 0), (ORDERS, 1), (PAYMENTS, 0))},
        {"partitions": ((PAYMENTS, 0), (MISSING, 0), (ORDERS, 77))},
        {"partitions": ((Topic.OWN, 0), (Topic.OWN, 1))},
        {"partitions": ()},
        {"require_stable": True},
        {"groups": (Group.OTHER,)},
        {"groups": (Group.MISSING,)},
        {"groups": (Group.MAIN, Group.OTHER, Group.MISSING)},
        {"groups": (Group.MAIN, Group.MAIN)},
        {"member": Member.OWN, "generation": Generation.CURRENT},
        {"member": Member.STRANGER, "generation": Generation.NEXT},
    ),
)
OFFSET_DELETE = Kind(
    4,
    OffsetDelete,
    4,
    (
        *_GROUPS,
        {"partitions": ((PAYMENTS, 0), (ORDERS, 1))},
        {"partitions": ((ORDERS, 0), (ORDERS, 50), (MISSING, 0))},
        {"partitions": ((MISSING, 0),)},
        {"partitions": ()},
    ),
)
DESCRIBE = Kind(
    8,
    DescribeGroups,
    8,
    (
        {"groups": (Group.MAIN, Group.OTHER)},
        {"groups": (Group.MISSING,)},
        {"groups": (Group.MAIN, Group.MAIN)},
        {"groups": ()},
        {"include_authorized_operations": True},
    ),
)
LIST = Kind(
    3,
    ListGroups,
    3,
    (
        {"states": ("Stable",)},
        {"states": ("preparingrebalance", "CompletingRebalance")},
        {"states": ("Empty", "nonsense")},
        {"types": ("Classic",)},
        {"types": ("consumer",)},
        {"types": ("nonsense",)},
    ),
)
DELETE = Kind(
    4,
    DeleteGroups,
    4,
    (
        {"groups": (Group.OTHER,)},
        {"groups": (Group.MISSING,)},
        {"groups": (Group.MAIN, Group.OTHER, Group.MAIN)},
        {"groups": ()},
    ),
)
FIND = Kind(
    1,
    FindCoordinator,
    2,
    (
        {"groups": (Group.OTHER, Group.MAIN, Group.OTHER)},
        {"groups": (Group.EMPTY,)},
        {"key_type": 3},
    ),
)

# Offsets of a topic go with it.
CREATE_TOPIC = Kind(2, CreateTopics, 1)
DELETE_TOPIC = Kind(1, DeleteTopics, 1)


def everybody_joins(cast: tuple[int, ...]) -> tuple[Step, ...]:
    """New members in one step each; the first one, which is alone at first, once more."""
    newcomers = tuple(JoinGroup(client=client, version=3) for client in cast)
    return (*newcomers, JoinGroup(client=cast[0]))


def everybody_rejoins(cast: tuple[int, ...]) -> tuple[Step, ...]:
    return tuple(JoinGroup(client=client) for client in cast)


def everybody_syncs(cast: tuple[int, ...]) -> tuple[Step, ...]:
    return tuple(SyncGroup(client=client) for client in cast)


def static_members_join(_cast: tuple[int, ...]) -> tuple[Step, ...]:
    """Two of them under one name: the second replaces the first."""
    return (
        JoinGroup(client=3, member=Member.NONE),
        JoinGroup(client=4, member=Member.NONE),
    )


GROUPS = Language(
    casts=((0, 1), (0, 1, 2), (0,), (0, 1, 3), (0, 3, 4), (3, 4, 5), (0, 1, 2, 3)),
    kinds=(
        JOIN,
        SYNC,
        HEARTBEAT,
        LEAVE,
        COMMIT,
        FETCH,
        OFFSET_DELETE,
        DESCRIBE,
        LIST,
        DELETE,
        FIND,
        CREATE_TOPIC,
        DELETE_TOPIC,
    ),
    phrases=(
        (4, everybody_joins),
        (3, everybody_rejoins),
        (8, everybody_syncs),
        (2, static_members_join),
    ),
)
