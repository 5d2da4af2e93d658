"""What a test does to a node and asks of it, as coroutines on the node's loop.

`Cluster` and `AsyncCluster` are two faces of this class.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from drumbeat.log.port import TopicPartition
from drumbeat.protocol.apis.create_topics import CreatableTopic, CreatableTopicConfig
from drumbeat.runtime.broker import Broker
from drumbeat.runtime.topic_changes import Refusal, plan_topic
from drumbeat.testing import coordinator_faults, views
from drumbeat.testing.coordinator_faults import UnloadedCoordinators
from drumbeat.testing.embedded import EmbeddedNode
from drumbeat.testing.faults import Fault, Strike
from drumbeat.testing.names import api_named
from drumbeat.testing.observed import Event, Group, Member
from drumbeat.testing.options import NewTopic, config_texts
from drumbeat.testing.waits import wait_for_group, wait_for_group_event
from drumbeat.testing.watchers import Recording, Target, Watcher


class Operations:
    def __init__(self, embedded: EmbeddedNode) -> None:
        self._embedded = embedded
        self._unloaded = UnloadedCoordinators()

    def _broker(self) -> Broker:
        return self._embedded.node.broker

    async def start(self) -> None:
        await self._embedded.start()
        await self.create_topics(self._embedded.options.topics)

    async def stop(self) -> None:
        await self._embedded.stop()

    async def restart(self) -> None:
        await self._embedded.restart()
        self._unloaded.forget()

    # -- topics ----------------------------------------------------------------------------------

    async def create_topics(self, topics: Mapping[str, NewTopic]) -> None:
        """Those that are not there yet; a data directory may have them from an earlier start."""
        for name, asked in topics.items():
            if self._broker().topics.get(name) is None:
                await self.create_topic(name, asked)

    async def create_topic(self, name: str, asked: NewTopic) -> None:
        configs = config_texts(asked.config).items()
        topic = CreatableTopic(
            name=name,
            num_partitions=asked.partitions,
            replication_factor=1,
            configs=tuple(CreatableTopicConfig(key, value) for key, value in configs),
        )
        match plan_topic(self._broker(), topic):
            case Refusal(error_code, message):
                raise ValueError(f"topic {name!r}: {error_code.name}: {message}")
            case planned:
                await self._broker().catalog.create(planned)

    async def end_offsets(self, topic: str) -> dict[int, int]:
        return await views.end_offsets_now(self._broker(), topic)

    # -- groups ----------------------------------------------------------------------------------

    async def group(self, group_id: str) -> Group:
        return views.group_now(self._broker(), group_id)

    async def committed(self, group_id: str) -> dict[TopicPartition, int]:
        return views.committed_now(self._broker(), group_id)

    async def lag(self, group_id: str) -> dict[TopicPartition, int]:
        committed = await self.committed(group_id)
        ends = {topic: await self.end_offsets(topic) for topic in {tp.topic for tp in committed}}
        return {tp: ends[tp.topic][tp.partition] - offset for tp, offset in committed.items()}

    async def events(self, group_id: str | None) -> list[Event]:
        every = await views.events_now(self._broker())
        return [event for event in every if group_id in (None, event.group_id)]

    async def wait_for(
        self, group_id: str, state: str | None, members: int | None, timeout_s: float
    ) -> Group:
        return await wait_for_group(self._broker, group_id, state, members, timeout_s)

    async def wait_for_event(
        self, group_id: str, event_type: str, n: int, timeout_s: float
    ) -> Event:
        return await wait_for_group_event(self._broker, group_id, event_type, n, timeout_s)

    # -- faults ----------------------------------------------------------------------------------

    async def expire_member(
        self, group_id: str, member_id: str | None, client_id: str | None
    ) -> Member:
        return coordinator_faults.expire_member(self._broker(), group_id, member_id, client_id)

    async def unload_coordinator(self, group_id: str, answering: str) -> None:
        await self._unloaded.unload(self._broker(), group_id, answering)

    async def reload_coordinator(self, group_id: str) -> None:
        await self._unloaded.reload(self._broker(), group_id)

    async def fast_forward(self, duration: timedelta) -> None:
        ms = round(duration.total_seconds() * 1000)
        if ms < 0:
            raise ValueError(f"{duration}: time does not go back")
        await coordinator_faults.fast_forward(self._broker(), self._embedded.clock, ms)

    async def add_fault(self, api: str, strike: Strike, target: Target, n: int | None) -> Fault:
        fault = Fault(api_named(api), strike, target, n)
        self._embedded.interception.add(fault)
        return fault

    async def record(self, api: str, target: Target) -> Recording:
        recording = Recording(api_named(api), target)
        self._embedded.interception.add(recording)
        return recording

    async def remove(self, watcher: Watcher) -> None:
        self._embedded.interception.remove(watcher)

    async def clear_faults(self) -> None:
        self._embedded.interception.clear()
        await self._unloaded.reload_all(self._broker())
