"""Recorded answers of Apache Kafka's assignors to generated groups, and ours to the same."""

import pytest

from client.assignors.golden import GOLDEN, recorded
from drumbeat.client.assignors import assignor

ROUNDS_MIN = 60


def test_all_are_there():
    names = ["cooperative-sticky", "range", "roundrobin", "sticky"]
    assert [path.stem for path in GOLDEN] == names


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_ours_agree(path):
    rounds = 0
    for history in recorded(path):
        leader = assignor(history.name)
        for one, result in zip(history.rounds, history.results, strict=True):
            assert leader.assign(one.cluster, one.members) == result
            rounds += 1
    assert rounds >= ROUNDS_MIN
