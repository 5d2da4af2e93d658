"""The contract of every log adapter, P1 to P10.

An adapter joins by subclassing `LogContract` and `LogBehaviour` in a test module and giving them a
`harness` fixture.
"""

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import pytest

from drumbeat.log.errors import (
    AppendFailed,
    CorruptLog,
    Fenced,
    LogFull,
    OffsetOutOfRange,
    UnexpectedEndOffset,
)
from drumbeat.log.port import EpochEntry, LogStore, TimestampOffset, TopicPartition
from drumbeat.protocol.record_batch import iter_headers
from log.helpers import SETTINGS, SMALL, TP, append, batch, contents, write


async def begun_commit() -> None:
    """A sync asked for by a task is under way: a store may wait for the end of the turn."""
    await asyncio.sleep(0)
    await asyncio.sleep(0)


class Harness(Protocol):
    """What the suite needs of an adapter besides the port."""

    def store(self) -> AbstractAsyncContextManager[LogStore]: ...

    async def crash(self, store: LogStore) -> LogStore:
        """The process dies without a word; the store as its successor finds it."""

    def fail_next_sync(self, store: LogStore, error: type[Exception]) -> None: ...

    def hold_syncs(self, store: LogStore) -> None: ...

    def release_syncs(self, store: LogStore) -> None: ...

    def corrupt(self, store: LogStore, topic_partition: TopicPartition, offset: int) -> None:
        """Spoil a byte of the durable batch that holds the offset."""


class LogContract:
    # P1 to P10

    def test_p1_epochs_strictly_increase(self, harness):
        async def scenario():
            epochs = []
            async with harness.store() as store:
                current = store
                for ending in ("release", "none", "none", "write", "crash", "release"):
                    log = await current.acquire(TP, SETTINGS)
                    epochs.append(log.epoch)
                    if ending == "write":
                        await write(log, b"x")
                    elif ending == "release":
                        await log.release()
                    elif ending == "crash":
                        current = await harness.crash(current)
            return epochs

        epochs = asyncio.run(scenario())
        assert epochs == sorted(set(epochs))
        assert len(epochs) == 6

    @pytest.mark.parametrize("ending", ["newer owner", "release", "delete"])
    def test_p2_an_older_owner_can_do_nothing(self, harness, ending):
        async def scenario():
            async with harness.store() as store:
                old = await store.acquire(TP, SETTINGS)
                await write(old, b"kept")
                await {
                    "newer owner": lambda: store.acquire(TP, SETTINGS),
                    "release": old.release,
                    "delete": lambda: store.delete(TP),
                }[ending]()
                with pytest.raises(Fenced):
                    append(old, b"zombie")
                for action in (old.sync, old.confirm, lambda: old.enforce_retention(0)):
                    with pytest.raises(Fenced):
                        await action()
                with pytest.raises(Fenced):
                    await old.delete_records_before(1)
                with pytest.raises(Fenced):
                    old.read(0, 100)
                return old.end_offset

        assert asyncio.run(scenario()) == 1

    def test_p2_what_an_older_owner_had_not_synced_is_refused_not_lost_in_silence(self, harness):
        async def scenario():
            async with harness.store() as store:
                old = await store.acquire(TP, SETTINGS)
                failures = []
                old.listen(None, failures.append)
                append(old, b"never synced")
                new = await store.acquire(TP, SETTINGS)
                assert [type(failure) for failure in failures] == [Fenced]
                return contents(new), old.end_offset

        assert asyncio.run(scenario()) == ([], 0)

    def test_p2_a_sync_in_flight_when_fenced_lands_before_the_new_owner_or_never(self, harness):
        async def scenario():
            async with harness.store() as store:
                old = await store.acquire(TP, SETTINGS)
                harness.hold_syncs(store)
                append(old, b"in flight")
                first = asyncio.ensure_future(old.sync())
                await begun_commit()
                append(old, b"behind it")
                second = asyncio.ensure_future(old.sync())
                acquiring = asyncio.ensure_future(store.acquire(TP, SETTINGS))
                await asyncio.sleep(0)
                harness.release_syncs(store)
                new = await acquiring
                outcomes = await asyncio.gather(first, second, return_exceptions=True)
                return outcomes, contents(new), new.epochs()

        (first, second), found, epochs = asyncio.run(scenario())
        assert first == 1
        assert isinstance(second, Fenced)
        assert found == [(0, b"in flight")]
        assert epochs == [EpochEntry(0, 0), EpochEntry(1, 1)]

    @pytest.mark.parametrize("expected", [-1, 0, 1, 3, 4, 2**40])
    def test_p3_append_succeeds_only_at_the_expected_end(self, harness, expected):
        async def scenario():
            async with harness.store() as store:
                log = await store.acquire(TP, SETTINGS)
                await write(log, b"a", b"b")
                with pytest.raises(UnexpectedEndOffset, match="ends at 2"):
                    log.append(batch(b"c"), expected=expected)
                assert log.end_offset == 2
                assert log.append(batch(b"c"), expected=2) == 2

        asyncio.run(scenario())

    def test_p4_what_is_synced_survives(self, harness):
        async def scenario():
            async with harness.store() as store:
                log = await store.acquire(TP, SMALL)
                for number in range(20):
                    await write(log, b"%d" % number)
                append(log, b"not synced")
                after = await (await harness.crash(store)).acquire(TP, SMALL)
                return contents(after)

        assert asyncio.run(scenario()) == [(n, b"%d" % n) for n in range(20)]

    def test_p5_an_unknown_outcome_is_all_or_nothing_and_shows_at_the_next_acquire(self, harness):
        async def scenario():
            async with harness.store() as store:
                log = await store.acquire(TP, SETTINGS)
                failures = []
                log.listen(None, failures.append)
                await write(log, b"before")
                harness.fail_next_sync(store, AppendFailed)
                append(log, b"x", b"y")
                with pytest.raises(AppendFailed):
                    await log.sync()
                with pytest.raises(AppendFailed):
                    append(log, b"z")
                with pytest.raises(AppendFailed):
                    await log.sync()
                assert [type(failure) for failure in failures] == [AppendFailed]
                assert contents(log) == [(0, b"before")]
                again = await store.acquire(TP, SETTINGS)
                assert again.epoch > log.epoch
                return contents(again)

        found = asyncio.run(scenario())
        assert found in ([(0, b"before")], [(0, b"before"), (1, b"x"), (2, b"y")])

    def test_p6_a_load_returns_every_append_once_in_order(self, harness):
        async def scenario():
            async with harness.store() as store:
                log = await store.acquire(TP, SMALL)
                for number in range(50):
                    append(log, *[b"%d" % number] * (1 + number % 3))
                    if number % 4 == 0:
                        await log.sync()
                await log.release()
                again = await store.acquire(TP, SMALL)
                return contents(again), again.end_offset, again.synced_offset

        found, end_offset, synced_offset = asyncio.run(scenario())
        values = [b"%d" % n for n in range(50) for _ in range(1 + n % 3)]
        assert found == list(enumerate(values))
        assert end_offset == synced_offset == len(values)

    def test_p6_a_load_survives_retention_and_appends_behind_its_back(self, harness):
        async def scenario():
            async with harness.store() as store:
                log = await store.acquire(TP, SMALL)
                for number in range(30):
                    await write(log, b"%d" % number)
                loading = log.batches_from(0, chunk_bytes=100)
                seen = [next(loading).header.base_offset for _ in range(3)]
                await log.delete_records_before(20)
                await write(log, b"late")
                return seen + [found.header.base_offset for found in loading]

        seen = asyncio.run(scenario())
        assert seen[:3] == [0, 1, 2]
        assert seen == sorted(set(seen))
        assert set(seen) >= set(range(20, 30))
        assert 30 not in seen

    @pytest.mark.parametrize("chunk_bytes", [61, 300, 1 << 20])
    def test_p6_chunks_are_the_same_batches_end_to_end(self, harness, chunk_bytes):
        async def scenario():
            async with harness.store() as store:
                log = await store.acquire(TP, SMALL)
                for number in range(30):
                    await write(log, b"%d" % number, b"x" * 10 * number)
                append(log, b"not synced")
                chunks = log.chunks_from(21, chunk_bytes=chunk_bytes)
                first = next(chunks)
                await write(log, b"late")
                batches = [found.data for found in log.batches_from(21, chunk_bytes=chunk_bytes)]
                return b"".join((first, *chunks)), b"".join(batches)

        chunks, batches = asyncio.run(scenario())
        assert [header.base_offset for _, header in iter_headers(chunks)] == list(range(20, 60, 2))
        assert batches.startswith(chunks)
        assert [header.base_offset for _, header in iter_headers(batches)][-2:] == [60, 61]

    def test_p7_trimming_is_durable_and_never_goes_beyond_what_is_synced(self, harness):
        async def scenario():
            async with harness.store() as store:
                log = await store.acquire(TP, SMALL)
                for number in range(20):
                    await write(log, b"%d" % number)
                append(log, b"not synced")
                with pytest.raises(OffsetOutOfRange):
                    await log.delete_records_before(21)
                assert await log.delete_records_before(13) == 13
                assert await log.delete_records_before(5) == 13
                with pytest.raises(OffsetOutOfRange):
                    log.read(12, 100)
                after = await (await harness.crash(store)).acquire(TP, SMALL)
                return after.start_offset, contents(after)[-1]

        assert asyncio.run(scenario()) == (13, (19, b"19"))

    def test_p7_trimming_everything_keeps_the_end_offset(self, harness):
        async def scenario():
            async with harness.store() as store:
                log = await store.acquire(TP, SETTINGS)
                await write(log, b"a", b"b")
                await log.delete_records_before(2)
                assert log.read(2, 100) == b""
                await log.release()
                again = await store.acquire(TP, SETTINGS)
                return again.start_offset, await write(again, b"c")

        assert asyncio.run(scenario()) == (2, 2)

    @pytest.mark.parametrize("offset", [0, 7, 19])
    def test_p8_damage_is_reported_and_nothing_is_skipped(self, harness, offset):
        async def scenario():
            async with harness.store() as store:
                log = await store.acquire(TP, SMALL)
                for number in range(20):
                    await write(log, b"%d" % number)
                harness.corrupt(store, TP, offset)
                seen = []
                with pytest.raises(CorruptLog):
                    seen.extend(found.header.base_offset for found in log.batches_from(0))
                return seen

        assert asyncio.run(scenario()) == list(range(offset))

    def test_p9_a_batch_is_atomic(self, harness):
        async def scenario():
            async with harness.store() as store:
                log = await store.acquire(TP, SETTINGS)
                await write(log, b"a", b"b", b"c")
                append(log, b"d", b"e", b"f")
                after = await (await harness.crash(store)).acquire(TP, SETTINGS)
                return after.end_offset

        assert asyncio.run(scenario()) in (3, 6)

    def test_p10_a_caller_with_a_deadline_leaves_and_the_others_are_served(self, harness):
        async def scenario():
            async with harness.store() as store:
                log = await store.acquire(TP, SETTINGS)
                harness.hold_syncs(store)
                append(log, b"x")
                patient = asyncio.ensure_future(log.sync())
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(log.sync(), 0.01)
                assert log.synced_offset == 0
                harness.release_syncs(store)
                return await patient

        assert asyncio.run(scenario()) == 1

    # Syncing

    def test_callers_share_a_sync_only_if_it_covers_them(self, harness):
        async def scenario():
            async with harness.store() as store:
                log = await store.acquire(TP, SETTINGS)
                synced = []
                log.listen(synced.append, None)
                harness.hold_syncs(store)
                append(log, b"a")
                waiting = [asyncio.ensure_future(log.sync()), asyncio.ensure_future(log.sync())]
                await begun_commit()
                append(log, b"b")
                waiting += [asyncio.ensure_future(log.sync()), asyncio.ensure_future(log.sync())]
                await asyncio.sleep(0)
                harness.release_syncs(store)
                await asyncio.gather(*waiting)
                return synced

        assert asyncio.run(scenario()) == [1, 2]

    def test_a_sync_with_nothing_to_do_returns_at_once(self, harness):
        async def scenario():
            async with harness.store() as store:
                log = await store.acquire(TP, SETTINGS)
                harness.hold_syncs(store)
                assert await log.sync() == 0
                log.request_sync()
                harness.release_syncs(store)

        asyncio.run(scenario())

    def test_requested_syncs_follow_one_another_and_report_to_the_listener(self, harness):
        async def scenario():
            async with harness.store() as store:
                log = await store.acquire(TP, SETTINGS)
                done = asyncio.get_running_loop().create_future()
                seen = []

                def on_synced(offset):
                    seen.append(offset)
                    if offset == 10:
                        done.set_result(None)

                log.listen(on_synced, None)
                for number in range(10):
                    append(log, b"%d" % number)
                    log.request_sync()
                await done
                return seen, log.synced_offset

        seen, synced_offset = asyncio.run(scenario())
        assert seen == sorted(set(seen))
        assert len(seen) <= 2, "perhaps one for the first, one for all that gathered"
        assert synced_offset == 10

    def test_unsynced_records_are_not_readable(self, harness):
        async def scenario():
            async with harness.store() as store:
                log = await store.acquire(TP, SETTINGS)
                await write(log, b"a", timestamps=[5])
                append(log, b"b", timestamps=[9])
                assert log.read(1, 100) == b""
                assert [offset for offset, _ in contents(log)] == [0]
                assert log.offset_for_timestamp(6) is None
                assert log.max_timestamp() == TimestampOffset(5, 0)
                assert (log.synced_offset, log.end_offset) == (1, 2)
                assert log.end_offset_for_epoch(log.epoch) == EpochEntry(log.epoch, 1)

        asyncio.run(scenario())

    def test_a_full_disk_refuses_drops_what_was_unsynced_and_recovers(self, harness):
        async def scenario():
            async with harness.store() as store:
                log = await store.acquire(TP, SETTINGS)
                failures = []
                log.listen(None, failures.append)
                await write(log, b"kept")
                harness.fail_next_sync(store, LogFull)
                append(log, b"refused")
                first = log.sync()
                append(log, b"refused too")
                with pytest.raises(LogFull):
                    await log.sync()
                with pytest.raises(LogFull):
                    await first
                assert [type(failure) for failure in failures] == [LogFull]
                assert (log.end_offset, log.synced_offset) == (1, 1)
                assert contents(log) == [(0, b"kept")]
                assert await write(log, b"later") == 1
                after = await (await harness.crash(store)).acquire(TP, SETTINGS)
                return contents(after)

        assert asyncio.run(scenario()) == [(0, b"kept"), (1, b"later")]
