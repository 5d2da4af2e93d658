"""Our consumer in processes that die, stand still, take too long, or are cut off.

A second process takes over each time. No record is lost, and none that a member has committed is
given to anybody who asks for records after that.
"""

import signal

import pytest

from groups.cut_network import cut_network
from groups.workers import Work, Worker, work_on

pytestmark = pytest.mark.clients

PARTITIONS = 4
HALF = PARTITIONS // 2
SHORT, LONG = 1_000, 20_000  # ms
ASSIGNORS = pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])


def options(assignor: str, session_ms: int = SHORT, max_poll_ms: int = LONG) -> dict:
    return {
        "partition.assignment.strategy": assignor,
        "session.timeout.ms": session_ms,
        "max.poll.interval.ms": max_poll_ms,
    }


def share(work: Work, victim: Worker, heir: Worker) -> None:
    work.until_owned(victim, HALF, HALF)
    work.until_owned(heir, HALF, HALF)
    work.until_reading(victim, heir)


def come_back(work: Work, victim: Worker, heir: Worker) -> None:
    share(work, victim, heir)
    work.finish()
    assert [worker.end(signal.SIGTERM) for worker in (victim, heir)] == [0, 0]


def hear_of_it(work: Work, victim: Worker) -> None:
    work.until(lambda: victim.told("lost"), "it is told that others have its partitions")


@ASSIGNORS
def test_killed(servers, assignor):
    with work_on(servers, PARTITIONS) as work:
        victim, heir = (work.start(options=options(assignor)) for _ in range(2))
        share(work, victim, heir)
        victim.end(signal.SIGKILL)
        work.until_overtaken(heir)
        work.finish()


@ASSIGNORS
def test_stopped_for_longer_than_its_session(servers, assignor):
    """What it finds in its buffer when it wakes is others' by then."""
    with work_on(servers, PARTITIONS) as work:
        victim = work.start(options=options(assignor), busy_before="poll", busy_s=0.5)
        heir = work.start(options=options(assignor))
        share(work, victim, heir)
        work.until_buffered(victim)
        victim.signal(signal.SIGSTOP)
        work.until_overtaken(heir)
        victim.signal(signal.SIGCONT)
        hear_of_it(work, victim)
        come_back(work, victim, heir)


@ASSIGNORS
def test_cut_off(tmp_path, assignor):
    """Nobody can tell it that its session is over: it must know."""
    with (
        cut_network(tmp_path, {"group.min.session.timeout.ms": "100"}) as network,
        work_on(network.direct, PARTITIONS) as work,
    ):
        behind = {"servers": network.servers, "options": options(assignor)}
        victim = work.start(**behind, busy_before="poll", busy_s=2.5)
        heir = work.start(**behind)
        share(work, victim, heir)
        work.until_buffered(victim)
        network.cut("worker-0")
        work.until_overtaken(heir)
        work.until_idle(victim.busy_for_s)  # then it polls again, and reaches nobody
        network.heal("worker-0")
        hear_of_it(work, victim)
        come_back(work, victim, heir)


@pytest.mark.parametrize("reading", ["poll", "iterate"])
@ASSIGNORS
def test_too_long_between_two_polls(servers, assignor, reading):
    """It is alive, and its heartbeats go on: it leaves by itself, and may not commit."""
    with work_on(servers, PARTITIONS) as work:
        busy = {"busy_before": "commit", "busy_s": 2.0, "reading": reading}
        victim = work.start(options=options(assignor, LONG, SHORT), **busy)
        heir = work.start(options=options(assignor))
        share(work, victim, heir)
        work.until_buffered(victim)
        work.until_overtaken(heir)
        work.until(
            lambda: any("max_poll_interval_ms" in why for why in victim.told("refused")),
            "its commit is refused, and it is told what to do about that",
        )
        hear_of_it(work, victim)
        come_back(work, victim, heir)


@ASSIGNORS
def test_stopped_for_longer_than_its_poll_interval(servers, assignor):
    """Its session goes on. Whether it polls or gives up first when it wakes is chance."""
    with work_on(servers, PARTITIONS) as work:
        victim = work.start(options=options(assignor, LONG, SHORT))
        heir = work.start(options=options(assignor))
        share(work, victim, heir)
        victim.signal(signal.SIGSTOP)
        work.until_idle(SHORT * 1.5 / 1000)
        victim.signal(signal.SIGCONT)
        come_back(work, victim, heir)
