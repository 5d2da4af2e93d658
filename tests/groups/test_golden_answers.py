"""Every answer of a live Apache Kafka that concerns the classic protocol, asked for again."""

import pytest
from groups import (
    scenes_admin,
    scenes_joining,
    scenes_members,
    scenes_offsets,
    scenes_static,
    scenes_votes,
)
from groups.golden_stage import play
from groups.wire_coordinator import WireCoordinator

MODULES = (
    scenes_joining,
    scenes_members,
    scenes_static,
    scenes_votes,
    scenes_offsets,
    scenes_admin,
)
SCENES = [played for module in MODULES for played in module.script.scenes]


@pytest.mark.parametrize("played", SCENES, ids=str)
def test_scene(played, golden_broker, own_broker):
    servers, topics = own_broker(played.settings) if played.settings else golden_broker
    with WireCoordinator(servers) as coordinator:
        play(played, coordinator, topics)
