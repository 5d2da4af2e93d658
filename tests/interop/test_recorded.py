"""What once differed from Apache Kafka, against its recorded answers: no Java is needed."""

import asyncio
from collections.abc import Callable, Iterator

import pytest

from interop.oracle import recordings
from interop.oracle.brokers import Drumbeat
from interop.oracle.known_differences import is_known
from interop.oracle.normal import Plain, differences

RECORDED = recordings.load()

Play = Callable[[str], list[Plain]]


@pytest.fixture(scope="module")
def play(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Play]:
    drumbeat = Drumbeat(tmp_path_factory.mktemp("recorded"))
    with asyncio.Runner() as runner:
        try:
            runner.run(drumbeat.start())
            runner.run(drumbeat.set_up())
            yield lambda name: runner.run(recordings.answers(drumbeat, name))
        finally:
            runner.run(drumbeat.stop())


def test_every_regression_is_recorded():
    assert RECORDED.keys() == recordings.RECORDED.keys(), "see test_oracle.py"


@pytest.mark.parametrize("name", RECORDED)
def test_kafkas_answers_are_ours(play: Play, name: str):
    steps = recordings.RECORDED[name]
    for step, ours, theirs in zip(steps, play(name), RECORDED[name], strict=True):
        found = [d for d in differences(theirs, ours) if not is_known(step, d)]
        assert found == [], f"{step}: {ours}"
