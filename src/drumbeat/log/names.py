"""Names on disk: Kafka's, and never a user's text as it came.

A topic name becomes part of a path only after `check_topic` has passed it: the allowed characters
leave no way to name another directory.
"""

from __future__ import annotations

import re
from typing import Final

from drumbeat.log.port import TopicPartition

LOG_SUFFIX: Final = ".log"
INDEX_SUFFIX: Final = ".index"
TIME_INDEX_SUFFIX: Final = ".timeindex"
CLEANED_SUFFIX: Final = ".cleaned"  # a compaction at work: worth nothing
SWAP_SUFFIX: Final = ".swap"  # a compaction whose result counts, on its way to its place
SEGMENT_SUFFIXES: Final = (LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX)

EPOCHS: Final = "leader-epoch-checkpoint"
START_OFFSET: Final = "log-start-offset-checkpoint"
CLEANED_OFFSET: Final = "cleaner-offset-checkpoint"
RECOVERY_POINT: Final = "recovery-point-offset-checkpoint"
HISTORY: Final = "history"
METADATA: Final = "partition.metadata"
_CHECKPOINTS = frozenset({EPOCHS, START_OFFSET, CLEANED_OFFSET, RECOVERY_POINT, METADATA})
CLEAN_SHUTDOWN: Final = ".kafka_cleanshutdown"
LOCK: Final = ".lock"

PARTITION_MAX: Final = 2**31 - 1
_NAME_BYTES_MAX = 255  # of the file systems we meet

_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_DIRECTORY = re.compile(r"([a-zA-Z0-9._-]{1,249})-(0|[1-9][0-9]{0,9})")
_SEGMENT = re.compile(r"([0-9]{20})\.log")
_SWAP = re.compile(r"([0-9]{20})\.log\.swap")
_HISTORY = re.compile(r"([0-9]{20})\.([0-9]{1,16})\.log")
_TOPIC_ID = re.compile(r"[A-Za-z0-9_-]{22}")
# Ours and Kafka's: topic (perhaps shortened), partition, 32 hexadecimal digits.
_DELETED = re.compile(r"[a-zA-Z0-9._-]+-[0-9]+\.[0-9a-f]{32}-delete")
_SEGMENT_FILE = re.compile(r"[0-9]{20}(-[0-9]+)?\.(log|index|timeindex|txnindex|snapshot)(\.\w+)?")


def check_topic(topic: str) -> str:
    """The topic itself if it can name a directory; ValueError otherwise."""
    if _TOPIC.fullmatch(topic) is None or topic in (".", ".."):
        raise ValueError(
            f"topic name {topic[:260]!r}: 1 to 249 of a-z, A-Z, 0-9, '.', '_' and '-', "
            "and neither '.' nor '..'"
        )
    return topic


def check_topic_id(topic_id: str) -> str:
    if _TOPIC_ID.fullmatch(topic_id) is None:
        raise ValueError(f"topic id {topic_id[:40]!r}: 22 characters of URL-safe base64")
    return topic_id


def directory_name(topic_partition: TopicPartition) -> str:
    """Kafka's `<topic>-<partition>`."""
    if not 0 <= topic_partition.partition <= PARTITION_MAX:
        raise ValueError(f"partition {topic_partition.partition}: 0 to {PARTITION_MAX}")
    name = f"{check_topic(topic_partition.topic)}-{topic_partition.partition}"
    if len(name) > _NAME_BYTES_MAX:
        raise ValueError(f"directory name {name!r} is longer than {_NAME_BYTES_MAX} bytes")
    return name


def parse_directory_name(name: str) -> TopicPartition | None:
    """The partition a directory holds, or None if the directory is not a partition's."""
    match = _DIRECTORY.fullmatch(name)
    if match is None or is_deleted_directory(name) or int(match[2]) > PARTITION_MAX:
        return None
    return TopicPartition(match[1], int(match[2]))


def deleted_directory_name(topic_partition: TopicPartition, unique: int) -> str:
    """The name a directory carries while its files are removed; `unique` tells two lives apart."""
    suffix = f"-{topic_partition.partition}.{unique:032x}-delete"
    return topic_partition.topic[: _NAME_BYTES_MAX - len(suffix)] + suffix


def is_deleted_directory(name: str) -> bool:
    return _DELETED.fullmatch(name) is not None


def segment_stem(base_offset: int) -> str:
    return f"{base_offset:020d}"


def parse_segment_name(name: str) -> int | None:
    """The base offset of a segment's .log file, or None for any other file."""
    match = _SEGMENT.fullmatch(name)
    return None if match is None else int(match[1])


def parse_swap_name(name: str) -> int | None:
    """The base offset of a compacted .log file that is not in its place yet."""
    match = _SWAP.fullmatch(name)
    return None if match is None else int(match[1])


def history_name(base_offset: int, superseded_ms: int) -> str:
    return f"{segment_stem(base_offset)}.{superseded_ms}{LOG_SUFFIX}"


def parse_history_name(name: str) -> tuple[int, int] | None:
    """The base offset of a superseded segment, and when it was superseded."""
    match = _HISTORY.fullmatch(name)
    return None if match is None else (int(match[1]), int(match[2]))


def is_partition_file(name: str) -> bool:
    """Whether Kafka or we write files of this name: deletion touches no other."""
    stem = name.removesuffix(".tmp")
    return stem in _CHECKPOINTS or _SEGMENT_FILE.fullmatch(name) is not None
