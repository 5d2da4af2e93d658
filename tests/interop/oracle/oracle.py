"""Both brokers together: plays sequences on them, and keeps count of what was answered."""

import asyncio
import itertools
from collections import Counter
from collections.abc import Coroutine, Iterable, Sequence
from pathlib import Path
from typing import Any

from interop.oracle.brokers import Drumbeat, Kafka
from interop.oracle.campaign import Steps
from interop.oracle.executor import Duel, MismatchError
from interop.oracle.normal import Plain

PLAY_TIMEOUT_S = 120.0


class Oracle:
    def __init__(self, data_dir: Path) -> None:
        self.kafka = Kafka(data_dir / "kafka")
        self.drumbeat = Drumbeat(data_dir / "drumbeat")
        self.versions: set[tuple[str, int]] = set()  # API and version that were compared
        self.errors: Counter[tuple[str, int]] = Counter()  # API and error code
        self._numbers = itertools.count()

    async def start(self) -> None:
        await asyncio.gather(self.kafka.start(), self.drumbeat.start())
        await asyncio.gather(self.kafka.set_up(), self.drumbeat.set_up())

    async def stop(self) -> None:
        await asyncio.gather(self.kafka.stop(), self.drumbeat.stop())

    async def start_again(self) -> None:
        """Start both on what they have on disk."""
        await asyncio.gather(self.kafka.start(), self.drumbeat.start())
        await asyncio.gather(self.kafka.await_loaded(), self.drumbeat.await_loaded())

    def duel(self) -> Duel:
        """For one sequence: nobody else uses its names."""
        return Duel(self.kafka, self.drumbeat, f"s{next(self._numbers)}-", self._note)

    async def play(self, steps: Steps) -> str | None:
        """What was different, if anything."""
        duel = self.duel()
        try:
            return await _problem(duel.play(steps))
        finally:
            duel.close()

    async def play_around_restart(self, sequences: Sequence[Steps]) -> dict[int, str]:
        """Half of each sequence, a restart of both brokers, and the other half."""
        duels = [self.duel() for _ in sequences]
        halves = [(steps[: len(steps) // 2], steps[len(steps) // 2 :]) for steps in sequences]
        firsts = [duel.play(half) for duel, (half, _) in zip(duels, halves, strict=True)]
        before = await asyncio.gather(*map(_problem, firsts))
        await self.stop()
        stopped = await asyncio.gather(*(_problem(duel.collect_last()) for duel in duels))
        await self.start_again()
        for duel in duels:
            duel.reconnect()
        seconds = [duel.play(half) for duel, (_, half) in zip(duels, halves, strict=True)]
        after = await asyncio.gather(*map(_problem, seconds))
        for duel in duels:
            duel.close()
        problems = map(_first, zip(before, stopped, after, strict=True))
        return {place: problem for place, problem in enumerate(problems) if problem is not None}

    def _note(self, api: str, version: int, answer: Plain) -> None:
        self.versions.add((api, version))
        self.errors.update((api, code) for code in set(_error_codes(answer)))


async def _problem(playing: Coroutine[Any, Any, None]) -> str | None:
    try:
        await asyncio.wait_for(playing, PLAY_TIMEOUT_S)
    except MismatchError as problem:
        return str(problem)
    except TimeoutError:
        return f"no end within {PLAY_TIMEOUT_S:g} s"
    return None


def _first(problems: Iterable[str | None]) -> str | None:
    return next((problem for problem in problems if problem is not None), None)


def _error_codes(answer: Plain) -> list[int]:
    if isinstance(answer, dict):
        own = [answer["error_code"]] if "error_code" in answer else []
        return own + [code for value in answer.values() for code in _error_codes(value)]
    if isinstance(answer, list):
        return [code for item in answer for code in _error_codes(item)]
    return []
