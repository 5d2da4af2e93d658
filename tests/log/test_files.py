"""File operations: every byte written however few the system takes, and files replaced whole."""

import errno
import os

import pytest

from drumbeat.log.durability import describe_durability
from drumbeat.log.files import (
    Disk,
    SyncError,
    make_directory,
    read_exactly,
    write_file,
    write_file_atomically,
)
from drumbeat.log.writing import IOV_MAX, write_all
from log.helpers import FaultyDisk


@pytest.fixture
def fd(tmp_path):
    descriptor = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    yield descriptor
    os.close(descriptor)


@pytest.mark.parametrize("count", [0, 1, IOV_MAX - 1, IOV_MAX, IOV_MAX + 1, 3 * IOV_MAX + 7])
def test_any_number_of_buffers_is_written(fd, count):
    buffers = [b"%d," % n for n in range(count)]
    write_all(Disk(), fd, buffers, 5)
    assert os.pread(fd, 1 << 20, 5) == b"".join(buffers)


@pytest.mark.parametrize("bytes_per_write", [1, 2, 3, 7, 100])
def test_short_writes_are_continued(fd, bytes_per_write):
    disk = FaultyDisk()
    disk.bytes_per_write = bytes_per_write
    buffers = [b"", b"one", memoryview(b"two and three"), b"", b"4"]
    write_all(disk, fd, buffers, 0)
    assert os.pread(fd, 100, 0) == b"onetwo and three4"
    assert disk.writes == -(-17 // bytes_per_write)


def test_replacing_a_file_leaves_no_trace_of_the_old_one(tmp_path):
    path = str(tmp_path / "x")
    write_file(Disk(), path, b"a long first version")
    write_file(Disk(), path, b"short")
    assert (tmp_path / "x").read_bytes() == b"short"
    assert oct(os.stat(path).st_mode & 0o777) == "0o600"


@pytest.mark.parametrize("queue", ["write_errors", "sync_errors"])
def test_a_replacement_that_fails_leaves_the_old_file(tmp_path, queue):
    path, disk = str(tmp_path / "x"), FaultyDisk()
    write_file_atomically(disk, path, b"old")
    getattr(disk, queue).append(errno.EIO)
    with pytest.raises(OSError, match="Input/output error"):
        write_file_atomically(disk, path, b"new")
    assert (tmp_path / "x").read_bytes() == b"old"
    write_file_atomically(disk, path, b"new")
    assert (tmp_path / "x").read_bytes() == b"new"


def test_a_failed_sync_is_its_own_kind_of_error(tmp_path):
    disk = FaultyDisk()
    disk.sync_errors.append(errno.ENOSPC)
    with pytest.raises(SyncError):
        write_file(disk, str(tmp_path / "x"), b"data")


def test_directories_are_private(tmp_path):
    assert make_directory(str(tmp_path / "d"))
    assert not make_directory(str(tmp_path / "d"))
    assert oct((tmp_path / "d").stat().st_mode & 0o777) == "0o700"


def test_reading_stops_only_at_the_end(fd):
    os.pwrite(fd, b"0123456789", 0)
    assert read_exactly(fd, 4, 3) == b"3456"
    assert read_exactly(fd, 100, 3) == b"3456789"
    assert read_exactly(fd, 100, 10) == b""


@pytest.mark.parametrize(
    ("directory", "words"), [("/dev/shm", "lives in memory"), ("/proc", "honours fsync")]
)
def test_durability_names_the_file_system(directory, words):
    assert words in " ".join(describe_durability(directory).assumed)
