"""How to test code that uses kafka-python: a cluster per test, and faults on demand.

The functions at the top stand for the code under test.
"""

import pytest
from kafka import KafkaConsumer, KafkaProducer
from kafka.errors import CommitFailedError

from drumbeat.testing import Cluster


def publish(servers: str, *values: bytes) -> None:
    producer = KafkaProducer(bootstrap_servers=servers)
    for value in values:
        producer.send("orders", value)
    producer.flush()
    producer.close()


def billing_consumer(servers: str) -> KafkaConsumer:
    return KafkaConsumer(
        "orders",
        bootstrap_servers=servers,
        group_id="billing",
        client_id="billing-1",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        heartbeat_interval_ms=100,  # a test need not wait 3 s to hear of a rebalance
    )


def read(consumer: KafkaConsumer, count: int) -> list[bytes]:
    values: list[bytes] = []
    while len(values) < count:
        batches = consumer.poll(timeout_ms=10_000)  # returns as soon as there are records
        assert batches, f"nothing more came after {values}"
        values += [record.value for batch in batches.values() for record in batch]
    return values


@pytest.mark.drumbeat(topics={"orders": 1})
def test_what_was_read_is_committed(drumbeat_cluster: Cluster) -> None:
    publish(drumbeat_cluster.bootstrap_servers, b"tea", b"milk")
    consumer = billing_consumer(drumbeat_cluster.bootstrap_servers)
    assert read(consumer, 2) == [b"tea", b"milk"]
    consumer.commit()
    consumer.close()

    assert drumbeat_cluster.committed("billing") == {("orders", 0): 2}
    assert drumbeat_cluster.lag("billing") == {("orders", 0): 0}


@pytest.mark.drumbeat(topics={"orders": 1})
def test_a_member_whose_session_ends_reads_again_what_it_had_not_committed(
    drumbeat_cluster: Cluster,
) -> None:
    publish(drumbeat_cluster.bootstrap_servers, b"tea")
    consumer = billing_consumer(drumbeat_cluster.bootstrap_servers)
    assert read(consumer, 1) == [b"tea"]

    drumbeat_cluster.expire_member("billing", client_id="billing-1")

    assert read(consumer, 1) == [b"tea"]
    assert drumbeat_cluster.group("billing").owners == {("orders", 0): "billing-1"}
    expired = drumbeat_cluster.wait_for_event("billing", "member_expired")
    assert (expired.client_id, expired.reason) == ("billing-1", "session_timeout")
    consumer.close()


@pytest.mark.drumbeat(topics={"orders": 1})
def test_a_commit_in_the_middle_of_a_rebalance_fails(drumbeat_cluster: Cluster) -> None:
    publish(drumbeat_cluster.bootstrap_servers, b"tea")
    consumer = billing_consumer(drumbeat_cluster.bootstrap_servers)
    read(consumer, 1)

    drumbeat_cluster.fail_next("OffsetCommit", error="REBALANCE_IN_PROGRESS")

    with pytest.raises(CommitFailedError):
        consumer.commit()
    assert drumbeat_cluster.committed("billing") == {}
    consumer.close()
