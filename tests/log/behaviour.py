"""The plain behaviour of every log adapter: appending, reading, epochs, retention, names."""

import asyncio

import pytest

from drumbeat.log.errors import BatchTooLarge, OffsetOutOfRange, TopicIdMismatch
from drumbeat.log.port import LogSettings, TimestampOffset, TopicPartition
from drumbeat.protocol.record_batch import iter_headers, read_header
from log.helpers import SETTINGS, SMALL, TP, append, batch, contents, records, write


class LogBehaviour:
    # Appending

    def test_batches_get_their_offset_and_epoch_and_nothing_else_changes(self, harness):
        async def scenario():
            async with harness.store() as store:
                await store.acquire(TP, SETTINGS)
                log = await store.acquire(TP, SETTINGS)
                sent = batch(b"a", b"b")
                await write(log, b"first")
                log.append(sent, expected=1)
                await log.sync()
                return sent, log.read(1, 10_000)

        sent, found = asyncio.run(scenario())
        header = read_header(found)
        assert (header.base_offset, header.partition_leader_epoch) == (1, 1)
        assert found[16:] == sent[16:]

    @pytest.mark.parametrize(
        ("settings", "limit"),
        [
            (LogSettings(batch_bytes_max=100), 100),
            (LogSettings(batch_bytes_max=99), 99),
            (LogSettings(segment_bytes=99), 99),
        ],
    )
    def test_a_batch_at_the_limit_fits_and_one_past_it_does_not(self, harness, settings, limit):
        async def scenario():
            async with harness.store() as store:
                log = await store.acquire(TP, settings)
                payload = b"x" * (100 - len(batch(b"")))
                assert len(batch(payload)) == 100
                if limit == 100:
                    assert await write(log, payload) == 0
                else:
                    with pytest.raises(BatchTooLarge, match=f"limit is {limit}"):
                        append(log, payload)
                    log.configure(settings._replace(batch_bytes_max=100, segment_bytes=100))
                    assert await write(log, payload) == 0

        asyncio.run(scenario())

    @pytest.mark.parametrize("mangle", [lambda b: b + b, lambda b: b[:-1], lambda b: b[:40]])
    def test_only_one_whole_batch_can_be_appended(self, harness, mangle):
        async def scenario():
            async with harness.store() as store:
                log = await store.acquire(TP, SETTINGS)
                with pytest.raises(ValueError, match="byte"):
                    log.append(mangle(batch(b"x")), expected=0)
                assert log.end_offset == 0

        asyncio.run(scenario())

    # Reading

    def test_reads_return_from_the_batch_that_holds_the_offset(self, harness):
        async def scenario():
            async with harness.store() as store:
                log = await store.acquire(TP, SETTINGS)
                for number in range(4):
                    await write(log, b"%d" % number, b"+")
                size = len(batch(b"0", b"+"))
                return {
                    "middle": log.read(3, 10_000),
                    "cut": log.read(0, size + 10),
                    "first whole": log.read(0, 1),
                    "not even whole": log.read(0, 1, whole_first_batch=False),
                    "end": log.read(8, 100),
                }, size

        reads, size = asyncio.run(scenario())
        offsets = {k: [h.base_offset for _, h in iter_headers(data)] for k, data in reads.items()}
        assert offsets["middle"] == [2, 4, 6]
        assert offsets["cut"] == [0]
        assert len(reads["cut"]) == size + 10
        assert offsets["first whole"] == [0]
        assert len(reads["first whole"]) == size
        assert len(reads["not even whole"]) == 1
        assert reads["end"] == b""

    @pytest.mark.parametrize("offset", [-1, 0, 1, 9])
    def test_reads_outside_the_log_are_refused(self, harness, offset):
        async def scenario():
            async with harness.store() as store:
                log = await store.acquire(TP, SETTINGS)
                for number in range(8):
                    await write(log, b"%d" % number)
                await log.delete_records_before(2)
                with pytest.raises(OffsetOutOfRange):
                    log.read(offset, 100)
                with pytest.raises(OffsetOutOfRange):
                    log.batches_from(offset)

        asyncio.run(scenario())

    def test_every_offset_can_be_read_across_segments(self, harness):
        async def scenario():
            async with harness.store() as store:
                log = await store.acquire(TP, SMALL)
                for number in range(60):
                    await write(log, b"%d" % number)
                for offset in range(60):
                    assert read_header(log.read(offset, 1)).base_offset == offset
                    assert records(log, offset)[0].offset == offset

        asyncio.run(scenario())

    TIMESTAMPS = """
    asked  found
    0      (10, 0)
    10     (10, 0)
    11     (50, 1)
    50     (50, 1)
    51     (60, 5)
    60     (60, 5)
    61     (99, 9)
    99     (99, 9)
    100    None
    """

    @pytest.mark.parametrize("row", TIMESTAMPS.split("\n")[2:-1])
    @pytest.mark.parametrize("settings", [SETTINGS, SMALL], ids=["one segment", "many"])
    def test_timestamps_out_of_order_find_the_first_record_that_is_late_enough(
        self, harness, row, settings
    ):
        async def scenario():
            async with harness.store() as store:
                log = await store.acquire(TP, settings)
                for times in ([10, 50, 20], [30, 40], [60, 5, 7], [1], [99, 98]):
                    await write(log, *[b"x" * 40] * len(times), timestamps=times)
                return log.offset_for_timestamp(int(asked)), log.max_timestamp()

        asked, expected = row.split(maxsplit=1)
        found, largest = asyncio.run(scenario())
        assert repr(found and tuple(found)) == expected
        assert largest == (99, 9)

    def test_timestamp_search_respects_the_start_offset(self, harness):
        async def scenario():
            async with harness.store() as store:
                log = await store.acquire(TP, SETTINGS)
                assert log.offset_for_timestamp(0) is None
                assert log.max_timestamp() is None
                await write(log, b"a", b"b", b"c", timestamps=[10, 20, 30])
                await log.delete_records_before(1)
                return log.offset_for_timestamp(5)

        assert asyncio.run(scenario()) == TimestampOffset(20, 1)

    # Epochs, retention, deletion, names

    def test_epochs_tell_who_wrote_what(self, harness):
        async def scenario():
            async with harness.store() as store:
                for count in (2, 0, 0, 3):
                    log = await store.acquire(TP, SETTINGS)
                    for _ in range(count):
                        await write(log, b"x")
                    await log.release()
                log = await store.acquire(TP, SETTINGS)
                return log.epochs(), [log.end_offset_for_epoch(n) for n in range(-1, 6)]

        epochs, ends = asyncio.run(scenario())
        assert epochs == [(0, 0), (3, 2), (4, 5)]
        assert ends == [(-1, -1), (0, 2), (0, 2), (0, 2), (3, 5), (4, 5), (-1, -1)]

    def test_retention_by_size_removes_the_oldest_segments(self, harness):
        async def scenario():
            async with harness.store() as store:
                log = await store.acquire(TP, SMALL._replace(retention_bytes=900))
                for number in range(40):
                    await write(log, b"%d" % number)
                removed = await log.enforce_retention(1000)
                assert await log.enforce_retention(1000) == 0
                return removed, log.size_bytes, log.start_offset, contents(log)

        removed, size_bytes, start_offset, found = asyncio.run(scenario())
        assert removed > 3
        assert 900 <= size_bytes < 900 + SMALL.segment_bytes
        assert found == [(n, b"%d" % n) for n in range(start_offset, 40)]

    def test_retention_by_time_may_empty_the_log_and_keeps_its_end(self, harness):
        async def scenario():
            async with harness.store() as store:
                log = await store.acquire(TP, SMALL._replace(retention_ms=100))
                for number in range(20):
                    await write(log, b"%d" % number, timestamps=[1000 + number])
                assert await log.enforce_retention(1100) == 0
                assert await log.enforce_retention(1110) > 0
                assert 0 < log.start_offset <= 10
                assert await log.enforce_retention(2000) > 0
                assert (log.start_offset, log.end_offset, log.size_bytes) == (20, 20, 0)
                assert log.max_timestamp() is None
                assert await log.enforce_retention(9000) == 0
                await write(log, b"new")
                after = await (await harness.crash(store)).acquire(TP, SMALL)
                return contents(after), after.start_offset

        assert asyncio.run(scenario()) == ([(20, b"new")], 20)

    def test_retention_leaves_what_is_not_synced(self, harness):
        async def scenario():
            async with harness.store() as store:
                log = await store.acquire(TP, SETTINGS._replace(retention_ms=1))
                await write(log, b"old")
                append(log, b"unsynced")
                assert await log.enforce_retention(10**9) == 0
                await log.sync()
                return await log.enforce_retention(10**9), log.start_offset

        assert asyncio.run(scenario()) == (1, 2)

    def test_a_deleted_partition_is_gone_and_its_name_starts_afresh(self, harness):
        async def scenario():
            async with harness.store() as store:
                log = await store.acquire(TP, SETTINGS)
                await write(log, b"a", b"b")
                await log.delete_records_before(1)
                await store.delete(TP)
                assert store.partitions() == []
                await store.delete(TP)
                again = await store.acquire(TP, SETTINGS)
                return store.partitions(), again.start_offset, again.end_offset

        assert asyncio.run(scenario()) == ([TP], 0, 0)

    @pytest.mark.parametrize(
        "topic", ["", ".", "..", "a/b", "../up", "a\0b", "x" * 250, "sp ace", "Ünicode", "a\nb"]
    )
    def test_impossible_names_are_refused(self, harness, topic):
        async def scenario():
            async with harness.store() as store:
                with pytest.raises(ValueError, match="topic name"):
                    await store.acquire(TopicPartition(topic, 0), SETTINGS)
                assert store.partitions() == []

        asyncio.run(scenario())

    @pytest.mark.parametrize("partition", [-1, 2**31])
    def test_impossible_partitions_are_refused(self, harness, partition):
        async def scenario():
            async with harness.store() as store:
                with pytest.raises(ValueError, match="partition"):
                    await store.acquire(TopicPartition("t", partition), SETTINGS)

        asyncio.run(scenario())

    def test_partitions_lists_what_exists(self, harness):
        async def scenario():
            async with harness.store() as store:
                for topic, partition in (("b-1", 0), ("a", 1), ("a", 0), ("a.b_c-d", 12)):
                    await store.acquire(TopicPartition(topic, partition), SETTINGS)
                return store.partitions()

        assert asyncio.run(scenario()) == [("a", 0), ("a", 1), ("a.b_c-d", 12), ("b-1", 0)]

    def test_a_topic_id_is_kept_and_another_is_refused(self, harness):
        ours, other = "AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg"

        async def scenario():
            async with harness.store() as store:
                await store.acquire(TP, SETTINGS)
                assert store.topic_id(TP) is None
                await store.acquire(TP, SETTINGS, topic_id=ours)
                await store.acquire(TP, SETTINGS)
                assert store.topic_id(TP) == ours
                with pytest.raises(TopicIdMismatch, match=ours):
                    await store.acquire(TP, SETTINGS, topic_id=other)
                with pytest.raises(ValueError, match="topic id"):
                    await store.acquire(TopicPartition("t", 0), SETTINGS, topic_id="../../etc")

        asyncio.run(scenario())

    def test_durability_says_something(self, harness):
        async def scenario():
            async with harness.store() as store:
                return store.durability()

        durability = asyncio.run(scenario())
        assert durability.assumed
        assert all(isinstance(line, str) and line for line in durability.proven)

    def test_confirm_passes_for_the_owner(self, harness):
        async def scenario():
            async with harness.store() as store:
                log = await store.acquire(TP, SETTINGS)
                await log.confirm()
                await write(log, b"x")
                await log.confirm()
                await log.release()
                await log.release()

        asyncio.run(scenario())
