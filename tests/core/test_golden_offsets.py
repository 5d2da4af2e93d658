"""OffsetCommit, OffsetFetch and OffsetDelete, answered as a live Kafka 4.3.1 answered them.

Numbers are rows of tests/golden/answers.jsonl; what a row's precondition says in words is done
here by requests.
"""

import re
from typing import Any

import pytest

from drumbeat.core.records import OffsetCommitRecord
from drumbeat.core.reducer import apply, end_transaction
from drumbeat.protocol.apis.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from support.coordinator import START_MS, Coordinator, Topics
from support.golden import answers
from support.groups import protocols
from support.stage import Stage

TOPICS = Topics({"t1": 4, "t2": 4, "k1": 4, "k3": 4})
TOPIC_ID = re.compile(r"<topic-id:(.+)>")


def topic_name(topic: dict[str, Any]) -> str:
    name: str = topic.get("Name") or topic["TopicId"]
    return name


class OffsetStage(Stage):
    """Knows topic ids. Fetched topics may come in the order of a hash map."""

    def __init__(self, row: int, **settings: Any) -> None:
        super().__init__(row, Coordinator(topics=TOPICS, **settings))

    def resolved(self, value: Any) -> Any:
        if isinstance(value, str) and (found := TOPIC_ID.fullmatch(value)):
            return TOPICS.topic_id(found[1]).hex()
        return super().resolved(value)

    def _match_list(self, where: str, expected: list[Any], actual: list[Any]) -> None:
        if where.endswith("Topics") and "Metadata" in str(expected):
            expected = sorted(self.resolved(expected), key=topic_name)
            actual = sorted(actual, key=topic_name)
        super()._match_list(where, expected, actual)

    def rows(self, first: int, last: int) -> None:
        for row in range(first, last + 1):
            self.check(row)


def commit(stage: OffsetStage, group_id: str, *positions: Any) -> None:
    """Positions are (topic, partition, offset, leader epoch, metadata)."""
    topics = tuple(
        OffsetCommitRequestTopic(topic, partitions=(OffsetCommitRequestPartition(*position),))
        for topic, *position in positions
    )
    stage.coordinator.send(OffsetCommitRequest(group_id, topics=topics), 9)


# -- 1.9 ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [586, 605, 624, 643], ids=["v2", "v8", "v9", "v10"])
def test_commits_to_groups_without_members(first):
    stage = OffsetStage(first)
    stage.rows(first, first + 18)
    state = stage.coordinator.state
    assert "f-none" not in state.groups
    assert "f-none2" not in state.groups
    twice = answers()[first + 18]["request"]["GroupId"]
    assert state.offsets[twice]["t1", 3].committed_offset == 12


# version: first row, rows about static members in Stable
MEMBERS = {"v2": (662, 0), "v8": (684, 2), "v9": (708, 2), "v10": (732, 2)}


@pytest.mark.parametrize(("first", "static_rows"), MEMBERS.values(), ids=MEMBERS)
def test_commits_to_groups_with_members(first, static_rows):
    stage = OffsetStage(first)
    leader = answers()[first]["request"]["MemberId"]
    stable, preparing = first + 6, first + 14 + static_rows
    follower = answers()[preparing]["request"]["MemberId"]
    stage.two_members(leader, follower)
    stage.rows(first, stable - 1)
    stage.clients.sync(stage.id_of(leader), 2)
    stage.clients.sync(stage.id_of(follower), 2)
    stage.rows(stable, preparing - 1)
    stage.clients.join(stage.id_of(leader))
    stage.rows(preparing, preparing + 3)
    stage.clients.join(stage.id_of(follower))
    stage.clients.leave(stage.id_of(leader), stage.id_of(follower))
    assert stage.coordinator.state.groups[stage.clients.group_id].generation_id == 4
    stage.rows(preparing + 4, preparing + 7)


@pytest.mark.parametrize("first", [756, 761], ids=["v7", "v10"])
def test_commits_of_static_members(first):
    stage = OffsetStage(first)
    name = answers()[first]["request"]["MemberId"]
    joined = stage.clients.join("", group_instance_id="i1")
    stage.know(name, joined.response.member_id)
    stage.clients.sync(joined.response.member_id, 1)
    stage.rows(first, first + 4)


def test_negative_offsets_are_stored_as_they_are():
    stage = OffsetStage(1294)
    commit(stage, "mn", ("t1", 0, -1))
    stage.rows(1294, 1295)
    commit(stage, "mn", ("t1", 0, -5))
    stage.rows(1296, 1299)


def test_the_empty_group_id():
    OffsetStage(76).rows(75, 80)


# -- 1.10 -----------------------------------------------------------------------------------------


def fetch_stage() -> OffsetStage:
    stage = OffsetStage(766)
    commit(stage, "f-fetch", ("t1", 0, 10, 4, "meta"), ("t1", 1, 11), ("t2", 2, 12))
    return stage


def test_fetches_of_one_group():
    fetch_stage().rows(766, 793)


def test_fetches_of_several_groups():
    fetch_stage().rows(795, 800)


@pytest.mark.parametrize("row", [801, 802])
def test_fetches_from_a_classic_group_do_not_look_at_the_member(row):
    stage = OffsetStage(586)
    stage.clients.group_id = answers()[row]["request"]["Groups"][0]["GroupId"]
    stage.clients.stable("a")
    stage.check(row)


# -- 1.11 -----------------------------------------------------------------------------------------

DELETE_ROWS = [*range(806, 836, 2)]


def test_deletes_from_a_simple_group():
    stage = fetch_stage()
    stage.rows(803, 805)
    stage.check(836)


@pytest.mark.parametrize("row", DELETE_ROWS)
def test_deletes_from_groups_with_members(row):
    """State, protocol type and subscription are in the words of the precondition."""
    words = re.match(
        r"(\w+), protocol type (\w+), subscription (\w*); ", answers()[row]["precondition"]
    )
    assert words
    state, protocol_type, subscription = words.groups()
    stage = OffsetStage(row)
    commit(stage, stage.clients.group_id, ("t1", 0, 1), ("t2", 0, 1))
    join = {
        "protocol_type": protocol_type,
        "protocols": protocols("range", metadata=bytes.fromhex(subscription)),
    }
    leader, follower = stage.clients.completing("A", "B", **join)
    if state != "CompletingRebalance":
        stage.clients.sync(leader, 2, protocol_type=protocol_type)
        stage.clients.sync(follower, 2, protocol_type=protocol_type)
    if state == "PreparingRebalance":
        stage.clients.join(leader, **join)
    assert stage.clients.state == state
    stage.check(row)
    stage.check(row + 1)


@pytest.mark.parametrize(("row", "protocol_type"), [(1291, "consumer"), (1292, "connect")])
def test_deletes_from_an_empty_group_of_any_type(row, protocol_type):
    stage = OffsetStage(row)
    call = stage.clients.enter("a", protocol_type=protocol_type)
    stage.clients.leave(call.response.member_id)
    commit(stage, stage.clients.group_id, ("t1", 0, 1))
    stage.check(row)
    assert stage.coordinator.state.offsets == {}


# -- 1.13: what open transactions mean to others --------------------------------------------------


class Transactions(OffsetStage):
    """TxnOffsetCommit is not served yet, so its records come from the log."""

    def __init__(self) -> None:
        super().__init__(861, checks=False)

    def resolved(self, value: Any) -> Any:
        return 1 if value == "<pid>" else super().resolved(value)

    def write(self, offset: int, topic: str = "t1", partition: int = 0, **fields: Any) -> None:
        record = OffsetCommitRecord(
            "txg2",
            topic,
            partition,
            offset,
            fields.get("leader_epoch", -1),
            fields.get("metadata", ""),
            START_MS,
        )
        log = self.coordinator.log
        apply(self.coordinator.state, record, len(log), producer_id=1)
        log.append((b"transactional", None))

    def end(self, is_committed: bool) -> None:
        end_transaction(self.coordinator.state, 1, is_committed)


def test_open_transactions():
    stage = Transactions()
    stage.write(100, leader_epoch=3, metadata="tm")
    stage.write(200, topic="t2", partition=1)
    stage.rows(861, 864)
    stage.end(is_committed=True)
    stage.check(869)
    stage.write(300)
    stage.write(400, topic="t2", partition=1)
    stage.rows(875, 877)
    stage.end(is_committed=False)
    stage.check(879)


def test_a_plain_commit_after_the_transactional_one():
    stage = Transactions()
    stage.write(500)
    commit(stage, "txg2", ("t1", 0, 600))
    stage.end(is_committed=True)
    stage.check(886)


def test_a_delete_of_a_pending_offset():
    stage = Transactions()
    stage.write(700)
    stage.check(888)
    stage.end(is_committed=True)
    stage.check(890)


# -- every row is used ----------------------------------------------------------------------------


def test_no_row_of_these_sections_is_forgotten():
    mine = {"OffsetCommit", "OffsetFetch", "OffsetDelete"}
    rows = {
        number
        for number, row in enumerate(answers())
        if row["section"] in ("1.9", "1.10", "1.11") and row["api"] in mine
    }
    used = {*range(586, 766), *range(766, 803), 803, 804, 805, 836, *DELETE_ROWS}
    used |= {1291, 1292, *range(1294, 1300)}
    # v1 with null topics never gets past the decoder: the connection closes.
    assert rows <= used
    assert answers()[794]["response"] == {"_connection": "closed by broker"}
