"""What the coordinators of a running cluster answer, and that its log says the same."""

from drumbeat.client import SyncConsumer
from drumbeat.client.admin.sync import SyncAdmin
from drumbeat.client.values import OffsetAndMetadata, TopicPartition
from drumbeat.pipeline.sources import live_answers
from drumbeat.pipeline.sources.cluster_log import ClusterLog
from drumbeat.pipeline.sources.live_answers import GroupAnswer
from drumbeat.protocol.java_hash import partition_for
from drumbeat.testing import Cluster
from support.waiting import wait_until

P0, P1 = TopicPartition("orders", 0), TopicPartition("orders", 1)
TIMEOUT_S = 20.0


def test_answers_of_a_running_cluster(monkeypatch):
    monkeypatch.setattr(live_answers, "GROUPS_MAX", 1)
    with (
        Cluster() as cluster,
        SyncAdmin(bootstrap_servers=cluster.bootstrap_servers) as admin,
        SyncConsumer(bootstrap_servers=cluster.bootstrap_servers, group_id="live") as consumer,
    ):
        cluster.create_topic("orders", partitions=2)
        admin.alter_group_offsets("simple", {P0: OffsetAndMetadata(7), P1: OffsetAndMetadata(8)})
        consumer.subscribe(["orders"])
        wait_until(
            lambda: consumer.poll(20) == {} and len(consumer.assignment()) == 2,
            TIMEOUT_S,
            "a member has the topic",
        )
        consumer.commit({P1: OffsetAndMetadata(3)})
        answers = ClusterLog.open(cluster.bootstrap_servers).answers()
        (member,) = admin.describe_groups(["live"])["live"].members
    assert answers.groups == {
        "simple": GroupAnswer({P0: 7, P1: 8}, frozenset()),
        "live": GroupAnswer({P1: 3}, frozenset({member.member_id})),
    }
    for group_id in answers.groups:
        assert answers.ends[partition_for(group_id, len(answers.ends))] > 0
