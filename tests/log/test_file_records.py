"""Records that stay in their file: what is sent, and what may happen to the file meanwhile."""

import asyncio
import os
import socket

import pytest

from drumbeat.log.file_records import FileRecords
from drumbeat.log.port import LogSettings
from drumbeat.log.segment import FILE_RECORDS_BYTES_MIN
from drumbeat.log.store import LocalStore
from log.helpers import TP, segment_files, write

SIZE = 40_000
SETTINGS = LogSettings(segment_bytes=8 * SIZE)


def received(records: FileRecords, start: int = 0) -> bytes:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        parts = []
        while start < len(records):
            sent = records.send(ours.fileno(), start)
            parts.append(theirs.recv(sent, socket.MSG_WAITALL))
            start += sent
        return b"".join(parts)


def in_files(directory) -> bytes:
    return b"".join((directory / name).read_bytes() for name in segment_files(directory))


async def filled(store):
    log = await store.acquire(TP, SETTINGS)
    for number in range(10):
        await write(log, bytes([number]) * SIZE)
    return log


@pytest.mark.parametrize(
    ("bytes_max", "is_in_file"),
    [(1000, False), (FILE_RECORDS_BYTES_MIN - 1, False), (FILE_RECORDS_BYTES_MIN, True)],
)
def test_only_large_reads_stay_in_the_file(tmp_path, bytes_max, is_in_file):
    async def scenario():
        async with LocalStore(tmp_path) as store:
            log = await filled(store)
            found = log.read(0, bytes_max, whole_first_batch=False)
            assert isinstance(found, FileRecords) is is_in_file
            assert len(found) == bytes_max
            return received(found) if is_in_file else found

    assert asyncio.run(scenario()) == in_files(tmp_path / str(TP))[:bytes_max]


def test_any_part_can_be_sent_or_read(tmp_path):
    async def scenario():
        async with LocalStore(tmp_path) as store:
            return (await filled(store)).read(2, 1 << 20)

    found = asyncio.run(scenario())
    whole = found.read(0, 1 << 20)
    assert len(whole) == len(found)
    assert received(found, len(found) - 5) == found.read(len(found) - 5, 100) == whole[-5:]
    assert found.read(100, 50) == whole[100:150]


def test_its_segment_may_be_removed(tmp_path):
    async def scenario():
        async with LocalStore(tmp_path) as store:
            log = await filled(store)
            expected = in_files(tmp_path / str(TP))
            found = log.read(0, 1 << 20)
            await log.delete_records_before(log.end_offset)
            assert len(segment_files(tmp_path / str(TP))) == 1
            return received(found), expected

    sent, expected = asyncio.run(scenario())
    assert sent
    assert expected.startswith(sent)


def test_its_descriptor_is_closed_with_the_last_reference(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"records")
    fd = os.open(path, os.O_RDONLY)
    found = FileRecords(fd, 0, 7)
    assert found.read(0, 7) == b"records"
    del found
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)
