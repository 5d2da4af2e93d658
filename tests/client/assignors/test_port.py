"""What reaches an assignor: of a member's subscription, and of the cluster."""

from client.assignors.groups import partitions
from drumbeat.client.assignors.port import MemberSubscription, partition_racks, without_racks
from drumbeat.client.net.metadata import Broker, ClusterMetadata, PartitionMetadata, TopicMetadata
from drumbeat.protocol.consumer_protocol import Subscription, TopicPartitions
from drumbeat.protocol.errors import ErrorCode


def test_a_subscription():
    read = Subscription(
        topics=("t", "u"),
        user_data=b"data",
        owned_partitions=(TopicPartitions("t", (0, 2)), TopicPartitions("u", (1,))),
        generation_id=7,
        rack_id="a",
    )
    assert MemberSubscription.of(read, "instance") == MemberSubscription(
        topics=("t", "u"),
        user_data=b"data",
        owned_partitions=tuple(partitions("t02 u1")),
        generation_id=7,
        rack_id="a",
        group_instance_id="instance",
    )


def test_racks_of_replicas():
    """Replicas that are behind count; brokers that are down or say nothing do not."""
    metadata = ClusterMetadata(
        brokers={
            1: Broker(1, "one", 9092, "a"),
            2: Broker(2, "two", 9092, "b"),
            3: Broker(3, "three", 9092),
        },
        topics={
            "t": TopicMetadata(
                "t",
                partitions=(
                    PartitionMetadata(0, replicas=(1, 2), isr=(1,)),
                    PartitionMetadata(1, replicas=(3, 4)),
                ),
            ),
            "u": TopicMetadata("u", error=ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        },
    )
    racks = partition_racks(metadata, ["t", "u", "missing"])
    assert racks == {"t": (frozenset("ab"), frozenset())}


def test_without_racks():
    assert without_racks({"t": 2, "u": 0}) == {"t": (frozenset(), frozenset()), "u": ()}
