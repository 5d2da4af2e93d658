"""Every answer of a live Apache Kafka that concerns the classic protocol, asked for again."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from groups import (
    scenes_admin,
    scenes_joining,
    scenes_members,
    scenes_offsets,
    scenes_rebalance_time,
    scenes_restart,
    scenes_static,
    scenes_time,
    scenes_votes,
)
from groups.conftest import golden
from groups.golden_stage import Played, play
from groups.not_run import NOT_RUN
from groups.restarts import Bounced
from groups.wire_coordinator import WireCoordinator
from support.golden import answers

AT_ONCE = (
    scenes_joining,
    scenes_members,
    scenes_static,
    scenes_votes,
    scenes_offsets,
    scenes_admin,
)
TIMED = (scenes_time, scenes_rebalance_time)


def scenes_of(modules: tuple) -> list[Played]:
    return [played for module in modules for played in module.script.scenes]


@pytest.mark.parametrize("played", scenes_of(AT_ONCE), ids=str)
def test_scene(played, golden_broker, own_broker):
    servers, topics = own_broker(played.settings) if played.settings else golden_broker
    with WireCoordinator(servers) as coordinator:
        play(played, coordinator, topics)


@pytest.mark.parametrize("module", TIMED, ids=lambda module: module.__name__)
def test_timed_scenes(module, golden_broker, tmp_path):
    """All of them at the same time: what they do is wait."""

    def run(played: Played) -> None:
        folder = tmp_path / str(played)
        with golden(folder, played.settings) as broker, WireCoordinator(broker[0]) as coordinator:
            play(played, coordinator, broker[1])

    scenes = module.script.scenes
    with ThreadPoolExecutor(len(scenes)) as pool:
        runs = [pool.submit(run, played) for played in scenes]
    problems = {str(played): done.exception() for played, done in zip(scenes, runs, strict=True)}
    failed = {name: problem for name, problem in problems.items() if problem is not None}
    if failed:
        raise BaseExceptionGroup(", ".join(failed), list(failed.values()))


@pytest.mark.parametrize("played", scenes_restart.script.scenes, ids=str)
def test_scene_with_a_restart(played, tmp_path):
    with Bounced(tmp_path) as broker:
        play(played, broker.coordinator, broker.topics, broker=broker)


def test_every_row_is_played_or_explained():
    scenes = scenes_of((*AT_ONCE, *TIMED, scenes_restart))
    played = [row for scene in scenes for row in scene.rows]
    explained = [row for rows in NOT_RUN for row in rows]
    assert sorted(played + explained) == list(range(len(answers())))
