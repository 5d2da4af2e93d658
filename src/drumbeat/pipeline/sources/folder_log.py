"""The offsets log in a node's data directory, as the jobs ask for it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from drumbeat.log.names import directory_name
from drumbeat.log.port import TopicPartition
from drumbeat.pipeline.decode.batches import OffsetRange
from drumbeat.pipeline.manifest import LogPartition
from drumbeat.pipeline.sources.end_offsets import log_ends, topic_ends
from drumbeat.pipeline.sources.event_log import EVENTS_TOPIC, EventFolder, event_partitions
from drumbeat.pipeline.sources.log_folder import OFFSETS_TOPIC, LogFolder, LogRange
from drumbeat.pipeline.sources.offsets_log import Between, LogEnds, PastEnd
from drumbeat.pipeline.sources.past_ends import past_ends


@dataclass(frozen=True, slots=True)
class FolderLog:
    folder: LogFolder

    @classmethod
    def open(cls, path: str, cluster_id: str | None = None) -> FolderLog:
        """SourceError if there is no log."""
        return cls(LogFolder.open(path, cluster_id))

    @property
    def cluster_id(self) -> str:
        return self.folder.cluster_id

    @property
    def sampler(self) -> str:
        return "data_directory"

    def refreshed(self) -> FolderLog:
        return FolderLog.open(self.folder.path, self.folder.cluster_id)

    def sources(self) -> list[LogPartition]:
        return self.folder.sources()

    def ranges(
        self, source: LogPartition, wanted: OffsetRange, read: Sequence[OffsetRange] = ()
    ) -> Iterator[LogRange]:
        return self.folder.ranges(source, wanted, read)

    def log_start(self, source: LogPartition) -> int | None:
        return self.folder.log_start(source)

    def log_end(self, source: LogPartition) -> int | None:
        directory = self.folder.directories.get(source.log_partition)
        if directory is None:
            return None
        ends = log_ends(directory, TopicPartition(OFFSETS_TOPIC, source.log_partition))
        return None if ends is None else ends.log_end

    def compacted(self, source: LogPartition) -> LogRange | None:
        return self.folder.compacted(source)

    def topic_ends(self, _topics: Sequence[str]) -> Mapping[tuple[str, int], LogEnds]:
        """Of all topics that are here: to look is cheap."""
        return topic_ends(self.folder.path)

    def past_ends(self, place: tuple[str, int], asked: Between, every_ms: int) -> list[PastEnd]:
        directory = os.path.join(self.folder.path, directory_name(TopicPartition(*place)))
        return past_ends(directory, asked, every_ms)

    def answers(self) -> None:
        """A folder does not answer."""

    def event_partitions(self) -> list[int]:
        return event_partitions(self.folder.path)

    def event_reader(self, partition: int, start_offset: int) -> EventFolder:
        name = directory_name(TopicPartition(EVENTS_TOPIC, partition))
        return EventFolder.of(os.path.join(self.folder.path, name), start_offset)
