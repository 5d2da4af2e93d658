"""Which topics a group reads: what decides whether an offset may expire or be deleted."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

from drumbeat.core.classic.group import ClassicGroupView
from drumbeat.core.classic.members import JoinedMember
from drumbeat.core.state import Group
from drumbeat.protocol.consumer_protocol import PROTOCOL_TYPE, subscribed_topics

_SHARED_SETS, _SHARED_TOPICS_MAX = 1_024, 16


def topics_of(
    protocol_type: str, protocol_name: str, members: Collection[JoinedMember]
) -> frozenset[str] | None:
    """The topics of a new generation; None if the group coordinator cannot know."""
    if protocol_type != PROTOCOL_TYPE:
        return None
    # A set, because most members of a group say the same, and reading it takes a while.
    return _shared(subscribed_topics({member.metadata(protocol_name) for member in members}))


def topics_of_durable(group: Group) -> frozenset[str] | None:
    """The same for a group as the log left it. One of consumers without members reads nothing."""
    if group.protocol_type != PROTOCOL_TYPE:
        return None
    return _shared(subscribed_topics(member.subscription for member in group.members.values()))


def _shared(topics: frozenset[str] | None) -> frozenset[str] | None:
    """The equal set that another group has: the same few topics are read by many groups."""
    is_small = topics is not None and len(topics) <= _SHARED_TOPICS_MAX
    return _first_equal(topics) if is_small else topics


@lru_cache(_SHARED_SETS)
def _first_equal(topics: frozenset[str] | None) -> frozenset[str] | None:
    return topics


def is_subscribed(group: ClassicGroupView | None, topic: str) -> bool:
    """Whether a member may be reading the topic. `group` is None for an Empty group.

    Consumers whose subscriptions cannot be read count as subscribed to everything.
    """
    if group is None:
        return False
    if group.subscribed_topics is None:
        return group.protocol_type == PROTOCOL_TYPE
    return topic in group.subscribed_topics
