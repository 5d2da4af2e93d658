"""Background work keeps to its share, on clocks that the test moves."""

import threading

import pytest

from drumbeat.log.port import CompactionBudget
from drumbeat.log.throttle import SLICE_BYTES, Stopped, Throttle


class Stage:
    """A worker's two clocks, and pauses that pass at once."""

    def __init__(self, **budget) -> None:
        self.wall_s = self.cpu_s = 100.0
        self.pauses: list[float] = []
        self.stop = threading.Event()
        self.stop.wait = self.pause
        self.throttle = Throttle(
            CompactionBudget(**budget),
            self.stop,
            wall_s=lambda: self.wall_s,
            cpu_s=lambda: self.cpu_s,
        )

    def pause(self, seconds):
        self.pauses.append(seconds)
        self.wall_s += seconds

    def work(self, cpu_s, size, waited_s=0.0):
        self.cpu_s += cpu_s
        self.wall_s += cpu_s + waited_s
        self.throttle.spend(size)


# budget; then CPU seconds, bytes and seconds waited of one slice; the pause it earns
CASES = [
    ({}, (0.002, SLICE_BYTES, 0), 0),
    ({"cpu_share": 0.25}, (0.002, SLICE_BYTES, 0), 0.006),
    ({"cpu_share": 0.25}, (0.002, SLICE_BYTES, 0.004), 0.002),
    ({"cpu_share": 0.25}, (0.002, SLICE_BYTES, 0.007), 0),
    ({"bytes_per_second": SLICE_BYTES}, (0.25, SLICE_BYTES, 0), 0.75),
    ({"bytes_per_second": SLICE_BYTES}, (0.25, 4 * SLICE_BYTES, 0), 3.75),
    ({"cpu_share": 0.1, "bytes_per_second": SLICE_BYTES}, (0.25, SLICE_BYTES, 0), 2.25),
    ({"cpu_share": 0.25}, (0.002, SLICE_BYTES - 1, 0), 0),
]


@pytest.mark.parametrize(("budget", "slice_", "pause_s"), CASES)
def test_a_slice_earns_its_pause(budget, slice_, pause_s):
    stage = Stage(**budget)
    cpu_s, size, waited_s = slice_
    stage.work(cpu_s, size, waited_s)
    assert sum(stage.pauses) == pytest.approx(pause_s)


def test_over_time_the_share_is_kept():
    stage = Stage(cpu_share=0.25)
    for number in range(1000):
        stage.work(0.0001 * (number % 40), SLICE_BYTES // 3, waited_s=0.001 * (number % 5))
    assert (stage.cpu_s - 100) / (stage.wall_s - 100) <= 0.251


def test_who_is_told_to_stop_does_so_at_the_end_of_a_slice():
    stage = Stage()
    stage.stop.set()
    stage.work(0.001, SLICE_BYTES - 1)
    with pytest.raises(Stopped):
        stage.work(0.001, 1)


def test_a_pause_ends_when_somebody_wants_it_to_stop():
    stop = threading.Event()
    throttle = Throttle(CompactionBudget(bytes_per_second=1e-3), stop)
    timer = threading.Timer(0.01, stop.set)
    timer.start()
    with pytest.raises(Stopped):
        throttle.spend(SLICE_BYTES)
    timer.join()
