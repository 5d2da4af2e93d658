"""Where the checkers stand: at the node's door, behind each step of a shard, and at the log.

A checker overrides what it wants to see. It must not change anything, and it reports what is
wrong to the Verdict; the simulation ends at the first report.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from drumbeat.core.events import GroupEvent
from drumbeat.core.outcome import Context, Outcome
from drumbeat.core.records import Record as Fact
from drumbeat.core.state import State
from drumbeat.log.port import TopicPartition
from drumbeat.protocol.header import read_response_header
from drumbeat.runtime.clock import Clock
from drumbeat.runtime.coordinator.shard import Environment, Shard
from drumbeat.runtime.partition import Partition
from drumbeat.runtime.topics import CONSUMER_OFFSETS
from sim.disk import Disk, unsynced_batches
from sim.history import History, Operation
from sim.ledger import Entry, Ledger, read_entry

Job = Callable[..., Iterable[Outcome]]


class Verdict:
    """The first law that was broken, what was seen on the way, and what happened when."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._start_ms = clock.monotonic_ms()
        self.violation: str | None = None
        self.on_violation: Callable[[], None] = lambda: None
        self.seen: Counter[str] = Counter()
        self.trace: list[str] = []

    def violate(self, law: str, what: str) -> None:
        if self.violation is None:
            self.violation = f"{law}: {what}"
            self.note(f"VIOLATION {self.violation}")
            self.on_violation()

    def sometimes(self, what: str) -> None:
        """Something worth testing has happened."""
        self.seen[what] += 1

    def note(self, what: str) -> None:
        at_ms = self._clock.monotonic_ms() - self._start_ms
        self.trace.append(f"{at_ms / 1000:9.3f} {what}")


class Checker:
    """Sees everything, says nothing."""

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict

    def loaded(self, shard: Shard, ledger: Ledger) -> None:
        """A shard begins to serve; the ledger holds what the disk had."""

    def appending(self, shard: Shard, ledger: Ledger, facts: tuple[Fact, ...], at_ms: int) -> None:
        """A decision's records are about to be appended."""

    def appended(self, shard: Shard, ledger: Ledger, entry: Entry) -> None:
        """They have been, and are applied."""

    def stepped(self, shard: Shard, ledger: Ledger) -> None:
        """A decision has been carried out."""

    def working(self, shard: Shard, ledger: Ledger, job: Job) -> None:
        """A periodic job begins."""

    def arrived(self, operation: Operation) -> None:
        """A request is at the door."""

    def answered(self, operation: Operation) -> None:
        """Its answer leaves."""

    def told(self, event: GroupEvent) -> None:
        """A group event."""

    def crashed(self) -> None:
        """The node is gone, before anything else is."""


class Watch:
    """Hands what happens to each checker. Also a sim.node.NodeWatcher."""

    def __init__(self, verdict: Verdict, history: History, disk: Disk, clock: Clock) -> None:
        self.verdict = verdict
        self.history = history
        self._disk = disk
        self._clock = clock
        self.checkers: list[Checker] = []
        self.ledgers: dict[int, Ledger] = {}
        self._whole: set[int] = set()  # partitions that were left in order
        self._failed: set[int] = set()  # ... whose log has failed since they were loaded
        self._life = 0  # which of the node's lives it is; the dead are not listened to

    # -- the door --------------------------------------------------------------------------------

    def arrived(self, operation: Operation) -> None:
        operation.arrived = self.history.now()
        operation.arrived_ms = self._clock.steady_ms()
        for checker in self.checkers:
            checker.arrived(operation)

    def answered(self, operation: Operation, answer: bytes) -> None:
        api, version = operation.api, operation.version
        correlation_id, position = read_response_header(
            answer, api.response_header_version(version)
        )
        if correlation_id != operation.correlation_id:
            self.verdict.violate("S17", f"{operation}: answered out of order")
        operation.response = api.decode_response(version)(answer, position)
        operation.answered = self.history.now()
        operation.answered_ms = self._clock.steady_ms()
        self.verdict.note(f"{operation} -> {summary(operation.response)}")
        for checker in self.checkers:
            checker.answered(operation)

    def crashed(self, unsynced: int, survived: int) -> None:
        self._life += 1
        self.verdict.note(f"CRASH {unsynced} batches not synced, {survived} of them survive")
        if unsynced:
            self.verdict.sometimes("crash with unsynced records")
        if 0 < survived < unsynced:
            self.verdict.sometimes("crash kept a part of what was not synced")
        for checker in self.checkers:
            checker.crashed()

    def stopped(self, served: list[int]) -> None:
        self._whole.update(served)

    # -- shards ----------------------------------------------------------------------------------

    @property
    def life(self) -> int:
        return self._life

    def loaded(self, shard: Shard, durable: State) -> None:
        entries = self.on_disk(shard.index)
        ledger = self.ledgers.setdefault(shard.index, Ledger())
        if entries != ledger.entries[: len(entries)]:
            self.verdict.violate("S12", f"{shard}: not the batches that were appended, in order")
        if shard.index in self._whole - self._failed and len(entries) < len(ledger.entries):
            self.verdict.violate("S10", f"{shard}: a node that stopped in order lost records")
        self._whole.discard(shard.index)
        self._failed.discard(shard.index)
        self.verdict.note(
            f"LOADED {shard} epoch {shard.partition.log.epoch}: {len(entries)} of "
            f"{len(ledger.entries)} batches"
        )
        ledger.restart(entries)
        if durable != ledger.state:
            self.verdict.violate("S11", f"{shard}: loaded {durable}, the log says {ledger.state}")
        for checker in self.checkers:
            checker.loaded(shard, ledger)

    def on_disk(self, index: int) -> list[Entry]:
        return [read_entry(b) for b in self._disk.batches(TopicPartition(CONSUMER_OFFSETS, index))]

    def appending(self, shard: Shard, facts: tuple[Fact, ...], at_ms: int) -> None:
        for checker in self.checkers:
            checker.appending(shard, self.ledgers[shard.index], facts, at_ms)

    def appended(self, shard: Shard) -> None:
        ledger = self.ledgers[shard.index]
        entry = read_entry(unsynced_batches(shard.partition.log)[-1])
        ledger.append(entry)
        for checker in self.checkers:
            checker.appended(shard, ledger, entry)

    def failed(self, shard: Shard) -> None:
        self._failed.add(shard.index)

    def stepped(self, shard: Shard) -> None:
        for checker in self.checkers:
            checker.stepped(shard, self.ledgers[shard.index])

    def working(self, shard: Shard, job: Job) -> None:
        for checker in self.checkers:
            checker.working(shard, self.ledgers[shard.index], job)

    def told(self, events: Iterable[GroupEvent]) -> None:
        for event in events:
            self.verdict.note(f"EVENT {event.type} {event.group_id} {dict(event.fields)}")
            for checker in self.checkers:
                checker.told(event)


class WatchedShard(Shard):
    """The real shard, with somebody looking over its shoulder while its node lives."""

    def __init__(
        self, index: int, partition: Partition, environment: Environment, watch: Watch
    ) -> None:
        tell = environment.tell

        def tell_both(events: Iterable[GroupEvent]) -> None:
            events = tuple(events)
            if self._is_watched:
                watch.told(events)
            tell(events)

        super().__init__(index, partition, environment._replace(tell=tell_both))
        self._watch = watch
        self._life = watch.life

    @property
    def _is_watched(self) -> bool:
        return self._watch.life == self._life

    def activate(self, durable: State) -> None:
        if self._is_watched:
            self._watch.loaded(self, durable)
        super().activate(durable)

    def run(self, job: Job, *arguments: Any) -> Iterable[None]:
        if self._is_watched:
            self._watch.working(self, job)
        return super().run(job, *arguments)

    def _carry_out(self, context: Context, outcome: Outcome) -> None:
        super()._carry_out(context, outcome)
        if self._is_watched:
            self._watch.stepped(self)

    def _fail(self, problem: Exception) -> None:
        if self._is_watched:
            self._watch.failed(self)
        super()._fail(problem)

    def _append(self, context: Context, facts: tuple[Fact, ...]) -> bool:
        if not self._is_watched:
            return super()._append(context, facts)
        self._watch.appending(self, facts, context.now_ms)
        is_appended = super()._append(context, facts)
        if is_appended:
            self._watch.appended(self)
        return is_appended


def summary(response: Any) -> str:
    """A response in one line, without what is empty and without blobs."""
    if isinstance(response, tuple) and hasattr(response, "_asdict"):
        fields = {name: summary(value) for name, value in response._asdict().items()}
        inner = ", ".join(f"{k}={v}" for k, v in fields.items() if v not in _EMPTY)
        return f"({inner})"
    if isinstance(response, tuple):
        return "[" + ", ".join(map(summary, response)) + "]"
    if isinstance(response, bytes):
        return f"<{len(response)} bytes>" if response else ""
    return str(response)


_EMPTY = frozenset({"", "0", "None", "[]", "()", "False"})
