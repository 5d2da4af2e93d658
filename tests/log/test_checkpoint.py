"""Kafka's checkpoint files: bytes written, bytes understood, damage named."""

import pytest

from drumbeat.log.checkpoint import (
    read_epochs,
    read_start_offset,
    write_epochs,
    write_start_offset,
)
from drumbeat.log.errors import CorruptLog
from drumbeat.log.files import Disk
from drumbeat.log.port import EpochEntry, TopicPartition

TP = TopicPartition("a-b", 7)
EPOCHS, START = "leader-epoch-checkpoint", "log-start-offset-checkpoint"


def test_epochs_are_written_as_kafka_writes_them(tmp_path):
    assert read_epochs(str(tmp_path)) is None
    write_epochs(Disk(), str(tmp_path), [EpochEntry(0, 0), EpochEntry(3, 120)])
    assert (tmp_path / EPOCHS).read_bytes() == b"0\n2\n0 0\n3 120\n"
    assert read_epochs(str(tmp_path)) == [(0, 0), (3, 120)]
    assert [path.name for path in tmp_path.iterdir()] == [EPOCHS]


def test_start_offsets_are_written_as_kafka_writes_them(tmp_path):
    assert read_start_offset(str(tmp_path), TP) is None
    write_start_offset(Disk(), str(tmp_path), TP, 42)
    assert (tmp_path / START).read_bytes() == b"0\n1\na-b 7 42\n"
    assert read_start_offset(str(tmp_path), TP) == 42


def test_kafkas_own_file_for_all_partitions_is_understood(tmp_path):
    (tmp_path / START).write_text("0\n3\na-b 6 1\na-b 7 2\na-b-7 7 3\n")
    assert read_start_offset(str(tmp_path), TP) == 2
    assert read_start_offset(str(tmp_path), TopicPartition("c", 0)) is None


@pytest.mark.parametrize("content", [b"", b"0\n0\n"])
def test_a_file_without_entries_is_no_damage(tmp_path, content):
    (tmp_path / EPOCHS).write_bytes(content)
    assert read_epochs(str(tmp_path)) == []


@pytest.mark.parametrize(
    "content",
    [b"1\n0\n", b"0\n", b"0\n1\n", b"0\n1\n0 0\n1 5\n", b"0\nx\n", b"0\n1\nzero 0\n", b"0\n1\n1\n",
     b"0\n1\n1 2 3\n", b"\0\0\0\0", b"\xff\xfe", b"0\n-1\n", b"0\n1\n-1 0\n", b"0\n1\n0 -1\n",
     b"0\n2\n4 0\n3 2\n", b"0\n2\n3 2\n4 1\n", b"0\n2\n3 0\n3 5\n", b"0\n2\n3 5\n4 5\n"],
)  # fmt: skip
def test_damage_is_named_and_never_guessed_away(tmp_path, content):
    (tmp_path / EPOCHS).write_bytes(content)
    with pytest.raises(CorruptLog, match=EPOCHS):
        read_epochs(str(tmp_path))
    assert (tmp_path / EPOCHS).read_bytes() == content


@pytest.mark.parametrize("content", [b"0\n1\na-b 7\n", b"0\n1\na-b x 7\n", b"0\n1\na-b 7 x\n"])
def test_damaged_start_offsets_are_named(tmp_path, content):
    (tmp_path / START).write_bytes(content)
    with pytest.raises(CorruptLog, match=START):
        read_start_offset(str(tmp_path), TP)
