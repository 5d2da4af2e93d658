"""However a log is written and compacted, whoever reads it ends up with the same."""

from hypothesis import given, settings
from hypothesis import strategies as st

from drumbeat.log.compaction import ENTRY_BYTES, OffsetMap, Rules
from drumbeat.protocol.records import ControlRecordType, control_record_type, decode_records
from log.compaction_helpers import DAY_MS, log_of, surveyed

KEYS = st.sampled_from("abc")
RECORDS = st.lists(
    st.one_of(
        st.builds("{}={}".format, KEYS, st.integers(0, 9)),
        st.builds("{}=".format, KEYS),
        st.just("=1"),
    ),
    min_size=1,
    max_size=3,
).map(" ".join)
PRODUCERS = st.sampled_from([7, 8])
BATCHES = st.lists(
    st.one_of(
        RECORDS,
        st.builds("p9#0 {}".format, RECORDS),
        st.builds("t{}#0 {}".format, PRODUCERS, RECORDS),
        st.builds("{}{}".format, st.sampled_from(["commit", "abort"]), PRODUCERS),
    ),
    min_size=1,
    max_size=16,
)
# How much is closed by then (in percent), how much time has passed, how many keys fit in memory.
PASSES = st.lists(
    st.tuples(st.integers(0, 100), st.sampled_from([0, 1, DAY_MS]), st.sampled_from([1, 2, 99])),
    max_size=4,
)


def state_of(batches):
    """What a consumer of committed records holds in the end, and what is still open."""
    state, pending = {}, {}
    for header, data in batches:
        records = decode_records(data)
        if header.is_control:
            for key, kept in pending.pop(header.producer_id, {}).items():
                is_committed = control_record_type(records[0]) is ControlRecordType.COMMIT
                if is_committed and kept > state.get(key, (-1,)):
                    state[key] = kept
            continue
        into = pending.setdefault(header.producer_id, {}) if header.is_transactional else state
        for record in records:
            if record.key is not None:
                into[record.key] = (record.offset, record.value or b"")
    return {key: kept for key, kept in state.items() if kept[1]}, pending


class Log:
    def __init__(self, texts):
        self.batches = log_of(*texts)
        self.first_dirty = 0
        self.now_ms = 5_000

    def compact(self, percent, passed_ms, keys):
        """One pass, as an adapter makes it: whole batches, and none of an open transaction."""
        self.now_ms += passed_ms
        section = self.batches[: len(self.batches) * percent // 100]
        survey = surveyed(section)
        if survey.open_offset is not None:
            section = [b for b in section if b.header.next_offset <= survey.open_offset]
        offset_map = OffsetMap(self.first_dirty, keys * ENTRY_BYTES)
        for batch in section:
            offset_map.add(batch, survey)
            if offset_map.is_full:
                break
        if offset_map.end_offset <= self.first_dirty:
            return
        rules = Rules(offset_map, survey, section[-1].header.last_offset, self.now_ms, DAY_MS)
        judged = map(rules.judge, section)
        self.batches[: len(section)] = [batch for batch in judged if batch is not None]
        self.first_dirty = offset_map.end_offset


@given(BATCHES, PASSES)
@settings(max_examples=250)
def test_readers_of_a_compacted_log_see_what_readers_of_the_whole_one_see(texts, passes):
    log = Log(texts)
    end_offset, expected = log.batches[-1].header.next_offset, state_of(log.batches)
    for one in passes:
        log.compact(*one)
        assert state_of(log.batches) == expected
        offsets = [batch.header.base_offset for batch in log.batches]
        assert offsets == sorted(set(offsets))
        assert log.batches[-1].header.next_offset == end_offset


@given(BATCHES)
@settings(max_examples=100)
def test_in_the_end_each_key_is_there_once_and_no_tombstone(texts):
    log = Log([*texts, "commit7", "commit8", "last=1"])
    expected, _ = state_of(log.batches)
    for _ in range(3):
        log.first_dirty = 0
        log.compact(100, DAY_MS, 99)
    left = [r for b in log.batches if not b.header.is_control for r in decode_records(b.data)]
    assert {r.key: (r.offset, r.value) for r in left} == expected
    assert len(left) == len(expected)
