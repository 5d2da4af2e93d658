"""Groups in a line of text: `A: t u` wants two topics, `B@a: t` is in rack a, `C=i: t` is static.

Partitions are written as `t012 u0`: the topic, and a digit for each partition.
"""

from collections import defaultdict
from itertools import groupby

from drumbeat.client.assignors.port import MemberSubscription
from drumbeat.client.values import TopicPartition


def members(text: str) -> dict[str, MemberSubscription]:
    return dict(_member(line) for line in text.split("; "))


def _member(line: str) -> tuple[str, MemberSubscription]:
    head, _, topics = line.partition(":")
    head, _, rack_id = head.strip().partition("@")
    member_id, _, instance_id = head.partition("=")
    return member_id, MemberSubscription(
        topics=tuple(topics.split()),
        rack_id=rack_id or None,
        group_instance_id=instance_id or None,
    )


def partitions(text: str) -> list[TopicPartition]:
    return [TopicPartition(word[0], int(digit)) for word in text.split() for digit in word[1:]]


def written(assignment: dict[str, list[TopicPartition]]) -> str:
    """`A: t01; B: t2`, by member id; sorted within a member."""
    return "; ".join(
        f"{member_id}: {_written(sorted(share))}".rstrip()
        for member_id, share in sorted(assignment.items())
    )


def _written(share: list[TopicPartition]) -> str:
    return " ".join(
        topic + "".join(str(tp.partition) for tp in run)
        for topic, run in groupby(share, key=lambda tp: tp.topic)
    )


def cluster(text: str) -> dict[str, tuple[frozenset[str], ...]]:
    """`t:3` has three partitions without racks, `t:a,ab,` has them in a, in a and b, nowhere."""
    topics = defaultdict(tuple)
    for word in text.split():
        topic, _, rest = word.partition(":")
        racks = rest.split(",") if not rest.isdigit() else [""] * int(rest)
        topics[topic] = tuple(frozenset(one) for one in racks)
    return dict(topics)
