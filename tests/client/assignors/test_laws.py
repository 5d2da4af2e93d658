"""Laws of the assignors over all groups."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client.assignors.laws import (
    check_assigned_once,
    check_balanced,
    check_handed_over,
)
from drumbeat.client.assignors import assignor
from drumbeat.client.assignors.port import MemberSubscription, without_racks
from drumbeat.client.assignors.user_data import encode_sticky

NAMES = ("range", "roundrobin", "sticky", "cooperative-sticky")
STICKY = NAMES[2:]
TOPICS = "tuvw"
RACKS = st.frozensets(st.sampled_from("abc"), max_size=3)
CLUSTERS = st.dictionaries(
    st.sampled_from(TOPICS), st.lists(RACKS, max_size=7).map(tuple), min_size=1
)
CLUSTERS_WITHOUT_RACKS = CLUSTERS.map(
    lambda cluster: without_racks({topic: len(racks) for topic, racks in cluster.items()})
)
MEMBER_IDS = st.text(st.sampled_from("ABCé😀"), min_size=1, max_size=3)


def members_wanting(topics):
    member = st.builds(
        MemberSubscription,
        topics=topics.map(tuple),
        rack_id=st.sampled_from((None, "", "a", "b", "c")),
        group_instance_id=st.none(),
    )
    return st.dictionaries(MEMBER_IDS, member, min_size=1, max_size=8)


ANY_TOPICS = st.lists(st.sampled_from((*TOPICS, "missing")), unique=True)
MEMBERS = members_wanting(ANY_TOPICS)
ALIKE = ANY_TOPICS.flatmap(lambda topics: members_wanting(st.just(topics)))


def next_time(members, assignment, generation_id=1):
    """What the members say when they join again, having been given `assignment`."""
    return {
        member_id: replace(
            member,
            user_data=encode_sticky(assignment[member_id], generation_id),
            owned_partitions=tuple(assignment[member_id]),
            generation_id=generation_id,
        )
        for member_id, member in members.items()
    }


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=100)
@given(cluster=CLUSTERS, members=MEMBERS)
def test_everything_goes_to_one_member_that_wants_it(name, cluster, members):
    assignment = assignor(name).assign(cluster, members)
    check_assigned_once(cluster, members, assignment)
    assert assignor(name).assign(cluster, members) == assignment


@pytest.mark.parametrize("name", ["range", "roundrobin"])
@settings(max_examples=100)
@given(cluster=CLUSTERS, members=MEMBERS, dice=st.randoms(use_true_random=False))
def test_the_order_of_joining_does_not_matter(name, cluster, members, dice):
    """It does to the sticky ones: of members in one bucket of a map, the first to join is first."""
    shuffled = list(members.items())
    dice.shuffle(shuffled)
    mine, other = (assignor(name).assign(cluster, group) for group in (members, dict(shuffled)))
    assert {m: sorted(p) for m, p in mine.items()} == {m: sorted(p) for m, p in other.items()}


@settings(max_examples=100)
@given(cluster=CLUSTERS, members=MEMBERS)
def test_range_is_even_within_each_topic(cluster, members):
    assignment = assignor("range").assign(cluster, members)
    for topic in cluster:
        wanting = [m for m, member in members.items() if topic in member.topics]
        counts = [sum(tp.topic == topic for tp in assignment[m]) for m in wanting]
        assert max(counts, default=0) - min(counts, default=0) <= 1


@pytest.mark.parametrize("name", ["roundrobin", *STICKY])
@settings(max_examples=100)
@given(cluster=CLUSTERS, members=ALIKE)
def test_members_that_want_the_same_get_as_much(name, cluster, members):
    counts = [len(share) for share in assignor(name).assign(cluster, members).values()]
    assert max(counts) - min(counts) <= 1


@pytest.mark.parametrize("name", STICKY)
@settings(max_examples=100)
@given(cluster=CLUSTERS, members=MEMBERS)
def test_nobody_could_take_a_partition_from_one_that_has_two_more(name, cluster, members):
    check_balanced(members, assignor(name).assign(cluster, members))


@pytest.mark.parametrize("name", STICKY)
@settings(max_examples=100)
@given(cluster=CLUSTERS_WITHOUT_RACKS, members=ALIKE)
def test_who_stays_loses_nothing_when_another_leaves(name, cluster, members):
    before = assignor(name).assign(cluster, members)
    staying = dict(list(members.items())[1:]) or members
    after = assignor(name).assign(cluster, next_time(staying, before))
    assert all(set(before[m]) <= set(after[m]) for m in staying)


@pytest.mark.parametrize("name", STICKY)
@settings(max_examples=100)
@given(cluster=CLUSTERS_WITHOUT_RACKS, members=MEMBERS)
def test_nothing_moves_when_nothing_changes(name, cluster, members):
    before = assignor(name).assign(cluster, members)
    after = assignor(name).assign(cluster, next_time(members, before))
    assert {m: set(p) for m, p in after.items()} == {m: set(p) for m, p in before.items()}


@settings(max_examples=100)
@given(cluster=CLUSTERS, first=MEMBERS, second=MEMBERS)
def test_cooperative_members_never_pass_on_directly(cluster, first, second):
    """The group of `first` becomes that of `second`; what has an owner goes to no other."""
    before = assignor("cooperative-sticky").assign(cluster, first)
    had = {m: before.get(m, []) for m in second}
    owners = {tp: m for m, partitions in had.items() for tp in partitions}
    joining = next_time(second, had)
    between = assignor("cooperative-sticky").assign(cluster, joining)
    check_handed_over(cluster, joining, between)
    assert all(owners.get(tp, m) == m for m, partitions in between.items() for tp in partitions)


@settings(max_examples=100)
@given(cluster=CLUSTERS_WITHOUT_RACKS, first=ALIKE, second=ALIKE)
def test_cooperative_members_arrive_in_two_steps(cluster, first, second):
    before = assignor("cooperative-sticky").assign(cluster, first)
    had = {m: before.get(m, []) for m in second}
    between = assignor("cooperative-sticky").assign(cluster, next_time(second, had))
    settled = assignor("cooperative-sticky").assign(cluster, next_time(second, between, 2))
    check_assigned_once(cluster, second, settled)
    check_balanced(second, settled)
