"""What was measured: every value of every system, in the order of the questions."""

from __future__ import annotations

from statistics import median
from typing import Any, NamedTuple

PER_CPU_S, PER_S = "per CPU-s", "per s"
MB_PER_CPU_S, MB_PER_S = "MB per CPU-s", "MB/s"
SECONDS, CPU_SECONDS, MILLISECONDS = "s", "CPU-s", "ms"
MEGABYTES, BYTES_EACH = "MB", "bytes each"
MORE_IS_BETTER = frozenset({PER_CPU_S, PER_S, MB_PER_CPU_S, MB_PER_S})

COLD, WARM, MEMORY, RESTART = PHASES = ("cold", "warm", "memory", "restart")


class Key(NamedTuple):
    phase: str
    question: str
    unit: str


class Spread(NamedTuple):
    median: float
    low: float
    high: float


class Results:
    def __init__(self) -> None:
        self._values: dict[Key, dict[str, list[float]]] = {}
        self.noise: list[float] = []  # cores that others used, by measurement

    def add(self, key: Key, system: str, value: float) -> None:
        self._values.setdefault(key, {}).setdefault(system, []).append(value)

    @property
    def keys(self) -> list[Key]:
        """Phase by phase, and as they were measured within each."""
        return sorted(self._values, key=lambda key: PHASES.index(key.phase))

    @property
    def systems(self) -> list[str]:
        return list(
            dict.fromkeys(name for by_system in self._values.values() for name in by_system)
        )

    def spread(self, key: Key, system: str) -> Spread | None:
        values = self._values.get(key, {}).get(system)
        return Spread(median(values), min(values), max(values)) if values else None

    def ratio(self, key: Key, system: str, other: str) -> float | None:
        mine, theirs = self.spread(key, system), self.spread(key, other)
        if mine is None or theirs is None or not theirs.median:
            return None
        return mine.median / theirs.median

    def as_json(self) -> list[dict[str, Any]]:
        return [
            key._asdict() | {"system": system, "values": values}
            for key, by_system in self._values.items()
            for system, values in by_system.items()
        ]

    @classmethod
    def from_json(cls, rows: list[dict[str, Any]]) -> Results:
        results = cls()
        for row in rows:
            for value in row["values"]:
                key = Key(row["phase"], row["question"], row["unit"])
                results.add(key, row["system"], value)
        return results
