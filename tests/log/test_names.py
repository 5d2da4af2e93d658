"""Names on disk."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.log.names import (
    check_topic_id,
    deleted_directory_name,
    directory_name,
    is_deleted_directory,
    is_partition_file,
    parse_directory_name,
    parse_segment_name,
    segment_stem,
)
from drumbeat.log.port import TopicPartition

topics = st.from_regex(r"[a-zA-Z0-9._-]{1,249}", fullmatch=True).filter(
    lambda name: name not in (".", "..")
)


@given(topics, st.integers(0, 99_999))
def test_a_directory_name_leads_back_to_its_partition(topic, partition):
    name = directory_name(TopicPartition(topic, partition))
    assert "/" not in name
    assert parse_directory_name(name) in (TopicPartition(topic, partition), None)
    if not is_deleted_directory(name):
        assert parse_directory_name(name) == TopicPartition(topic, partition)


@given(topics, st.integers(0, 2**31 - 1), st.integers(0, 2**128 - 1))
def test_a_deleted_directory_has_a_possible_name_and_is_no_partition(topic, partition, unique):
    name = deleted_directory_name(TopicPartition(topic, partition), unique)
    assert len(name) <= 255
    assert is_deleted_directory(name)
    assert parse_directory_name(name) is None


@pytest.mark.parametrize(
    "name",
    ["", "a", "-0", "a-", "a-01", "a--", "a-x", ".lock", "a b-0", "a-99999999999", "a-4294967296",
     "meta.properties", "a-0.0123456789abcdef0123456789abcdef-delete", "a-0.x-future"],
)  # fmt: skip
def test_other_directories_are_no_partitions(name):
    assert parse_directory_name(name) is None


def test_a_name_longer_than_a_file_system_takes_is_refused():
    assert directory_name(TopicPartition("x" * 249, 99_999))
    with pytest.raises(ValueError, match="longer than 255"):
        directory_name(TopicPartition("x" * 249, 100_000))


@pytest.mark.parametrize(
    ("name", "base_offset"),
    [
        ("00000000000000000000.log", 0),
        ("00000000000123456789.log", 123456789),
        ("0.log", None),
        ("00000000000000000000.index", None),
        ("00000000000000000000.log.deleted", None),
        ("00000000000000000000.log.swap", None),
        ("a0000000000000000000.log", None),
    ],
)
def test_segment_names(name, base_offset):
    assert parse_segment_name(name) == base_offset
    if base_offset is not None:
        assert segment_stem(base_offset) + ".log" == name


@pytest.mark.parametrize(
    ("name", "is_ours"),
    [
        ("00000000000000000000.log", True),
        ("00000000000000000007.timeindex", True),
        ("00000000000000000007.txnindex", True),
        ("00000000000000000007.snapshot", True),
        ("00000000000000000007.log.deleted", True),
        ("leader-epoch-checkpoint", True),
        ("leader-epoch-checkpoint.tmp", True),
        ("log-start-offset-checkpoint", True),
        ("partition.metadata", True),
        ("notes.txt", False),
        ("history", False),
        ("7.log", False),
        ("..", False),
    ],
)
def test_deletion_knows_its_own_files(name, is_ours):
    assert is_partition_file(name) is is_ours


@pytest.mark.parametrize("topic_id", ["", "short", "A" * 23, "A" * 21 + "/", "A" * 21 + "\n"])
def test_impossible_topic_ids_are_refused(topic_id):
    with pytest.raises(ValueError, match="topic id"):
        check_topic_id(topic_id)
