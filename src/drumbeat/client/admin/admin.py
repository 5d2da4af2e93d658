"""The admin client: topics, configs, groups, offsets and the cluster.

async with Admin(bootstrap_servers="localhost:9092") as admin:
    await admin.create_topics([NewTopic(name="orders", num_partitions=3)])

Requests go to the controller, to leaders or to coordinators, one per broker, and again to where
things have moved. Where one thing is asked for, its error is raised; for several, SomeFailedError.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drumbeat.client.admin.cluster_info import ClusterAdmin
from drumbeat.client.admin.configs import ConfigsAdmin
from drumbeat.client.admin.groups import GroupsAdmin
from drumbeat.client.admin.reset import ResetAdmin
from drumbeat.client.config.admin import AdminConfig
from drumbeat.client.errors import IllegalStateError
from drumbeat.client.net.cluster import Cluster


class Admin(ResetAdmin, GroupsAdmin, ConfigsAdmin, ClusterAdmin):
    def __init__(self, options: Mapping[str, Any] | None = None, /, **named: Any) -> None:
        super().__init__(AdminConfig.of(options, **named))

    async def __aenter__(self) -> Admin:
        await self.start()
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.close()

    async def start(self) -> None:
        """Connect; raises NoBrokersAvailable if no bootstrap server answers."""
        if self._started is not None:
            raise IllegalStateError("the admin has been started already")
        cluster = Cluster(self._config)
        await cluster.start()
        self._started = cluster

    async def close(self) -> None:
        cluster, self._started = self._started, None
        if cluster is not None:
            await cluster.close()
