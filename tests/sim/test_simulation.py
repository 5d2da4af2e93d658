"""Whole histories of the coordinator, from fixed seeds; `make sim` runs others."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from sim import mutants
from sim.checkers.sightings import GOALS
from sim.simulation import simulate
from sim.watch import WatchedShard

TESTS = Path(__file__).parent.parent
SEEDS_PER_BATCH = 20


@pytest.mark.timeout(600)
@pytest.mark.parametrize("batch", range(2))
def test_every_law_holds_and_nothing_worth_testing_is_missed(batch: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(batch * SEEDS_PER_BATCH, (batch + 1) * SEEDS_PER_BATCH):
        result = simulate(seed)
        assert result.is_good, result.report()
        seen.update(result.verdict.seen)
    assert not GOALS - seen.keys(), "these histories have tested too little"


# Random histories that a checker has judged wrongly.
MISJUDGED = {
    619426261: "a SyncGroup whose answer waited for the disk until its group had ended",
    281366697: "a disk that was full when a node stopped",
}


@pytest.mark.parametrize("seed", MISJUDGED, ids=str)
def test_a_history_that_a_checker_has_misjudged_is_good(seed: int) -> None:
    result = simulate(seed)
    assert result.is_good, result.report()


# A bug, and the laws of which one has to notice it. Not every history brings it out.
MUTANTS: list[tuple[type[WatchedShard], set[str]]] = [
    (mutants.AnswersBeforeSync, {"S10", "S13"}),
    (mutants.LosesFencing, {"S4", "S15"}),
    (mutants.IgnoresGenerations, {"S4"}),
    (mutants.IgnoresHeartbeats, {"S14"}),
    (mutants.LosesRecords, {"S11"}),
    (mutants.LoadsTooLittle, {"S11"}),
    (mutants.ExpiresTooEarly, {"S3"}),
    (mutants.ForgetsDeadlines, {"L1"}),
    (mutants.AnswersTheWrongOne, {"S5"}),
]


@pytest.mark.parametrize(("mutant", "laws"), MUTANTS, ids=[m.__name__ for m, _ in MUTANTS])
def test_a_bug_is_noticed(mutant: type[WatchedShard], laws: set[str]) -> None:
    results = (simulate(seed, mutant) for seed in range(SEEDS_PER_BATCH))
    caught = next((result for result in results if not result.is_good), None)
    assert caught is not None, "no history brings it out"
    assert caught.verdict.violation is not None
    assert caught.verdict.violation.split(":")[0] in laws, caught.report()
    assert f"make sim SEED={caught.parameters.seed}" in caught.report()


def test_a_seed_is_one_history_in_every_process() -> None:
    """Whatever the order of Python's sets, which differs from process to process."""
    command = [sys.executable, "-m", "sim.run", "--seed", "3", "--trace"]
    outputs = [
        subprocess.run(
            command,
            env={**os.environ, "PYTHONPATH": str(TESTS), "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1]
    assert outputs[0].startswith("seed 3\n")
