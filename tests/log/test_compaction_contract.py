"""Compaction as every log adapter has to do it, seen through the port."""

import asyncio

import pytest

from drumbeat.log.compaction import ENTRY_BYTES
from drumbeat.log.errors import CorruptLog, Fenced
from drumbeat.log.port import CompactionBudget, LogSettings, TimestampOffset
from drumbeat.protocol.record_batch import iter_headers
from log.compaction_helpers import DAY_MS, TIMESTAMP, as_text, batch
from log.helpers import TP, contents
from log.test_local import LocalHarness
from log.test_memory import MemoryHarness

COMPACTED = LogSettings(segment_bytes=400, index_interval_bytes=100, is_compacted=True)
NOW_MS = 10_000


async def write(log, *texts, **options):
    for text in texts:
        log.append(batch(text, **options), expected=log.end_offset)
        await log.sync()


async def write_rounds(log, rounds=20, keys="abc"):
    """Each round sets every key once; the active segment holds the last few."""
    for number in range(rounds):
        await write(log, " ".join(f"{key}={number}" for key in keys))


def newest(log):
    """What a reader who applies every record from the start ends up with."""
    return {word.partition("=")[0]: word.partition("=")[2] for _, word in contents_of(log)}


def contents_of(log):
    return texts_of(log.batches_from(log.start_offset))


def texts_of(batches):
    """Offset and text of each record."""
    words = [word.partition("@") for found in batches for word in as_text(found).split()]
    return [(int(offset), text) for text, at, offset in words if at]


def keys_and_offsets(log):
    return [(text.partition("=")[0], offset) for offset, text in contents_of(log)]


class CompactionContract:
    @staticmethod
    def run(harness, scenario, settings=COMPACTED):
        async def main():
            async with harness.store() as store:
                return await scenario(store, await store.acquire(TP, settings))

        return asyncio.run(main())

    def test_the_closed_part_holds_each_key_once_and_nothing_else_changes(self, harness):
        async def scenario(store, log):
            await write_rounds(log)
            before = dict(contents_of(log))
            end_offset = log.end_offset
            result = await log.compact(NOW_MS)
            after = contents_of(log)
            assert log.end_offset == log.synced_offset == end_offset
            assert log.start_offset == 0
            assert newest(log) == {"a": "19", "b": "19", "c": "19"}
            assert [(offset, before[offset]) for offset, _ in after] == after
            closed = [offset for offset, _ in after if offset < result.end_offset]
            assert closed == [result.end_offset - 3 + n for n in range(3)]
            assert len(after) == result.records_after + end_offset - result.end_offset
            return result

        result = self.run(harness, scenario)
        assert (result.segments_after, result.records_after) == (1, 3)
        assert result.segments_before > 3
        assert result.records_before == result.end_offset
        assert result.bytes_after < result.bytes_before

    def test_what_is_compacted_survives_a_crash_and_a_restart(self, harness):
        async def scenario(store, log):
            await write_rounds(log)
            await log.compact(NOW_MS)
            left = keys_and_offsets(log)
            crashed = await (await harness.crash(store)).acquire(TP, COMPACTED)
            assert keys_and_offsets(crashed) == left
            assert crashed.cleanable(NOW_MS) is None, "nothing is dirty"
            assert await crashed.compact(NOW_MS) is None
            await write_rounds(crashed)
            assert await crashed.compact(NOW_MS) is not None
            return newest(crashed)

        assert self.run(harness, scenario) == {"a": "19", "b": "19", "c": "19"}

    def test_a_load_sees_the_log_as_it_was_when_it_began(self, harness):
        """KAFKA-19862: half of the old log and half of the new one is neither."""

        async def scenario(store, log):
            await write(log, "gone=1")
            await write_rounds(log)
            await write(log, "gone=")
            await write_rounds(log)
            before = keys_and_offsets(log)
            await log.compact(NOW_MS)  # tombstones get their horizon
            await write_rounds(log)
            compacted = keys_and_offsets(log)
            early, late = log.batches_from(0), log.batches_from(0)
            seen = [next(early)]
            assert await log.compact(NOW_MS + DAY_MS) is not None
            seen += early
            assert all("gone=@" not in as_text(found) for found in late), "begun afterwards"
            assert compacted[: len(before)] != before
            return compacted, [(text.partition("=")[0], n) for n, text in texts_of(seen)]

        expected, seen = self.run(harness, scenario)
        assert seen == expected

    def test_reads_in_a_gap_go_on_behind_it(self, harness):
        async def scenario(store, log):
            await write_rounds(log)
            result = await log.compact(NOW_MS)
            for offset in range(log.end_offset):
                data = log.read(offset, 1)
                ((_, header),) = iter_headers(data)
                assert header.last_offset >= offset
            assert log.read(log.end_offset, 100) == b""
            return result

        assert self.run(harness, scenario) is not None

    def test_a_reader_reaches_the_end_although_nothing_is_left_there(self, harness):
        """KAFKA-9065: a gap before an empty active segment must not look like records to come."""

        async def scenario(store, log):
            await write_rounds(log, keys=["k" * 20])
            await write(log, "gone=1")
            for pass_ms in (NOW_MS, NOW_MS + DAY_MS, NOW_MS + 2 * DAY_MS):
                await write(log, *["gone="] * 12)
                await log.compact(pass_ms)
            *_, last = log.batches_from(0)
            assert last.header.next_offset == log.end_offset
            for offset in range(log.end_offset):
                assert log.read(offset, 1)

        self.run(harness, scenario)

    def test_a_tombstone_goes_after_its_grace(self, harness):
        async def scenario(store, log):
            seen = []
            await write(log, "a=1")
            for pass_ms in (NOW_MS, NOW_MS + DAY_MS - 1, NOW_MS + DAY_MS):
                if not seen:
                    await write(log, "a=")
                await write(log, *[f"b{n}=1" for n in range(12)])
                assert await log.compact(pass_ms) is not None
                seen.append("a" in newest(log))
            return seen

        assert self.run(harness, scenario) == [True, True, False]

    def test_an_open_transaction_stops_compaction_before_it(self, harness):
        async def scenario(store, log):
            await write_rounds(log, 10)
            await write(log, "t7#0 a=never")
            await write_rounds(log, 10)
            first = await log.compact(NOW_MS)
            assert first.end_offset <= 30
            assert await log.compact(NOW_MS) is None
            await write(log, "commit7")
            await write_rounds(log, 6)
            second = await log.compact(NOW_MS)
            assert second.end_offset > 61
            return newest(log)

        assert self.run(harness, scenario) == dict.fromkeys("abc", "5")

    def test_a_transaction_that_the_active_segment_ends_is_over(self, harness):
        async def scenario(store, log):
            await write_rounds(log, 10)
            await write(log, "t7#0 a=never", "t8#0 b=ever")
            while log.cleanable(NOW_MS).cleanable_bytes < 2000:
                await write(log, "c=0")
            await write(log, "abort7", "commit8")
            result = await log.compact(NOW_MS)
            assert result.end_offset > 32
            return [text for _, text in contents_of(log) if text[0] in "ab"]

        assert self.run(harness, scenario) == ["a=9", "b=ever"]

    def test_more_keys_than_fit_in_memory_take_several_passes(self, harness):
        async def scenario(store, log):
            for text in ("1", "2"):
                await write(log, *[f"k{n:03}={text}" for n in range(60)])
            budget = CompactionBudget(dedupe_buffer_bytes=10 * (ENTRY_BYTES + 4))
            ends = []
            while (result := await log.compact(NOW_MS, budget)) is not None:
                ends.append(result.end_offset)
            assert ends == sorted(set(ends))
            closed = [offset for _, offset in keys_and_offsets(log) if offset < ends[-1]]
            return len(ends), len(closed), newest(log)

        passes, left, state = self.run(harness, scenario)
        assert passes >= 10
        assert left == 60
        assert set(state.values()) == {"2"}

    def test_a_log_larger_than_a_segment_becomes_several(self, harness):
        async def scenario(store, log):
            await write(log, *[f"k{n:03}=1" for n in range(60)])
            await write(log, *[f"k{n:03}=2" for n in range(30)])
            result = await log.compact(NOW_MS)
            assert result.segments_after > 3
            for offset in range(log.end_offset):
                assert log.read(offset, 1)
            again = await (await harness.crash(store)).acquire(TP, COMPACTED)
            return newest(again)

        state = self.run(harness, scenario)
        assert sorted(state.values()) == ["1"] * 30 + ["2"] * 30

    def test_only_compacted_logs_are_compacted(self, harness):
        async def scenario(store, log):
            await write_rounds(log)
            assert log.cleanable(NOW_MS) is None
            assert await log.compact(NOW_MS) is None
            log.configure(COMPACTED)
            assert log.cleanable(NOW_MS) is not None
            assert await log.compact(NOW_MS) is not None

        self.run(harness, scenario, COMPACTED._replace(is_compacted=False))

    def test_an_active_segment_alone_is_left_alone(self, harness):
        async def scenario(store, log):
            await write(log, "a=1", "a=2")
            assert log.cleanable(NOW_MS) is None
            assert await log.compact(NOW_MS) is None

        self.run(harness, scenario)

    def test_dirtiness_is_measured_in_bytes_of_closed_segments(self, harness):
        async def scenario(store, log):
            await write_rounds(log)
            all_dirty = log.cleanable(NOW_MS)
            result = await log.compact(NOW_MS)
            await write_rounds(log)
            half = log.cleanable(NOW_MS)
            return all_dirty, result, half

        all_dirty, result, half = self.run(harness, scenario)
        assert all_dirty == (0, result.bytes_before, False)
        assert all_dirty.dirty_ratio == 1.0
        assert half.clean_bytes == result.bytes_after
        assert 0.5 < half.dirty_ratio < 1.0

    def test_young_segments_wait_for_the_minimum_lag(self, harness):
        async def scenario(store, log):
            for number in range(40):
                await write(log, f"a={number}", timestamp=TIMESTAMP + number)
            ends = []
            for now_ms in (TIMESTAMP + 100, TIMESTAMP + 120, TIMESTAMP + 140):
                result = await log.compact(now_ms)
                ends.append(result and result.end_offset)
            return ends

        settings = COMPACTED._replace(min_compaction_lag_ms=100)
        nothing, some, everything = self.run(harness, scenario, settings)
        assert nothing is None
        assert 10 < some <= 21, "records up to 20 ms after the first are old enough"
        assert everything > 30

    @pytest.mark.parametrize(("lag_ms", "is_overdue"), [(8_999, True), (9_000, False)])
    def test_old_records_are_overdue_after_the_maximum_lag(self, harness, lag_ms, is_overdue):
        async def scenario(store, log):
            await write(log, *[f"a={n}" for n in range(20)])
            return log.cleanable(NOW_MS).is_overdue

        settings = COMPACTED._replace(max_compaction_lag_ms=lag_ms)
        assert self.run(harness, scenario, settings) is is_overdue

    def test_timestamps_are_found_behind_emptied_batches(self, harness):
        async def scenario(store, log):
            await write(log, "p7#0 a=1", timestamp=9_000)  # emptied, kept for its sequence
            await write(log, "b=1", timestamp=3_000)
            await write(log, *["a=2"] * 12, timestamp=2_000)
            await log.compact(NOW_MS)
            return log.max_timestamp(), log.offset_for_timestamp(2_500)

        assert self.run(harness, scenario) == (TimestampOffset(3_000, 1), TimestampOffset(3_000, 1))

    def test_retention_and_trimming_work_on_what_is_compacted(self, harness):
        async def scenario(store, log):
            await write_rounds(log)
            result = await log.compact(NOW_MS)
            assert await log.delete_records_before(result.end_offset) == result.end_offset
            assert keys_and_offsets(log)[0][1] == result.end_offset
            await write_rounds(log)
            await log.compact(NOW_MS)
            assert await log.enforce_retention(2 * DAY_MS) > 0
            assert contents(log) == []
            after = await (await harness.crash(store)).acquire(TP, COMPACTED)
            return after.end_offset, contents(after)

        settings = COMPACTED._replace(retention_ms=DAY_MS)
        assert self.run(harness, scenario, settings) == (120, [])

    def test_an_older_owner_cannot_compact(self, harness):
        async def scenario(store, log):
            await write_rounds(log)
            await store.acquire(TP, COMPACTED)
            with pytest.raises(Fenced):
                await log.compact(NOW_MS)

        self.run(harness, scenario)

    @pytest.mark.parametrize("offset", [0, 10])
    def test_damage_stops_compaction_and_nothing_is_changed(self, harness, offset):
        async def scenario(store, log):
            await write_rounds(log)
            size_bytes = log.size_bytes
            harness.corrupt(store, TP, offset)
            with pytest.raises(CorruptLog):
                await log.compact(NOW_MS)
            assert log.size_bytes == size_bytes
            assert log.cleanable(NOW_MS).dirty_ratio == 1.0
            with pytest.raises(CorruptLog):
                list(log.batches_from(0))

        self.run(harness, scenario)

    def test_appends_go_on_while_it_runs(self, harness):
        async def scenario(store, log):
            await write_rounds(log, 40)
            compacting = asyncio.ensure_future(log.compact(NOW_MS))
            await write_rounds(log, 40)
            assert await compacting is not None
            after = await (await harness.crash(store)).acquire(TP, COMPACTED)
            return newest(after), after.end_offset

        assert self.run(harness, scenario) == (dict.fromkeys("abc", "39"), 240)


class TestLocalCompaction(CompactionContract):
    @pytest.fixture
    def harness(self, tmp_path):
        return LocalHarness(tmp_path)


class TestMemoryCompaction(CompactionContract):
    @pytest.fixture
    def harness(self):
        return MemoryHarness()
