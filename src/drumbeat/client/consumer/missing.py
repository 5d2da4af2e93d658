"""Tells the log, once, of partitions that were assigned by hand and do not exist (yet).

As Java's, the consumer goes on asking for them: they may be added later. A topic that is missing as
a whole is reported where metadata is read.
"""

from __future__ import annotations

import logging

from drumbeat.client.consumer.subscription_state import SubscriptionState, SubscriptionType
from drumbeat.client.net.cluster import Cluster
from drumbeat.client.net.metadata import ClusterMetadata
from drumbeat.client.values import TopicPartition

log = logging.getLogger(__name__)


class MissingPartitions:
    def __init__(self, cluster: Cluster, subscriptions: SubscriptionState) -> None:
        self._cluster = cluster
        self._subscriptions = subscriptions
        self._reported: set[TopicPartition] = set()
        cluster.on_metadata(self._look)

    def _look(self, metadata: ClusterMetadata) -> None:
        # A group's leader may know of partitions before this member's broker does.
        if self._subscriptions.type is not SubscriptionType.ASSIGNED:
            return
        missing = {
            tp
            for tp in self._subscriptions.partitions
            if metadata.topic(tp.topic) is not None and metadata.partition(tp) is None
        }
        for tp in sorted(missing - self._reported):
            problem = self._cluster.problem_of(tp).message
            log.warning("assigned, and waited for: %s", problem)
        for tp in sorted(self._reported - missing):
            if metadata.partition(tp) is not None:
                log.info("%s exists now", tp)
        self._reported = missing
