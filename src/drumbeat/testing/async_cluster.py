"""`Cluster` for coroutines.

The node has its own thread here too. On the caller's loop it would stand still whenever a test
blocks that loop, and a client that blocks (confluent-kafka's) would wait for ever.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, Self, TypeVar

from drumbeat.log.port import TopicPartition
from drumbeat.protocol.errors import ErrorCode
from drumbeat.testing.cluster import Cluster, unique_name
from drumbeat.testing.faults import Fault
from drumbeat.testing.observed import Event, Group, Member
from drumbeat.testing.options import ConfigValue, NewTopic, Topics
from drumbeat.testing.watchers import WAIT_TIMEOUT_S, Recording

T = TypeVar("T")


class AsyncCluster:
    """`async with AsyncCluster() as cluster:`; each method is what it is in `Cluster`.

    `cluster` is one that runs already, to be stopped by whoever started it.
    """

    def __init__(
        self,
        config: Mapping[str, ConfigValue] | None = None,
        *,
        topics: Topics = (),
        data: str | os.PathLike[str] | None = None,
        port: int = 0,
        auto_create_topics: bool | None = None,
        cluster: Cluster | None = None,
    ) -> None:
        self._cluster = cluster or Cluster(
            config, topics=topics, data=data, port=port, auto_create_topics=auto_create_topics
        )

    @property
    def cluster(self) -> Cluster:
        """The same one for plain code."""
        return self._cluster

    # -- life ------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.stop()

    async def start(self) -> None:
        await asyncio.to_thread(self._cluster.start)

    async def stop(self) -> None:
        await asyncio.to_thread(self._cluster.stop)

    async def restart(self) -> None:
        await self._run(self._cluster.operations.restart())

    async def pause(self) -> None:
        await asyncio.to_thread(self._cluster.pause)

    async def resume(self) -> None:
        self._cluster.resume()

    @property
    def bootstrap_servers(self) -> str:
        return self._cluster.bootstrap_servers

    # -- topics ----------------------------------------------------------------------------------

    async def create_topic(
        self, name: str, partitions: int = 1, *, config: Mapping[str, ConfigValue] | None = None
    ) -> None:
        asked = NewTopic(partitions, config or {})
        await self._run(self._cluster.operations.create_topic(name, asked))

    async def new_topic(
        self, prefix: str, partitions: int = 1, *, config: Mapping[str, ConfigValue] | None = None
    ) -> str:
        name = unique_name(prefix)
        await self.create_topic(name, partitions, config=config)
        return name

    def new_group(self, prefix: str) -> str:
        return unique_name(prefix)

    async def end_offsets(self, topic: str) -> dict[int, int]:
        return await self._run(self._cluster.operations.end_offsets(topic))

    # -- groups ----------------------------------------------------------------------------------

    async def group(self, group_id: str) -> Group:
        return await self._run(self._cluster.operations.group(group_id))

    async def committed(self, group_id: str) -> dict[TopicPartition, int]:
        return await self._run(self._cluster.operations.committed(group_id))

    async def lag(self, group_id: str) -> dict[TopicPartition, int]:
        return await self._run(self._cluster.operations.lag(group_id))

    async def events(self, group_id: str | None = None) -> list[Event]:
        return await self._run(self._cluster.operations.events(group_id))

    async def wait_for(
        self,
        group_id: str,
        state: str | None = None,
        members: int | None = None,
        *,
        timeout: float = WAIT_TIMEOUT_S,  # noqa: ASYNC109 - as in Cluster; what was seen is told
    ) -> Group:
        waiting = self._cluster.operations.wait_for(group_id, state, members, timeout)
        return await self._run(waiting)

    async def wait_for_event(
        self,
        group_id: str,
        event_type: str,
        *,
        n: int = 1,
        timeout: float = WAIT_TIMEOUT_S,  # noqa: ASYNC109 - as in Cluster; what was seen is told
    ) -> Event:
        waiting = self._cluster.operations.wait_for_event(group_id, event_type, n, timeout)
        return await self._run(waiting)

    # -- faults ----------------------------------------------------------------------------------
    # Setting one takes no time, so these are the same plain calls as in Cluster.

    def fail_next(
        self,
        api: str,
        error: str | ErrorCode,
        n: int | None = 1,
        *,
        client_id: str | None = None,
        group: str | None = None,
    ) -> Fault:
        return self._cluster.fail_next(api, error, n, client_id=client_id, group=group)

    def drop_next(
        self,
        api: str,
        n: int | None = 1,
        *,
        client_id: str | None = None,
        group: str | None = None,
        processed: bool = False,
        silent: bool = False,
    ) -> Fault:
        return self._cluster.drop_next(
            api, n, client_id=client_id, group=group, processed=processed, silent=silent
        )

    def delay_next(
        self,
        api: str,
        delay: float | timedelta,
        n: int | None = 1,
        *,
        client_id: str | None = None,
        group: str | None = None,
    ) -> Fault:
        return self._cluster.delay_next(api, delay, n, client_id=client_id, group=group)

    def record(
        self, api: str, *, client_id: str | None = None, group: str | None = None
    ) -> Recording:
        return self._cluster.record(api, client_id=client_id, group=group)

    def clear_faults(self) -> None:
        self._cluster.clear_faults()

    async def expire_member(
        self, group_id: str, *, member_id: str | None = None, client_id: str | None = None
    ) -> Member:
        expiry = self._cluster.operations.expire_member(group_id, member_id, client_id)
        return await self._run(expiry)

    @asynccontextmanager
    async def coordinator_unloaded(
        self, group_id: str, *, answering: str = "NOT_COORDINATOR"
    ) -> AsyncIterator[None]:
        await self.unload_coordinator(group_id, answering=answering)
        try:
            yield
        finally:
            await self.reload_coordinator(group_id)

    async def unload_coordinator(
        self, group_id: str, *, answering: str = "NOT_COORDINATOR"
    ) -> None:
        await self._run(self._cluster.operations.unload_coordinator(group_id, answering))

    async def reload_coordinator(self, group_id: str) -> None:
        await self._run(self._cluster.operations.reload_coordinator(group_id))

    async def fast_forward(self, duration: timedelta) -> None:
        await self._run(self._cluster.operations.fast_forward(duration))

    async def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return await asyncio.wrap_future(self._cluster.submit(work))
