"""Round robin: all partitions of all topics in order, dealt to the members in turn."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from drumbeat.client.assignors.ordering import in_turn, subscribed_topics
from drumbeat.client.assignors.port import MemberSubscription, PartitionRacks, RebalanceProtocol
from drumbeat.client.values import TopicPartition


class RoundRobinAssignor:
    """A member that does not want the topic is passed over, and keeps no claim to a turn."""

    name = "roundrobin"
    protocols = (RebalanceProtocol.EAGER,)
    version = 0

    def subscription_user_data(self, topics: Collection[str]) -> bytes | None:
        return None

    def on_assignment(self, partitions: Collection[TopicPartition], generation_id: int) -> None:
        """Nothing is remembered."""

    def assign(
        self, cluster: PartitionRacks, members: Mapping[str, MemberSubscription]
    ) -> dict[str, list[TopicPartition]]:
        circle = [
            (member_id, frozenset(members[member_id].topics)) for member_id in in_turn(members)
        ]
        assignment: dict[str, list[TopicPartition]] = {member_id: [] for member_id in members}
        turn = 0
        for topic in sorted(subscribed_topics(members.values()) & cluster.keys()):
            for partition in range(len(cluster[topic])):
                while topic not in circle[turn][1]:
                    turn = (turn + 1) % len(circle)
                assignment[circle[turn][0]].append(TopicPartition(topic, partition))
                turn = (turn + 1) % len(circle)
        return assignment
