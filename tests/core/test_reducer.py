"""What each record does to the state, and the laws that make a replay worth anything."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.core.records import (
    GroupMetadataRecord,
    GroupMetadataTombstone,
    MemberMetadata,
    ModernGroupRecord,
    OffsetCommitRecord,
    OffsetCommitTombstone,
    RecordType,
    UnknownRecord,
)
from drumbeat.core.reducer import apply, end_transaction
from drumbeat.core.state import CommittedOffset, Group, State

AT_MS = 1_700_000_000_000
MEMBER = MemberMetadata("m", None, "c", "/h", 300_000, 45_000, b"subscription", b"assignment")


def commit(offset: int, group_id: str = "g", partition: int = 0) -> OffsetCommitRecord:
    return OffsetCommitRecord(group_id, "t", partition, offset, -1, "", AT_MS)


def tombstone(group_id: str = "g", partition: int = 0) -> OffsetCommitTombstone:
    return OffsetCommitTombstone(group_id, "t", partition)


def group(generation_id: int = 1, members: tuple[MemberMetadata, ...] = ()) -> GroupMetadataRecord:
    return GroupMetadataRecord("g", "consumer", generation_id, None, None, AT_MS, members)


def modern(record_type: RecordType, value: bytes | None) -> ModernGroupRecord:
    return ModernGroupRecord(record_type, "g", b"key", value)


def replay(*records: Any) -> State:
    """Records in the order of the log; (producer id, record) is transactional, and
    (producer id, True or False) the marker that ends the transaction."""
    state = State()
    for log_offset, record in enumerate(records):
        match record:
            case (int() as producer_id, bool() as is_committed):
                end_transaction(state, producer_id, is_committed)
            case (int() as producer_id, fact):
                apply(state, fact, log_offset, producer_id)
            case _:
                apply(state, record, log_offset)
    return state


def offsets(state: State, group_id: str = "g") -> dict[int, int]:
    """Partition -> committed offset, as far as anybody can see it."""
    if group_id not in state.groups:
        return {}
    stored = state.offsets.get(group_id, {})
    return {partition: offset.committed_offset for (_, partition), offset in stored.items()}


# records, visible offsets of g, its protocol type (None: no such group)
CASES = {
    "a commit makes a simple group": ([commit(5)], {0: 5}, ""),
    "the later commit counts": ([commit(5), commit(4)], {0: 4}, ""),
    "a tombstone removes": ([commit(5), commit(6, partition=1), tombstone()], {1: 6}, ""),
    "the last offset gone, the group stays": ([commit(5), tombstone()], {}, ""),
    "tombstones for what nobody knows": ([tombstone(), GroupMetadataTombstone("g")], {}, None),
    "offset first, then the group": ([commit(5), group()], {0: 5}, "consumer"),
    "group, then its offset": ([group(), commit(5)], {0: 5}, "consumer"),
    "a group's tombstone hides its offsets": (
        [group(), commit(5), GroupMetadataTombstone("g")],
        {},
        None,
    ),
    "and a new commit shows them again": (
        [commit(5), GroupMetadataTombstone("g"), commit(6, partition=1)],
        {0: 5, 1: 6},
        "",
    ),
    "unknown types do nothing": ([UnknownRecord(99, b"\0\x63", b""), commit(5)], {0: 5}, ""),
    # groups of other protocols: simple ones to us
    "a consumer group exists": ([modern(RecordType.CONSUMER_GROUP_METADATA, b"")], {}, ""),
    "offsets of an upgraded group stay visible": (
        [
            group(members=(MEMBER,)),
            commit(5),
            GroupMetadataTombstone("g"),
            modern(RecordType.CONSUMER_GROUP_MEMBER_METADATA, b""),
        ],
        {0: 5},
        "",
    ),
    "a consumer group is deleted": (
        [
            modern(RecordType.CONSUMER_GROUP_METADATA, b""),
            modern(RecordType.CONSUMER_GROUP_METADATA, None),
        ],
        {},
        None,
    ),
    "a consumer group loses a member": (
        [
            modern(RecordType.CONSUMER_GROUP_METADATA, b""),
            modern(RecordType.CONSUMER_GROUP_MEMBER_METADATA, None),
        ],
        {},
        "",
    ),
    "a downgraded group is a classic one": (
        [
            modern(RecordType.CONSUMER_GROUP_METADATA, b""),
            modern(RecordType.CONSUMER_GROUP_METADATA, None),
            group(),
        ],
        {},
        "consumer",
    ),
    "a late tombstone does not touch a classic group": (
        [group(), modern(RecordType.CONSUMER_GROUP_METADATA, None)],
        {},
        "consumer",
    ),
    "share groups have no offsets here": (
        [modern(RecordType.SHARE_GROUP_METADATA, b"")],
        {},
        None,
    ),
    # transactions: kafka-coordinator 3.3
    "pending offsets are not visible, their group is": ([(7, commit(5))], {}, ""),
    "a commit marker makes them visible": ([(7, commit(5)), (7, True)], {0: 5}, ""),
    "an abort marker drops them": ([commit(4), (7, commit(5)), (7, False)], {0: 4}, ""),
    "markers of others do nothing": ([(7, commit(5)), (8, True), (8, False)], {}, ""),
    "a marker counts once": ([(7, commit(5)), (7, True), commit(6), (7, True)], {0: 6}, ""),
    "the producer's last offset counts": (
        [(7, commit(5)), (7, commit(6)), (7, True)],
        {0: 6},
        "",
    ),
    "two producers, the later record wins": (
        [(7, commit(5)), (8, commit(6)), (8, True), (7, True)],
        {0: 6},
        "",
    ),
    "a tombstone removes pending offsets too": (
        [(7, commit(5)), (8, commit(6)), tombstone(), (7, True), (8, True)],
        {},
        "",
    ),
    "a deleted group stays deleted": (
        [(7, commit(5)), tombstone(), GroupMetadataTombstone("g"), (7, True)],
        {},
        None,
    ),
}


@pytest.mark.parametrize(("records", "visible", "protocol_type"), CASES.values(), ids=CASES)
def test_records(records, visible, protocol_type):
    state = replay(*records)
    known = state.groups.get("g")
    assert offsets(state) == visible
    assert (known.protocol_type if known else None) == protocol_type


def test_an_offset_keeps_all_that_its_record_says():
    record = OffsetCommitRecord("g", "t", 1, 42, 5, "m", AT_MS, AT_MS + 1, bytes(range(16)))
    state = State()
    apply(state, record, 17)
    expected = CommittedOffset(42, 5, "m", AT_MS, AT_MS + 1, bytes(range(16)), log_offset=17)
    assert state.offsets == {"g": {("t", 1): expected}}


def test_a_group_keeps_all_that_its_record_says():
    record = GroupMetadataRecord("g", "consumer", 3, "range", "m", AT_MS, (MEMBER,))
    assert replay(record).groups == {
        "g": Group("consumer", 3, "range", "m", AT_MS, {"m": MEMBER}),
    }


def test_no_rebalance_timeout_is_the_session_timeout():
    """Version 0 comes from when a rebalance waited as long as a session lasted."""
    record = group(members=(MEMBER._replace(rebalance_timeout_ms=-1),))
    (member,) = replay(record).groups["g"].members.values()
    assert member == MEMBER._replace(rebalance_timeout_ms=45_000)


def test_nothing_empty_is_kept():
    state = replay(commit(5), (7, commit(6)), tombstone(), GroupMetadataTombstone("g"))
    assert state == State()


class TestRedpandaCore17000:
    """Plain and transactional commits of one partition: the log decides, not the marker.

    KAFKA PR 15183, Redpanda CORE-17000: ordering a transaction's offsets by anything but the
    position of their own records makes live state and replay differ.
    """

    def test_a_plain_commit_after_the_transactional_one_survives_the_marker(self):
        assert offsets(replay((7, commit(100)), commit(50), (7, True))) == {0: 50}

    def test_a_plain_commit_before_it_does_not(self):
        assert offsets(replay(commit(50), (7, commit(100)), (7, True))) == {0: 100}

    def test_compaction_between_them_changes_nothing(self):
        """The cleaner may drop the plain commit that a later transactional one supersedes."""
        whole = [commit(50), (7, commit(100)), (7, True)]
        assert offsets(replay(*whole)) == offsets(replay(*whole[1:]))


# -- the laws -------------------------------------------------------------------------------------

GROUPS = ("a", "b", "c")
group_ids = st.sampled_from(GROUPS)
partitions = st.integers(0, 2)
facts = st.one_of(
    st.builds(commit, st.integers(0, 9), group_ids, partitions),
    st.builds(tombstone, group_ids, partitions),
    st.builds(
        lambda group_id, generation_id: group(generation_id)._replace(group_id=group_id),
        group_ids,
        st.integers(0, 3),
    ),
    st.builds(GroupMetadataTombstone, group_ids),
    st.builds(
        lambda group_id, record_type, value: ModernGroupRecord(record_type, group_id, b"", value),
        group_ids,
        st.sampled_from(list(RecordType)[3:]),
        st.none() | st.just(b""),
    ),
    st.builds(UnknownRecord, st.integers(24, 99), st.just(b""), st.none()),
)
producers = st.sampled_from((7, 8))
entries = st.one_of(facts, st.tuples(producers, facts), st.tuples(producers, st.booleans()))
logs = st.lists(entries, max_size=40)


def group_of(entry: Any) -> str | None:
    fact = entry[1] if type(entry) is tuple else entry
    return getattr(fact, "group_id", None)


def is_marker(entry: Any) -> bool:
    return type(entry) is tuple and isinstance(entry[1], bool)


@given(logs)
def test_law_1_the_same_log_gives_the_same_state(log):
    assert replay(*log) == replay(*log)


@given(logs, entries)
def test_law_2_every_record_applies_to_every_state(log, entry):
    replay(*log, entry)


@given(logs)
def test_law_3_groups_do_not_touch_each_other(log):
    together = State()
    for group_id in GROUPS:
        # Positions stay those of the whole log: what is left out becomes something unknown.
        alone = replay(
            *(
                entry
                if is_marker(entry) or group_of(entry) == group_id
                else UnknownRecord(99, b"", b"")
                for entry in log
            )
        )
        together.groups |= alone.groups
        together.offsets |= alone.offsets
        for producer_id, pending in alone.pending_offsets.items():
            together.pending_offsets.setdefault(producer_id, {}).update(pending)
    assert together == replay(*log)


@given(logs, st.integers(0, 40), st.integers(1, 2**40))
def test_law_4_only_the_order_of_log_offsets_matters(log, cut, gap):
    """Neither how a log is read in parts nor gaps that compaction leaves make a difference."""
    state = State()
    for log_offset, entry in enumerate(log):
        position = log_offset if log_offset < cut else log_offset + gap
        if is_marker(entry):
            end_transaction(state, *entry)
        elif type(entry) is tuple:
            apply(state, entry[1], position, entry[0])
        else:
            apply(state, entry, position)
    assert without_positions(state) == without_positions(replay(*log))


def without_positions(state: State) -> Any:
    def plain(by_group: Any) -> Any:
        return {
            group_id: {key: offset._replace(log_offset=0) for key, offset in stored.items()}
            for group_id, stored in by_group.items()
        }

    pending = {producer: plain(by_group) for producer, by_group in state.pending_offsets.items()}
    return state.groups, plain(state.offsets), pending
