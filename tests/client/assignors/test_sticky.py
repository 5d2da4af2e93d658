"""The sticky assignors: who keeps what, who claims what, and who must wait for it."""

from dataclasses import replace

import pytest

from client.assignors.groups import cluster, partitions, written
from client.assignors.laws import check_assigned_once, check_balanced
from client.assignors.sticky_cases import CASES
from drumbeat.client.assignors import assignor
from drumbeat.client.assignors.port import MemberSubscription
from drumbeat.client.assignors.user_data import encode_generation, encode_sticky


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_sticky(case):
    assigned = assignor("sticky").assign(cluster(case.topics), case.members("sticky"))
    assert written(assigned) == case.eager


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_cooperative_sticky(case):
    leader, topics = assignor("cooperative-sticky"), cluster(case.topics)
    members = case.members("cooperative-sticky")
    first = leader.assign(topics, members)
    assert written(first) == case.cooperative
    kept = {m: replace(member, owned_partitions=tuple(first[m])) for m, member in members.items()}
    second = leader.assign(topics, kept)
    check_assigned_once(topics, kept, second)
    check_balanced(kept, second)


def test_eager_members_tell_what_they_had():
    member = assignor("sticky")
    assert member.subscription_user_data(["t"]) is None
    member.on_assignment(partitions("t02"), 4)
    assert member.subscription_user_data(["t"]) == encode_sticky(partitions("t02"), 4)
    member.on_assignment([], 5)
    assert member.subscription_user_data(["t"]) == encode_sticky([], 5)


def test_cooperative_members_tell_their_generation():
    member = assignor("cooperative-sticky")
    assert member.subscription_user_data(["t"]) == encode_generation(-1)
    member.on_assignment(partitions("t02"), 4)
    assert member.subscription_user_data(["t"]) == encode_generation(4)


@pytest.mark.parametrize(
    ("generation_ids", "expected"),
    [
        ((4, 5), "A: t1; B: t0"),
        ((5, 4), "A: t1; B: t0"),
        ((-1, -1), "A:; B: t1"),
    ],
)
def test_generations_of_subscriptions_before_v2(generation_ids, expected):
    """They are in the user data alone, where Java does not look for that of a rival."""
    subscriptions = {
        member_id: MemberSubscription(
            topics=("t",),
            owned_partitions=tuple(partitions("t0")),
            user_data=encode_generation(generation_id),
        )
        for member_id, generation_id in zip("AB", generation_ids, strict=True)
    }
    assigned = assignor("cooperative-sticky").assign(cluster("t:2"), subscriptions)
    assert written(assigned) == expected
