"""How to test code that uses confluent-kafka, on one cluster that all tests share.

Each test has topics and groups of its own: `new_topic` and `new_group` give names nobody else has.
"""

from collections.abc import Callable

import pytest
from confluent_kafka import Consumer, KafkaException, Message, Producer

from drumbeat.testing import Cluster


def publish(servers: str, topic: str, *values: bytes) -> None:
    producer = Producer({"bootstrap.servers": servers})
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(10) == 0


def start_consumer(servers: str, topic: str, group: str, client_id: str = "c1") -> Consumer:
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": group,
            "client.id": client_id,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "heartbeat.interval.ms": 100,
        }
    )
    consumer.subscribe([topic])
    return consumer


def poll_until(consumer: Consumer, condition: Callable[[], bool]) -> list[Message]:
    messages = []
    for _ in range(500):
        if condition():
            return messages
        message = consumer.poll(0.02)
        if message is not None and message.error() is None:
            messages.append(message)
    raise AssertionError(f"still not so after 500 polls; {len(messages)} messages")


def test_two_members_share_the_partitions(drumbeat_session_cluster: Cluster) -> None:
    cluster = drumbeat_session_cluster
    topic, group = cluster.new_topic("orders", partitions=2), cluster.new_group("billing")
    members = [
        start_consumer(cluster.bootstrap_servers, topic, group, client_id)
        for client_id in ("c1", "c2")
    ]

    def is_shared() -> bool:
        members[1].poll(0.02)
        now = cluster.group(group)
        return now.state == "Stable" and len(set(now.owners.values())) == 2

    poll_until(members[0], is_shared)
    begun = [event.reason for event in cluster.events(group) if event.type == "rebalance_begun"]
    assert begun[0] == "member_joined"
    for member in members:
        member.close()


def test_a_commit_that_is_refused(drumbeat_session_cluster: Cluster) -> None:
    cluster = drumbeat_session_cluster
    topic, group = cluster.new_topic("orders"), cluster.new_group("billing")
    publish(cluster.bootstrap_servers, topic, b"tea")
    consumer = start_consumer(cluster.bootstrap_servers, topic, group)
    poll_until(consumer, lambda: bool(consumer.assignment()))
    message = consumer.poll(10)

    cluster.fail_next("OffsetCommit", error="ILLEGAL_GENERATION", group=group)

    with pytest.raises(KafkaException, match="ILLEGAL_GENERATION"):
        consumer.commit(message, asynchronous=False)
    consumer.close()
    assert cluster.committed(group) == {}


def test_an_answer_that_got_lost_is_asked_for_again(drumbeat_session_cluster: Cluster) -> None:
    cluster = drumbeat_session_cluster
    topic = cluster.new_topic("orders")

    lost = cluster.drop_next("Produce", processed=True)
    producer = Producer(
        {"bootstrap.servers": cluster.bootstrap_servers, "enable.idempotence": True}
    )
    producer.produce(topic, b"tea")
    assert producer.flush(10) == 0

    assert lost.hits == 1
    assert cluster.end_offsets(topic) == {0: 1}  # sent twice, stored once
