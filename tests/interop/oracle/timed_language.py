"""Sequences about time: sessions that expire, phases that end without everybody.

Steps come in bursts that are short beside every timeout, and between bursts passes more time than
all timeouts one after the other take. So nothing expires while somebody is looking.
"""

from interop.oracle.group_language import (
    COMMIT,
    DESCRIBE,
    FETCH,
    HEARTBEAT,
    LEAVE,
    LIST,
    SYNC,
)
from interop.oracle.group_steps import LONG_MS, JoinGroup, Metadata, SyncGroup
from interop.oracle.strategies import Deviation, Kind, Language
from interop.oracle.vocabulary import Member, Step, Wait

SHORT_MS = 800


SHORT: Deviation = {"session_timeout_ms": SHORT_MS, "rebalance_timeout_ms": SHORT_MS}

JOIN = Kind(
    14,
    JoinGroup,
    0,
    (
        *(SHORT for _ in range(8)),
        {**SHORT, "rebalance_timeout_ms": LONG_MS},
        {**SHORT, "session_timeout_ms": LONG_MS},
        {**SHORT, "session_timeout_ms": LONG_MS, "rebalance_timeout_ms": LONG_MS},
        {**SHORT, "member": Member.NONE},
        {**SHORT, "protocols": ("sticky", "range")},
        {**SHORT, "metadata": Metadata.PAYMENTS},
    ),
)
WAIT = Kind(4, Wait, 1)


def everybody_joins(cast: tuple[int, ...]) -> tuple[Step, ...]:
    newcomers = tuple(JoinGroup(client=client, version=3, **SHORT) for client in cast)
    return (*newcomers, JoinGroup(client=cast[0], **SHORT))


def everybody_rejoins(cast: tuple[int, ...]) -> tuple[Step, ...]:
    return tuple(JoinGroup(client=client, **SHORT) for client in cast)


def everybody_syncs(cast: tuple[int, ...]) -> tuple[Step, ...]:
    return tuple(SyncGroup(client=client) for client in cast)


TIMED = Language(
    casts=((0, 1), (0, 1, 2), (0, 1, 3), (0, 3, 4)),
    kinds=(
        JOIN,
        SYNC._replace(weight=6),
        HEARTBEAT,
        LEAVE._replace(weight=3),
        COMMIT._replace(weight=3),
        FETCH._replace(weight=2),
        DESCRIBE,
        LIST._replace(weight=1),
        WAIT,
    ),
    phrases=((5, everybody_joins), (3, everybody_rejoins), (8, everybody_syncs)),
)
