"""Apache Kafka and Drumbeat are asked the same, and have to answer the same.

ORACLE_SEQUENCES says how many generated sequences are played (1,000), ORACLE_SEED which ones (0;
"random" draws it). A failure prints the smallest sequence found, ready for regressions.py.
"""

import asyncio
import os
import random
from collections.abc import Iterator

import pytest

from interop.kafka_jars import jars
from interop.oracle.campaign import Steps, draw, play_together, shrink
from interop.oracle.group_language import GROUPS
from interop.oracle.oracle import Oracle
from interop.oracle.regressions import REGRESSIONS
from interop.oracle.strategies import Language, sequences
from interop.oracle.timed_language import TIMED
from interop.oracle.topic_language import ADMIN, DATA

pytestmark = [pytest.mark.interop, pytest.mark.timeout(1800)]

SEQUENCES = int(os.environ.get("ORACLE_SEQUENCES") or 1000)
SEED = os.environ.get("ORACLE_SEED") or "0"
FIRST_SEED = random.randrange(2**32) if SEED == "random" else int(SEED)

# What the sequences are about, and their share of all.
LANGUAGES = {"groups": (GROUPS, 0.65), "data": (DATA, 0.25), "admin": (ADMIN, 0.10)}
TIMED_SEQUENCES = max(1, SEQUENCES // 25)
RESTARTED_SEQUENCES = max(1, SEQUENCES // 25)
SHRUNK_MAX = 3  # failures that are shrunk
# What does not happen again when it is played alone was the machine's doing, if it is rare.
UNCONFIRMED_MAX = 0.01
UNCONFIRMED_TIMED_MAX = 0.25


class Session:
    """The oracle, on a loop that outlives the single test."""

    def __init__(self, runner: asyncio.Runner, oracle: Oracle) -> None:
        self.runner = runner
        self.oracle = oracle

    def play(self, steps: Steps) -> str | None:
        return self.runner.run(self.oracle.play(steps))

    def check(self, language: Language, count: int, unconfirmed_max: float) -> None:
        """Play `count` sequences; what differs is shrunk and fails the test."""
        strategy = sequences(language)
        drawn = {seed: draw(strategy, seed) for seed in range(FIRST_SEED, FIRST_SEED + count)}
        assert len(set(drawn.values())) > 0.99 * count, "the sequences repeat themselves"
        wrong = self.runner.run(play_together(drawn, self.oracle.play))
        confirmed = {seed: again for seed in wrong if (again := self.play(drawn[seed])) is not None}
        print(f"{count} sequences from seed {FIRST_SEED}, {sum(map(len, drawn.values()))} steps")
        if confirmed:
            smallest = [shrink(strategy, seed, self.play) for seed in list(confirmed)[:SHRUNK_MAX]]
            pytest.fail(
                f"{len(confirmed)} sequences differ: {list(confirmed)}\n" + "\n".join(smallest)
            )
        unconfirmed = {seed: problem for seed, problem in wrong.items() if seed not in confirmed}
        assert len(unconfirmed) <= max(1, unconfirmed_max * count), unconfirmed


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    jars()
    oracle = Oracle(tmp_path_factory.mktemp("oracle"))
    with asyncio.Runner() as runner:
        try:
            runner.run(oracle.start())
            yield Session(runner, oracle)
        finally:
            runner.run(oracle.stop())


@pytest.mark.parametrize("name", REGRESSIONS)
def test_what_once_differed_does_not_any_more(session: Session, name: str):
    problem = session.play(REGRESSIONS[name])
    assert problem is None, problem


@pytest.mark.parametrize("subject", LANGUAGES)
def test_generated_sequences_get_the_same_answers(session: Session, subject: str):
    language, share = LANGUAGES[subject]
    session.check(language, max(1, round(share * SEQUENCES)), UNCONFIRMED_MAX)


def test_what_expires_expires_on_both(session: Session):
    session.check(TIMED, TIMED_SEQUENCES, UNCONFIRMED_TIMED_MAX)


def test_what_was_answered_before_a_restart_is_remembered(session: Session):
    strategy = sequences(GROUPS)
    seeds = range(FIRST_SEED, FIRST_SEED + RESTARTED_SEQUENCES)
    drawn = [draw(strategy, seed) for seed in seeds]
    wrong = session.runner.run(session.oracle.play_around_restart(drawn))
    assert wrong == {}, "\n".join(f"seed {seeds[place]}: {text}" for place, text in wrong.items())
