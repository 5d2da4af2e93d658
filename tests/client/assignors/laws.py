"""What must hold of any assignment, whoever has made it."""

from collections import Counter
from collections.abc import Mapping

from client.assignors.histories import Assignment
from drumbeat.client.assignors.port import MemberSubscription, PartitionRacks
from drumbeat.client.values import TopicPartition

Members = Mapping[str, MemberSubscription]


def wanted_partitions(cluster: PartitionRacks, members: Members) -> set[TopicPartition]:
    topics = {topic for member in members.values() for topic in member.topics}
    return {
        TopicPartition(topic, partition)
        for topic in topics & cluster.keys()
        for partition in range(len(cluster[topic]))
    }


def check_assigned_once(cluster: PartitionRacks, members: Members, assignment: Assignment) -> None:
    """Everything that somebody wants goes to one member, and that one wants it."""
    check_assigned_at_most_once(members, assignment)
    assigned = {tp for partitions in assignment.values() for tp in partitions}
    assert assigned == wanted_partitions(cluster, members)


def check_handed_over(cluster: PartitionRacks, members: Members, assignment: Assignment) -> None:
    """As above, except that what another member says it has is left out for now."""
    check_assigned_at_most_once(members, assignment)
    owned = {m: set(member.owned_partitions) for m, member in members.items()}
    everything = wanted_partitions(cluster, members)
    assigned = {tp for partitions in assignment.values() for tp in partitions}
    assert assigned <= everything
    assert everything - assigned <= set().union(*owned.values())


def check_assigned_at_most_once(members: Members, assignment: Assignment) -> None:
    assert assignment.keys() == members.keys()
    holders = Counter(tp for partitions in assignment.values() for tp in partitions)
    assert [tp for tp, count in holders.items() if count > 1] == []
    for member_id, partitions in assignment.items():
        assert {tp.topic for tp in partitions} <= set(members[member_id].topics)


def check_balanced(members: Members, assignment: Assignment) -> None:
    """Nobody could take a partition from a member that has at least two more."""
    loads = {member_id: len(partitions) for member_id, partitions in assignment.items()}
    for holder, partitions in assignment.items():
        topics = {tp.topic for tp in partitions}
        for member_id, member in members.items():
            if topics.intersection(member.topics):
                assert loads[holder] - loads[member_id] <= 1, (holder, member_id)
