"""A compacted log gives the same state as the whole one, however far compaction has come.

Compaction keeps the newest record of every key; tombstones stay for a while and then go as well.
A node may load a log in any shape between (KAFKA-17306, KAFKA-19862, KAFKA-20254).
"""

import itertools

import pytest

from drumbeat.core.record_codec import decode
from drumbeat.core.records import OffsetCommitTombstone
from drumbeat.core.reducer import apply
from drumbeat.core.state import State
from drumbeat.protocol.apis.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from support.coordinator import Coordinator
from support.groups import Clients


def scenario() -> Coordinator:
    """Groups that come, commit, rebalance, go, are deleted, and come back."""
    coordinator = Coordinator()
    members, simple = Clients(coordinator, "members"), Clients(coordinator, "simple")
    leader, follower = members.stable("a", "b")
    members.commit(1, leader, members.live.generation_id)
    simple.commit(10)
    members.commit(2, follower, members.live.generation_id)
    members.leave(leader, follower)
    members.commit(3)
    simple.commit(11)
    topic = OffsetDeleteRequestTopic("t1", (OffsetDeleteRequestPartition(0),))
    coordinator.send(OffsetDeleteRequest("simple", (topic,)))
    simple.delete()
    members.delete()
    simple.commit(12)
    members.stable("c")
    members.commit(4, members.member_id_of("c"), members.live.generation_id)
    return coordinator


def compacted(log, cut: int, keeps_tombstones: bool):
    """(log offset, key, value) of what is left when everything before `cut` was compacted."""
    numbered = [(offset, key, value) for offset, (key, value) in enumerate(log)]
    newest = {key: offset for offset, key, _ in numbered[:cut]}
    for offset, key, value in numbered:
        is_kept = newest.get(key) == offset and (keeps_tombstones or value is not None)
        if offset >= cut or is_kept:
            yield offset, key, value


LOG = scenario().log


@pytest.mark.parametrize("keeps_tombstones", [True, False])
@pytest.mark.parametrize("cut", range(len(LOG) + 1))
def test_every_shape_of_a_compacted_log(cut, keeps_tombstones):
    whole, loaded = State(), State()
    for offset, (key, value) in enumerate(LOG):
        apply(whole, decode(key, value), offset)
    for offset, key, value in compacted(LOG, cut, keeps_tombstones):
        apply(loaded, decode(key, value), offset)
    assert loaded == whole


def test_the_scenario_is_worth_it():
    records = [decode(key, value) for key, value in LOG]
    assert len({type(record) for record in records}) == 4
    assert len({key for key, _ in LOG}) < len(LOG) / 2
    removed = [r for r in records if isinstance(r, OffsetCommitTombstone)]
    assert {r.group_id for r in removed} == {"members", "simple"}


def test_a_log_compacted_twice():
    for first, second in itertools.combinations(range(0, len(LOG) + 1, 3), 2):
        once = {offset for offset, *_ in compacted(LOG, first, True)}
        twice = [row for row in compacted(LOG, second, False) if row[0] in once]
        whole, loaded = State(), State()
        for offset, (key, value) in enumerate(LOG):
            apply(whole, decode(key, value), offset)
        for offset, key, value in twice:
            apply(loaded, decode(key, value), offset)
        assert loaded == whole
