"""One history from one seed: a storm, then calm, with every law checked on the way."""

import asyncio
import gc
import logging
from dataclasses import dataclass
from random import Random
from typing import Any

from drumbeat.runtime.config import BrokerConfig, load_config
from drumbeat.runtime.coordinator.shard import Environment
from drumbeat.runtime.partition import Partition
from sim.calm import Calm
from sim.cast import Cast
from sim.checkers.durability import Attempts, DurabilityChecker
from sim.checkers.expiry import ExpiryChecker
from sim.checkers.generations import GenerationChecker
from sim.checkers.membership import SessionChecker, StaticMemberChecker
from sim.checkers.registers import RegisterChecker
from sim.checkers.replay import EpochChecker, ParkingChecker, ReplayChecker
from sim.checkers.sightings import Sightings
from sim.clients.client import Surroundings
from sim.disk import Disk
from sim.history import History
from sim.nemesis import Nemesis
from sim.network import Network
from sim.node import Machine, Node, task_factory
from sim.parameters import (
    OFFSETS_PARTITIONS,
    RETENTION_MINUTES,
    SWEEP_INTERVAL_MS,
    Parameters,
    draw,
)
from sim.picture import picture
from sim.topics import TopicDirectory
from sim.virtual_time import VirtualClock, VirtualLoop
from sim.watch import Verdict, Watch, WatchedShard

TRACE_LINES = 60


@dataclass(frozen=True)
class Result:
    parameters: Parameters
    verdict: Verdict
    groups: str  # as they were when it ended

    @property
    def is_good(self) -> bool:
        return self.verdict.violation is None

    def report(self, lines: int = TRACE_LINES) -> str:
        """What a person needs who has to find out why."""
        tail = "\n".join(self.verdict.trace[-lines:])
        return (
            f"seed {self.parameters.seed}: {self.verdict.violation}\n"
            f"{self.parameters}\n... the last {lines} steps:\n{tail}\n"
            f"groups at the end:\n{self.groups}\n"
            f"again: make sim SEED={self.parameters.seed}"
        )


def simulate(seed: int, shard_type: type[WatchedShard] = WatchedShard) -> Result:
    parameters = draw(seed)
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        result = runner.run(_run(parameters, shard_type))
        gc.collect()  # a task that failed and that nobody looked at speaks up now
    return result


async def _run(parameters: Parameters, shard_type: type[WatchedShard]) -> Result:
    world = World(parameters, shard_type)
    with _Complaints(world.verdict):
        await world.run()
    return Result(parameters, world.verdict, world.groups)


class World:
    def __init__(self, parameters: Parameters, shard_type: type[WatchedShard]) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        self._loop = loop
        self._parameters = parameters
        self._shard_type = shard_type
        self._clock = VirtualClock(loop)
        self._history = History()
        self.groups = ""
        self.verdict = Verdict(self._clock)
        disk = Disk(self._rng("disk"))
        self._watch = Watch(self.verdict, self._history, disk, self._clock)
        self._ids = self._rng("ids")
        machine = Machine(
            disk=disk,
            clock=self._clock,
            config=_config(parameters),
            new_shard=self._new_shard,
            watcher=self._watch,
        )
        self._node = Node(machine)
        around = Surroundings(
            network=Network(self._rng("network"), loop),
            node=self._node,
            history=self._history,
            topics=TopicDirectory(disk.topics),
            clock=self._clock,
            verdict=self.verdict,
        )
        self._cast = Cast(around, self._rng("cast"), parameters)
        self._nemesis = Nemesis(parameters, self._rng("nemesis"), self._node, disk, self._cast)
        self._registers = RegisterChecker(self.verdict, self._history, around.topics)
        self._watch.checkers = self._checkers(around)
        io_rng = self._rng("io")
        loop.io_delay_s = lambda: io_rng.uniform(0.0001, 0.3)
        loop.set_task_factory(task_factory)

    def _rng(self, purpose: str) -> Random:
        return Random(f"{self._parameters.seed} {purpose}")

    def _checkers(self, around: Surroundings) -> list[Any]:
        verdict, attempts = self.verdict, Attempts()
        return [
            ReplayChecker(verdict, self._rng("compaction")),
            ParkingChecker(verdict),
            EpochChecker(verdict),
            DurabilityChecker(verdict, around.topics, attempts, OFFSETS_PARTITIONS),
            GenerationChecker(verdict, attempts, self._node),
            SessionChecker(verdict),
            StaticMemberChecker(verdict),
            ExpiryChecker(verdict, around.topics, RETENTION_MINUTES * 60_000),
            self._registers,
            Sightings(verdict),
        ]

    def _new_shard(
        self, index: int, partition: Partition, environment: Environment
    ) -> WatchedShard:
        environment = environment._replace(new_id=self._new_id)
        return self._shard_type(index, partition, environment, self._watch)

    def _new_id(self) -> str:
        return f"{self._ids.getrandbits(48):012x}"

    async def run(self) -> None:
        """Until all is done, or the first law is broken."""
        broken = asyncio.Event()
        self.verdict.on_violation = broken.set
        tasks = [asyncio.create_task(self._live()), asyncio.create_task(broken.wait())]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        [problem, _] = await asyncio.gather(*tasks, return_exceptions=True)
        if isinstance(problem, Exception):
            self.verdict.violate("simulation", repr(problem))
        await self._cast.close()
        self.groups = "\n".join(map(picture, self._node.shards))
        if self._node.is_up:
            self._node.crash()
        if self.verdict.violation is None:
            self._registers.check(self._watch.ledgers)

    async def _live(self) -> None:
        await self._node.start()
        await self._nemesis.set_the_scene()
        self._cast.enter_all()
        self._nemesis.begin()
        await asyncio.sleep(self._parameters.storm_s)
        await self._nemesis.rest()
        for problem in (*self._nemesis.failures, *self._cast.failures):
            self.verdict.violate("simulation", repr(problem))
        await Calm(self._cast, self._node).check()


class _Complaints(logging.Handler):
    """An exception that the node swallowed, or the loop did, is a bug like any other."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(logging.WARNING)
        self._verdict = verdict

    def __enter__(self) -> "_Complaints":
        self._logger = logging.getLogger("drumbeat")
        self._logger.propagate = False
        self._logger.addHandler(self)
        asyncio.get_running_loop().set_exception_handler(self._on_loop_error)
        return self

    def __exit__(self, *_exc: object) -> None:
        self._logger.removeHandler(self)
        self._logger.propagate = True

    def emit(self, record: logging.LogRecord) -> None:
        self._verdict.note(f"LOG {record.getMessage()}")
        if record.exc_info:
            self._verdict.violate("exception", f"{record.getMessage()}: {record.exc_info[1]!r}")

    def _on_loop_error(self, _loop: Any, context: dict[str, Any]) -> None:
        problem = context.get("exception")
        self._verdict.violate("exception", f"{context['message']}: {problem!r}")


def _config(parameters: Parameters) -> BrokerConfig:
    settings = {
        "offsets.topic.num.partitions": OFFSETS_PARTITIONS,
        "offsets.retention.minutes": RETENTION_MINUTES,
        "offsets.retention.check.interval.ms": SWEEP_INTERVAL_MS,
        "group.min.session.timeout.ms": 1_000,
        "group.initial.rebalance.delay.ms": parameters.initial_delay_ms,
        "group.max.size": parameters.group_max_size,
    }
    return load_config(None, [f"{key}={value}" for key, value in settings.items()]).config
