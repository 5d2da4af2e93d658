"""Apache Kafka and Drumbeat are asked the same, and have to answer the same.

ORACLE_SEQUENCES says how many generated sequences are played (1,000), ORACLE_SEED which ones (0;
"random" draws it). A failure prints the smallest sequence found, ready for regressions.py.
"""

import asyncio
import os
import random
from collections.abc import Iterator

import pytest

from drumbeat.protocol.apis import APIS
from interop.kafka_jars import jars
from interop.oracle import recordings
from interop.oracle.admin_language import ADMIN
from interop.oracle.campaign import Steps, draw, play_together, shrink
from interop.oracle.data_language import DATA
from interop.oracle.group_language import GROUPS
from interop.oracle.oracle import Oracle
from interop.oracle.regressions import REGRESSIONS
from interop.oracle.strategies import Language, sequences
from interop.oracle.timed_language import TIMED

pytestmark = [pytest.mark.interop, pytest.mark.timeout(1800)]

SEQUENCES = int(os.environ.get("ORACLE_SEQUENCES") or 1000)
SEED = os.environ.get("ORACLE_SEED") or "0"
FIRST_SEED = random.randrange(2**32) if SEED == "random" else int(SEED)

# What the sequences are about, and their share of all.
LANGUAGES = {"groups": (GROUPS, 0.65), "data": (DATA, 0.25), "admin": (ADMIN, 0.10)}
TIMED_SEQUENCES = max(1, SEQUENCES // 25)
RESTARTED_SEQUENCES = max(1, SEQUENCES // 40)  # of groups, and as many of data
SHRUNK_MAX = 3  # failures that are shrunk
# What does not happen again when it is played alone was the machine's doing, if it is rare.
UNCONFIRMED_MAX = 0.01
UNCONFIRMED_TIMED_MAX = 0.25

# What a run of this size must have come across; else it proves less than it says.
EXERCISED_FROM = 1000
EXERCISED = {
    "JoinGroup": (0, 23, 24, 25, 26, 79, 81, 82, -1),
    "SyncGroup": (0, 22, 23, 24, 25, 27, 82),
    "Heartbeat": (0, 22, 24, 25, 27, 82),
    "LeaveGroup": (0, 24, 25, 82),
    "OffsetCommit": (0, 3, 12, 22, 25, 27, 69, 82, 100),
    "OffsetFetch": (0, 100),
    "OffsetDelete": (0, 3, 24, 69, 86),
    "DescribeGroups": (0, 69),
    "DeleteGroups": (0, 68, 69),
    "Produce": (0, 2, 3, 10, 17, 21, 32, 45, 47, 53, 76, 87, 100),
    "Fetch": (0, 1, 3, 70, 74, 75, 100),
    "ListOffsets": (0, 3, 35, 74, 75),
    "DeleteRecords": (0, 1, 3),
    "OffsetForLeaderEpoch": (0, 3, 75),
    "CreateTopics": (0, 17, 36, 37, 38, 39, 40, 42),
    "DeleteTopics": (0, 3, 100),
    "CreatePartitions": (0, 3, 37, 39, 42),
    "DescribeConfigs": (0, 3, 42),
    "AlterConfigs": (0, 3, 40, 42),
    "IncrementalAlterConfigs": (0, 3, 40, 42),
    "Metadata": (0, 3, 17, 100),
}


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


def test_what_was_recorded_is_still_what_kafka_answers(session: Session):
    """ORACLE_RECORD=1 records it anew."""
    found = {
        name: session.runner.run(recordings.answers(session.oracle.kafka, name))
        for name in recordings.RECORDED
    }
    if os.environ.get("ORACLE_RECORD"):
        recordings.save(found)
    assert found == recordings.load()


@pytest.mark.parametrize("subject", LANGUAGES)
def test_generated_sequences_get_the_same_answers(session: Session, subject: str):
    language, share = LANGUAGES[subject]
    session.check(language, max(1, round(share * SEQUENCES)), UNCONFIRMED_MAX)


def test_what_expires_expires_on_both(session: Session):
    session.check(TIMED, TIMED_SEQUENCES, UNCONFIRMED_TIMED_MAX)


def test_what_was_answered_before_a_restart_is_remembered(session: Session):
    seeds = range(FIRST_SEED, FIRST_SEED + RESTARTED_SEQUENCES)
    drawn = {
        (subject, seed): draw(sequences(language), seed)
        for subject, language in (("groups", GROUPS), ("data", DATA))
        for seed in seeds
    }
    wrong = session.runner.run(session.oracle.play_around_restart(list(drawn.values())))
    names = list(drawn)
    assert wrong == {}, "\n".join(f"{names[place]}: {text}" for place, text in wrong.items())


@pytest.mark.skipif(
    SEQUENCES < EXERCISED_FROM or FIRST_SEED != 0,
    reason="true of the sequences that everybody plays",
)
def test_the_sequences_came_across_everything(session: Session):
    errors, versions = session.oracle.errors, session.oracle.versions
    missed = {(api, code) for api, codes in EXERCISED.items() for code in codes} - errors.keys()
    assert missed == set()
    by_name = {api.name: api for api in APIS.values()}
    served = {(name, version) for name in EXERCISED for version in by_name[name].versions}
    assert served - versions == set()
