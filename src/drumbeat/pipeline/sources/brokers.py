"""Brokers as the pipeline asks them: which topics there are, and where their partitions end.

`Brokers` is nothing but configuration, so that it can travel to executors; every question opens
connections of its own, or uses those of `Brokers.admin()` if it is asked again and again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from drumbeat.client.admin.offsets import OffsetSpec
from drumbeat.client.admin.sync import SyncAdmin
from drumbeat.client.config.admin import AdminConfig
from drumbeat.client.config.consumer import ConsumerConfig
from drumbeat.client.values import TopicPartition

READ_COMMITTED: Final = "read_committed"
READ_UNCOMMITTED: Final = "read_uncommitted"
# The client uses the memory of a response again if it has no more than 4 MiB.
_FETCH_BYTES: Final = (4 << 20) - (64 << 10)
_DEFAULTS: Final = {
    "max.partition.fetch.bytes": _FETCH_BYTES,
    "allow.auto.create.topics": "false",  # to read from a topic must not make one
}
_ADMIN_KEYS: Final = frozenset(field.name for field in dataclasses.fields(AdminConfig))


class PartitionEnds(NamedTuple):
    """What can be read: from `log_start` up to but not including `end`.

    The end is the high watermark, or for read_committed the last stable offset.
    """

    log_start: int
    end: int


@dataclass(frozen=True, slots=True)
class Brokers:
    """How brokers are reached: configuration of a consumer, by Kafka's names."""

    options: Mapping[str, Any]

    @classmethod
    def at(cls, bootstrap_servers: str, **options: Any) -> Brokers:
        """For example `Brokers.at("localhost:9092", isolation_level=READ_COMMITTED)`."""
        dotted = {name.replace("_", "."): value for name, value in options.items()}
        return cls({**dotted, "bootstrap.servers": bootstrap_servers})

    def config(self) -> ConsumerConfig:
        """Raises ConfigError for what a consumer does not take."""
        return ConsumerConfig.of({**_DEFAULTS, **self.options})

    def admin(self) -> SyncAdmin:
        """Not started yet: use `with`."""
        keys = {name: value for name, value in self.options.items() if _is_for_admins(name)}
        return SyncAdmin(keys)

    @property
    def isolation_level(self) -> str:
        return self.config().isolation_level


def partition_ends(
    brokers: Brokers, topics: Iterable[str]
) -> dict[TopicPartition, tuple[int, int]]:
    """First offset and end of all partitions of these topics, which have to exist."""
    with brokers.admin() as admin:
        partitions = partitions_of(admin, topics)
        return dict(ends_of(admin, partitions, brokers.isolation_level))


def partitions_of(admin: SyncAdmin, topics: Iterable[str]) -> list[TopicPartition]:
    """All partitions of these topics, in order; UnknownTopicOrPartitionError if there is none."""
    described = admin.describe_topics(sorted(set(topics)))
    return [
        TopicPartition(topic.name, partition.index)
        for topic in described.values()
        for partition in topic.partitions
    ]


def ends_of(
    admin: SyncAdmin, partitions: Iterable[TopicPartition], isolation_level: str
) -> dict[TopicPartition, PartitionEnds]:
    wanted = list(partitions)
    if not wanted:
        return {}
    starts = admin.list_offsets(dict.fromkeys(wanted, OffsetSpec.EARLIEST))
    ends = admin.list_offsets(
        dict.fromkeys(wanted, OffsetSpec.LATEST), isolation_level=isolation_level
    )
    return {tp: PartitionEnds(starts[tp].offset, ends[tp].offset) for tp in wanted}


def offsets_at(
    admin: SyncAdmin, timestamps: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int | None]:
    """The first record's offset with at least that timestamp (ms); None if all are older."""
    if not timestamps:
        return {}
    found = admin.list_offsets(timestamps)
    return {tp: None if found[tp].offset < 0 else found[tp].offset for tp in timestamps}


def _is_for_admins(name: str) -> bool:
    return name.replace(".", "_") in _ADMIN_KEYS
