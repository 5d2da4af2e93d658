"""Programs that report what they do in JSON, one event a line, and members of a group among them.

Every member speaks as Kafka's VerifiableConsumer does, whatever language it is written in.
"""

import json
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, Self

END_TIMEOUT_S = 60.0
LOG_TAIL = 3_000

Event = dict[str, Any]
TopicPartition = tuple[str, int]

_numbers = count()


class Program:
    """`with Program(command, folder) as program:` runs it until the block ends."""

    def __init__(
        self, command: Sequence[str], folder: Path, env: Mapping[str, str] | None = None
    ) -> None:
        number = next(_numbers)
        self._command = command
        self._env = {**os.environ, **(env or {})}
        self._stdout = folder / f"{number}.out"
        self._stderr = folder / f"{number}.err"
        self._process: subprocess.Popen[bytes] | None = None
        self._position = 0
        self._events: list[Event] = []

    def __enter__(self) -> Self:
        with self._stdout.open("wb") as stdout, self._stderr.open("wb") as stderr:
            self._process = subprocess.Popen(
                self._command,
                env=self._env,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
            )
        return self

    def __exit__(self, *_exc: object) -> None:
        self.kill()

    @property
    def process(self) -> "subprocess.Popen[bytes]":
        assert self._process is not None, "the program was not started"
        return self._process

    @property
    def events(self) -> list[Event]:
        """What it has reported so far."""
        with self._stdout.open("rb") as stdout:
            stdout.seek(self._position)
            for line in stdout:
                if not line.endswith(b"\n"):
                    break
                self._position += len(line)
                self._events.append(json.loads(line))
        return self._events

    @property
    def log(self) -> str:
        return self._stderr.read_text(errors="replace")

    def named(self, name: str) -> list[Event]:
        return [event for event in self.events if event["name"] == name]

    def kill(self) -> None:
        """SIGKILL: no goodbye to anybody."""
        self.process.kill()
        self.await_end()

    def stop(self) -> None:
        """SIGTERM, which every program takes as a request to end in good order."""
        self.process.send_signal(signal.SIGTERM)
        self.await_end()

    def await_end(self) -> int:
        return self.process.wait(END_TIMEOUT_S)

    def finish(self) -> list[Event]:
        """Wait for its own end, which must be a good one; all that it has reported."""
        code = self.await_end()
        assert code == 0, f"{self._command[0]} ended with code {code}: {self._tail()}"
        return self.events

    def _tail(self) -> str:
        return f"{self.events[-3:]}\n{self.log[-LOG_TAIL:]}"


class Member(Program):
    """A member of a group, seen through what it reports."""

    @property
    def assignment(self) -> set[TopicPartition]:
        assigned: set[TopicPartition] = set()
        for event in self.events:
            if event["name"] == "partitions_assigned":
                assigned |= partitions_in(event)
            elif event["name"] == "partitions_revoked":
                assigned -= partitions_in(event)
        return assigned

    @property
    def revoked(self) -> set[TopicPartition]:
        """Every partition that it had to give up at some time, also if it got it back."""
        return set().union(*map(partitions_in, self.named("partitions_revoked")))

    @property
    def rebalances(self) -> list[Event]:
        names = ("partitions_assigned", "partitions_revoked")
        return [event for event in self.events if event["name"] in names]

    @property
    def consumed(self) -> "Counter[tuple[str, int, int]]":
        """How often it has seen each record, by topic, partition and offset."""
        return Counter(
            (read["topic"], read["partition"], offset)
            for event in self.named("records_consumed")
            for read in event["partitions"]
            for offset in range(read["minOffset"], read["maxOffset"] + 1)
        )

    @property
    def committed(self) -> dict[TopicPartition, int]:
        return {
            (offset["topic"], offset["partition"]): offset["offset"]
            for event in self.named("offsets_committed")
            if event["success"]
            for offset in event["offsets"]
        }


def partitions_in(event: Event) -> set[TopicPartition]:
    return {(part["topic"], part["partition"]) for part in event["partitions"]}


def steps_of(
    command: Sequence[str], folder: Path, env: Mapping[str, str] | None = None
) -> dict[str, Event]:
    """Run a program that reports one event a step, each step under a name of its own."""
    with Program(command, folder, env) as program:
        events = program.finish()
    steps = {event.pop("name"): event for event in events}
    assert len(steps) == len(events), "a step was reported twice"
    return steps
