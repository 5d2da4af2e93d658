"""One owner at a time, also between processes: a live one is named, a dead one leaves no lock."""

import asyncio
import os
import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from drumbeat.log.errors import Fenced, LogHeld
from drumbeat.log.port import TopicPartition
from drumbeat.log.store import LocalStore
from log.helpers import SETTINGS, TP, append, contents, write

HOLDER = Path(__file__).with_name("holder.py")


@contextmanager
def holder(*arguments):
    """A process that holds what its arguments say, and its first line."""
    command = [sys.executable, HOLDER, *map(str, arguments)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )
    try:
        line = process.stdout.readline()
        assert line.startswith("held")
        yield process, line.split()[1:]
    finally:
        process.kill()
        process.communicate()


async def open_and_close(directory):
    async with LocalStore(directory):
        pass


def test_a_store_in_use_names_the_process_and_the_directory(tmp_path):
    with holder("store", tmp_path) as (process, _):
        with pytest.raises(LogHeld) as caught:
            asyncio.run(open_and_close(tmp_path))
        assert caught.value.pid == process.pid
        assert str(tmp_path) in str(caught.value)
        assert (tmp_path / ".lock").read_text() == f"{process.pid}\n"
    asyncio.run(open_and_close(tmp_path))


def test_two_stores_of_one_process_exclude_each_other(tmp_path):
    async def scenario():
        async with LocalStore(tmp_path):
            for _ in range(2):
                with pytest.raises(LogHeld, match=f"process {os.getpid()}"):
                    await open_and_close(tmp_path)
            # The failed attempts must not have loosened the lock that Kafka would see.
            with pytest.raises(AssertionError), holder("posix", tmp_path / ".lock"):
                pass
        await open_and_close(tmp_path)

    asyncio.run(scenario())


def test_a_directory_that_kafka_holds_is_left_alone(tmp_path):
    asyncio.run(open_and_close(tmp_path))
    with holder("posix", tmp_path / ".lock") as (process, _):
        with pytest.raises(LogHeld) as caught:
            asyncio.run(open_and_close(tmp_path))
        assert caught.value.pid == process.pid
    asyncio.run(open_and_close(tmp_path))


def test_a_partition_in_use_is_refused_until_its_owner_is_gone(tmp_path):
    async def scenario():
        async with LocalStore(tmp_path, exclusive=False) as store:
            with holder("partition", tmp_path, *TP) as (process, facts):
                for action in (lambda: store.acquire(TP, SETTINGS), lambda: store.delete(TP)):
                    with pytest.raises(LogHeld) as caught:
                        await action()
                    assert caught.value.pid == process.pid
                    assert caught.value.directory == str(tmp_path / str(TP))
                await store.acquire(TopicPartition("other", 0), SETTINGS)
                assert facts == ["0"]
            log = await store.acquire(TP, SETTINGS)
            return log.epoch

    assert asyncio.run(scenario()) == 1


def test_processes_that_compete_for_a_partition_get_it_one_after_another(tmp_path):
    epochs = []
    for _ in range(3):
        with holder("partition", tmp_path, *TP) as (_, facts):
            epochs += map(int, facts)
    assert epochs == [0, 1, 2]


def test_concurrent_acquires_in_one_process_leave_one_owner(tmp_path):
    async def scenario():
        async with LocalStore(tmp_path) as store:
            logs = await asyncio.gather(*(store.acquire(TP, SETTINGS) for _ in range(8)))
            alive = []
            for log in logs:
                try:
                    append(log, b"x")
                except Fenced:
                    continue
                alive.append(log)
            assert len({log.epoch for log in logs}) == 8
            assert len(alive) == 1
            assert alive[0].epoch == 7
            assert await alive[0].sync() == 1

    asyncio.run(scenario())


def test_an_acquire_that_is_cancelled_holds_nothing(tmp_path):
    async def scenario():
        async with LocalStore(tmp_path) as store:
            for turns in range(6):
                acquiring = asyncio.ensure_future(store.acquire(TP, SETTINGS))
                for _ in range(turns):
                    await asyncio.sleep(0)
                acquiring.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await acquiring
                log = await store.acquire(TP, SETTINGS)
                await write(log, b"%d" % turns)
                await log.release()
            return contents(await store.acquire(TP, SETTINGS))

    assert asyncio.run(scenario()) == [(n, b"%d" % n) for n in range(6)]


def test_an_owner_whose_directory_was_replaced_finds_out(tmp_path):
    async def scenario():
        async with LocalStore(tmp_path) as store:
            log = await store.acquire(TP, SETTINGS)
            failures = []
            log.listen(None, failures.append)
            await log.confirm()
            os.rename(tmp_path / str(TP), tmp_path / "moved-0")
            with pytest.raises(Fenced, match=re.escape("replaced")):
                await log.confirm()
            with pytest.raises(Fenced):
                append(log, b"x")
            assert len(failures) == 1

    asyncio.run(scenario())
