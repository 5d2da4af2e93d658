"""Every fault and every assertion, one line each, with the clients that come with Drumbeat."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from drumbeat.client import SyncConsumer, SyncProducer
from drumbeat.client.errors import KafkaError
from drumbeat.testing import Cluster


@pytest.fixture
def consumer(drumbeat_cluster: Cluster) -> Iterator[SyncConsumer]:
    """A member of group billing that has read one of two records and committed it."""
    cluster = drumbeat_cluster
    cluster.create_topic("orders", partitions=1)
    with SyncProducer(bootstrap_servers=cluster.bootstrap_servers) as producer:
        for value in (b"tea", b"milk"):
            producer.send("orders", value=value).result()
    with SyncConsumer(
        bootstrap_servers=cluster.bootstrap_servers,
        group_id="billing",
        client_id="billing-1",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        heartbeat_interval_ms=100,
        retry_backoff_ms=50,
        max_poll_records=1,
    ) as consumer:
        consumer.subscribe(["orders"])
        assert next(iter(consumer)).value == b"tea"
        consumer.commit()
        yield consumer


def test_assertions(drumbeat_cluster: Cluster, consumer: SyncConsumer) -> None:
    cluster = drumbeat_cluster

    group = cluster.wait_for("billing", state="Stable", members=1, timeout=10)
    assert group.generation_id >= 1
    assert group.owners == {("orders", 0): "billing-1"}
    assert cluster.end_offsets("orders") == {0: 2}
    assert cluster.committed("billing") == {("orders", 0): 1}
    assert cluster.lag("billing") == {("orders", 0): 1}
    happened = [(event.type, event.reason) for event in cluster.events("billing")]
    assert ("rebalance_begun", "member_joined") in happened
    with cluster.record("Heartbeat", client_id="billing-1") as heartbeats:
        heartbeats.wait(2)
    assert heartbeats.requests[0].body.group_id == "billing"


def test_errors(drumbeat_cluster: Cluster, consumer: SyncConsumer) -> None:
    cluster = drumbeat_cluster

    cluster.fail_next("OffsetCommit", error="GROUP_AUTHORIZATION_FAILED", group="billing")

    with pytest.raises(KafkaError, match="GROUP_AUTHORIZATION_FAILED"):
        consumer.commit()


def test_lost_and_late_answers(drumbeat_cluster: Cluster, consumer: SyncConsumer) -> None:
    cluster = drumbeat_cluster

    lost = cluster.drop_next("Heartbeat", n=2, client_id="billing-1")  # connections are closed
    late = cluster.delay_next("Fetch", timedelta(milliseconds=200))

    lost.wait(2)
    assert next(iter(consumer)).value == b"milk"
    consumer.commit()
    late.wait()
    assert cluster.committed("billing") == {("orders", 0): 2}


def test_a_coordinator_that_moves(drumbeat_cluster: Cluster, consumer: SyncConsumer) -> None:
    cluster = drumbeat_cluster

    with cluster.record("Heartbeat") as heartbeats:
        cluster.unload_coordinator("billing")  # clients hear NOT_COORDINATOR
        heartbeats.wait(1)
        cluster.unload_coordinator("billing", answering="COORDINATOR_LOAD_IN_PROGRESS")
        heartbeats.wait(2)
        cluster.reload_coordinator("billing")

    consumer.commit()
    assert cluster.group("billing").state == "Stable"


def test_a_node_that_stands_still_or_restarts(
    drumbeat_cluster: Cluster, consumer: SyncConsumer
) -> None:
    cluster = drumbeat_cluster

    with cluster.paused():  # as if the process were stopped
        pass
    cluster.restart()  # same data, same port

    assert next(iter(consumer)).value == b"milk"


def test_time(drumbeat_cluster: Cluster, consumer: SyncConsumer) -> None:
    cluster = drumbeat_cluster

    consumer.close()
    cluster.fast_forward(timedelta(days=6))
    assert cluster.committed("billing") == {("orders", 0): 1}
    cluster.fast_forward(timedelta(days=1))
    assert cluster.committed("billing") == {}
