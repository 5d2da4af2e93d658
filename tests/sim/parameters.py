"""What differs from one history to the next, all of it drawn from the seed.

Each seed turns some faults off altogether: histories that have everything at once hide what a
single fault can do.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from random import Random

from drumbeat.protocol.apis import APIS

OFFSETS_PARTITIONS = 3
RETENTION_MINUTES = 1
SWEEP_INTERVAL_MS = 3_000

_GROUP_APIS = (8, 9, 11, 12, 13, 14, 15, 16, 42, 47)
# What static members need: the first versions with a GroupInstanceId.
STATIC_VERSIONS = {8: 7, 11: 5, 12: 3, 13: 3, 14: 3}


@dataclass(frozen=True, kw_only=True)
class Parameters:
    seed: int
    storm_s: float
    group_max_size: int
    initial_delay_ms: int
    members_per_group: int
    slow_network: float  # shares, as in sim.network.Weather and sim.disk.DiskHabits
    chopped: float
    lost_answers: float
    lost_ids: float
    slow_disk: float
    full_disk: float
    failing_disk: float
    crash_every_s: float  # 0: never; the same below
    stop_every_s: float
    break_every_s: float
    block_every_s: float
    hang_every_s: float
    churn_every_s: float
    topic_every_s: float
    shrinks: bool  # whether restarts may come with a lower group.max.size
    usurp_every_s: float
    clock_every_s: float
    old_clients: bool

    def __str__(self) -> str:
        return " ".join(f"{field.name}={getattr(self, field.name):.4g}" for field in fields(self))


def draw(seed: int) -> Parameters:
    rng = Random(f"parameters {seed}")

    def share(most: float) -> float:
        return rng.choice((0.0, rng.uniform(0.0, most)))

    def every(shortest: float, longest: float) -> float:
        return rng.choice((0.0, rng.uniform(shortest, longest)))

    return Parameters(
        seed=seed,
        storm_s=rng.uniform(80.0, 130.0),
        group_max_size=rng.randint(2, 5),
        initial_delay_ms=rng.choice((0, 500, 3_000)),
        members_per_group=rng.randint(1, 3),
        slow_network=share(0.05),
        chopped=share(0.3),
        lost_answers=share(0.05),
        lost_ids=share(0.4),
        slow_disk=share(0.2),
        full_disk=share(0.03),
        failing_disk=share(0.005),
        crash_every_s=every(10.0, 60.0),
        stop_every_s=every(30.0, 80.0),
        break_every_s=every(1.0, 20.0),
        block_every_s=every(5.0, 30.0),
        hang_every_s=every(3.0, 30.0),
        churn_every_s=rng.uniform(2.0, 20.0),
        topic_every_s=every(10.0, 40.0),
        usurp_every_s=rng.uniform(0.2, 1.0),
        clock_every_s=every(10.0, 40.0),
        shrinks=rng.random() < 0.4,
        old_clients=rng.random() < 0.5,
    )


def draw_versions(rng: Random, *, old: bool, static: bool) -> Mapping[int, int]:
    """The versions of one client: the newest, or any that it can do its work with."""
    if not old:
        return {}
    return {
        key: rng.randint(
            max(APIS[key].versions[0], STATIC_VERSIONS.get(key, 0) if static else 0),
            APIS[key].versions[-1],
        )
        for key in _GROUP_APIS
    }
