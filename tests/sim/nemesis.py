"""Who makes trouble: on the network, on the disk, to the node, to clients and to topics."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from random import Random

from drumbeat.log.errors import LogError
from sim.cast import Cast
from sim.clients.operator import Operator
from sim.disk import Disk, DiskHabits
from sim.network import Lost, Network
from sim.node import Node
from sim.parameters import Parameters
from sim.pipe import Weather
from sim.virtual_time import VirtualClock
from sim.watch import Verdict

_TOPICS = {"t1": 4, "t2": 3, "t3": 2}
_DOWN_S = (0.1, 6.0)
DAY_MS = 24 * 60 * 60 * 1000


class Nemesis:
    """Bad luck of every kind that the parameters allow, each at its own pace, until `rest`."""

    def __init__(
        self, parameters: Parameters, rng: Random, node: Node, disk: Disk, cast: Cast
    ) -> None:
        assert isinstance(cast.around.clock, VirtualClock)
        self._parameters = parameters
        self._rng = rng
        self._node = node
        self._disk = disk
        self._cast = cast
        self._clock = cast.around.clock
        self._network: Network = cast.around.network
        self._operator = Operator("operator", rng, cast.around, {})
        self._verdict: Verdict = cast.around.verdict
        self._tasks: list[asyncio.Task[None]] = []
        self._restarting = asyncio.Lock()
        self._habits = DiskHabits()
        disk.on_failing = self._on_failing

    async def set_the_scene(self) -> None:
        for name, partition_count in _TOPICS.items():
            await self._operator.ensure(name, partition_count)

    def begin(self) -> None:
        parameters = self._parameters
        self._network.weather = Weather(
            is_long=parameters.slow_network,
            is_chopped=parameters.chopped,
            is_lost=parameters.lost_answers,
            is_id_lost=parameters.lost_ids,
        )
        self._habits = DiskHabits(
            is_slow=parameters.slow_disk,
            is_full=parameters.full_disk,
            is_failing=parameters.failing_disk,
        )
        self._disk.random_faults.habits = self._habits
        plagues: tuple[tuple[float, Callable[[], Awaitable[None] | None]], ...] = (
            (parameters.crash_every_s, self._crash),
            (parameters.stop_every_s, self._stop),
            (parameters.break_every_s, self._break),
            (parameters.block_every_s, self._block),
            (parameters.hang_every_s, self._cast.hang),
            (parameters.churn_every_s, self._cast.churn),
            (parameters.topic_every_s, self._change_topics),
            (parameters.usurp_every_s, self._cast.usurp),
            (parameters.clock_every_s, self._set_clock),
        )
        self._tasks = [
            asyncio.create_task(self._visit(every_s, plague))
            for every_s, plague in plagues
            if every_s
        ]

    async def rest(self) -> None:
        """No more trouble, and what is broken is repaired."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._network.heal()
        self._habits = self._disk.random_faults.habits = DiskHabits()
        self._verdict.note("HEALED")
        async with self._restarting:
            if self._node.is_up:
                await self._take_down(in_order=True)
            await self._bring_up()
        await self.set_the_scene()

    @property
    def failures(self) -> list[BaseException]:
        ended = [task for task in self._tasks if task.done() and not task.cancelled()]
        return [problem for task in ended if (problem := task.exception()) is not None]

    async def _visit(self, every_s: float, plague: Callable[[], Awaitable[None] | None]) -> None:
        while True:
            await asyncio.sleep(self._rng.expovariate(1 / every_s))
            coming = plague()
            if coming is not None:
                await coming

    # -- the node --------------------------------------------------------------------------------

    async def _crash(self) -> None:
        await asyncio.shield(asyncio.create_task(self._restart(in_order=False)))

    async def _stop(self) -> None:
        await asyncio.shield(asyncio.create_task(self._restart(in_order=True)))

    def _on_failing(self) -> None:
        """The disk has failed in a way that takes an operator: the node is restarted."""
        self._verdict.sometimes("sync failed with unknown outcome")
        self._tasks.append(asyncio.create_task(self._restart_later()))

    async def _restart_later(self) -> None:
        await asyncio.sleep(self._rng.uniform(*_DOWN_S))
        await asyncio.shield(asyncio.create_task(self._restart(in_order=True)))

    async def _restart(self, *, in_order: bool) -> None:
        async with self._restarting:
            if self._node.is_up:
                await self._take_down(in_order=in_order)
            await asyncio.sleep(self._rng.uniform(*_DOWN_S))
            await self._bring_up()

    async def _take_down(self, *, in_order: bool) -> None:
        if not in_order:
            if self._rng.random() < 0.7:
                # Disks tend to give a sign. It lets unsynced records gather.
                self._disk.stall()
                await asyncio.sleep(self._rng.uniform(0.05, 1.5))
            self._node.crash()
            self._disk.random_faults.habits = self._habits
            return
        self._verdict.note("STOP")
        with suppress(LogError):  # the last sync may fail like any other
            await self._node.stop()

    async def _bring_up(self) -> None:
        size_max = self._parameters.group_max_size
        if self._parameters.shrinks:
            size_max = self._rng.randint(1, size_max)
        self._node.config = self._node.config._replace(group_max_size=size_max)
        await self._node.start()
        self._verdict.note(f"START with group.max.size={size_max}")

    # -- the network -----------------------------------------------------------------------------

    def _break(self) -> None:
        channels = [channel for channel in self._network.channels if channel.is_open]
        if channels:
            channel = self._rng.choice(channels)
            self._verdict.note(f"BREAK a connection of {channel.client}")
            channel.reset()

    def _block(self) -> None:
        if self._cast.members:
            member = self._rng.choice(self._cast.members)
            seconds = self._rng.uniform(0.5, 12.0)
            self._verdict.note(f"BLOCK {member.name} for {seconds:.1f} s")
            self._network.block(member.name, seconds)

    # -- the clock -------------------------------------------------------------------------------

    def _set_clock(self) -> None:
        """By somebody who does not know what depends on it."""
        self._clock.wall_offset_ms = self._rng.randint(-DAY_MS, DAY_MS)

    # -- topics ----------------------------------------------------------------------------------

    async def _change_topics(self) -> None:
        name = self._rng.choice(sorted(_TOPICS))
        with suppress(Lost):
            if self._operator.around.topics.get(name) is None:
                await self._operator.create(name, _TOPICS[name])
            elif self._rng.random() < 0.5:
                await self._operator.grow(name)
            else:
                await self._operator.delete(name)
