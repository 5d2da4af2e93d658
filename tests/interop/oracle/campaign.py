"""Many sequences at a time, and one at a time where they fail.

Hypothesis runs its examples one after the other; two brokers can take dozens. So every sequence
is drawn by a seed of its own, all are played together, and those that fail are drawn again by the
same seed, for Hypothesis to shrink: only what it tries then is played alone.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from interop.oracle.vocabulary import Step

Steps = tuple[Step, ...]
Play = Callable[[Steps], Awaitable[str | None]]  # what was different, if anything

IN_FLIGHT = 24
SHRINK_S = 60.0  # then the smallest sequence so far has to do
EXAMPLES = 2  # Hypothesis begins with the plainest example, which here is no step at all


def draw(strategy: st.SearchStrategy[Steps], seed: int) -> Steps:
    """The sequence that belongs to the seed."""
    drawn: list[Steps] = []
    _examine(strategy, seed, drawn.append, Phase.generate)
    return drawn[-1]


def shrink(
    strategy: st.SearchStrategy[Steps], seed: int, verdict: Callable[[Steps], str | None]
) -> str:
    """The smallest sequence found that is as bad as that of the seed, and what is bad about it."""
    verdicts: dict[Steps, str | None] = {}
    smallest: list[Steps] = []
    deadline = time.monotonic() + SHRINK_S

    def check(steps: Steps) -> None:
        if steps not in verdicts:
            is_late = bool(smallest) and time.monotonic() > deadline
            verdicts[steps] = None if is_late else verdict(steps)
        if verdicts[steps] is not None:
            smallest[:] = [steps]
            raise AssertionError

    try:
        _examine(strategy, seed, check, Phase.generate, Phase.shrink)
    except AssertionError:
        return f"{literal(smallest[0])}\n{verdicts[smallest[0]]}"
    return "it did not happen again"


def _examine(
    strategy: st.SearchStrategy[Steps], seed: int, check: Callable[[Steps], None], *phases: Phase
) -> None:
    @seeded(seed)
    @settings(
        max_examples=EXAMPLES,
        phases=phases,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def example(steps: Steps) -> None:
        check(steps)

    example()


async def play_together(sequences: Mapping[int, Steps], play: Play) -> dict[int, str]:
    """The seeds of those that went wrong, and what was wrong."""
    turns = asyncio.Semaphore(IN_FLIGHT)
    wrong: dict[int, str] = {}

    async def take_turn(seed: int, steps: Steps) -> None:
        async with turns:
            if (problem := await play(steps)) is not None:
                wrong[seed] = problem

    await asyncio.gather(*(take_turn(*item) for item in sequences.items()))
    return wrong


def literal(steps: Steps) -> str:
    """The sequence as it would be written in regressions.py."""
    return "(\n" + "".join(f"    {step!r},\n" for step in steps) + ")"
