"""A node's data directory as the pipeline sees it: whose it is, and its offsets log.

Drumbeat's and Kafka's are alike: `meta.properties` names the cluster, and each partition of
`__consumer_offsets` is a folder of segments.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from drumbeat.log.checkpoint import read_cleaned_offset
from drumbeat.log.names import parse_directory_name
from drumbeat.log.port import TopicPartition
from drumbeat.pipeline.decode.batches import OffsetRange
from drumbeat.pipeline.decode.listing import SegmentFile, live_segments, segments_of
from drumbeat.pipeline.decode.segments import decode_segment
from drumbeat.pipeline.errors import SourceError
from drumbeat.pipeline.manifest import LogPartition
from drumbeat.pipeline.offset_ranges import outside

OFFSETS_TOPIC: Final = "__consumer_offsets"
RANGE_BYTES_MAX: Final = 128 << 20  # of small segments in one range; a large one is a range alone
META_PROPERTIES: Final = "meta.properties"
_CLUSTER_ID: Final = "cluster.id"


@dataclass(frozen=True, slots=True)
class LogRange:
    """What one task reads: segments of one partition that follow each other."""

    source: LogPartition
    segments: tuple[SegmentFile, ...]
    bytes: int

    def decoded(self, segment: SegmentFile, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        cluster_id, log_partition = self.source
        return decode_segment(
            segment, cluster_id=cluster_id, log_partition=log_partition, schema=schema
        )


@dataclass(frozen=True, slots=True)
class LogFolder:
    path: str
    cluster_id: str
    directories: Mapping[int, str]  # of the partitions of the offsets topic

    @classmethod
    def open(cls, path: str, cluster_id: str | None = None) -> LogFolder:
        """The log in a data directory, or one partition's own folder; SourceError if none."""
        path = os.path.abspath(path)
        directories = _partition_directories(path)
        if not directories:
            raise SourceError(
                f"{path} holds no partition of {OFFSETS_TOPIC}; the source is the data directory "
                f"of a node (log.dirs), or a folder in it such as {OFFSETS_TOPIC}-0"
            )
        cluster_id = cluster_id or _cluster_id(path) or _cluster_id(os.path.dirname(path))
        if cluster_id is None:
            raise SourceError(
                f"{path} has no {META_PROPERTIES} that names its cluster; say which it is with "
                "--cluster-id (from a program: the option 'cluster')"
            )
        return cls(path, cluster_id, directories)

    def sources(self) -> list[LogPartition]:
        return [LogPartition(self.cluster_id, number) for number in sorted(self.directories)]

    def log_start(self, source: LogPartition) -> int | None:
        """The first offset that could have been read; None if nothing of the partition is here."""
        directory = self.directories.get(source.log_partition)
        segments = [] if directory is None else segments_of(directory)
        return segments[0].start_offset if segments else None

    def compacted(self, source: LogPartition) -> LogRange | None:
        """The log as it stands, if the cleaner has been through it."""
        directory = self.directories.get(source.log_partition)
        if directory is None:
            return None
        partition = TopicPartition(OFFSETS_TOPIC, source.log_partition)
        # Drumbeat notes how far it came in the partition's folder, Kafka in the data directory.
        places = (directory, os.path.dirname(directory))
        if not any(read_cleaned_offset(place, partition) for place in places):
            return None
        segments = live_segments(directory)
        return LogRange(source, tuple(segments), sum(map(_size, segments)))

    def ranges(
        self, source: LogPartition, wanted: OffsetRange, read: Sequence[OffsetRange] = ()
    ) -> Iterator[LogRange]:
        """What is to be read of the wanted offsets, apart from those that were `read` before."""
        gathered: list[SegmentFile] = []
        size = 0
        for segment in self._unread(source, wanted, read):
            segment_bytes = _size(segment)
            if gathered and size + segment_bytes > RANGE_BYTES_MAX:
                yield LogRange(source, tuple(gathered), size)
                gathered, size = [], 0
            gathered.append(segment)
            size += segment_bytes
        if gathered:
            yield LogRange(source, tuple(gathered), size)

    def _unread(
        self, source: LogPartition, wanted: OffsetRange, read: Sequence[OffsetRange]
    ) -> Iterator[SegmentFile]:
        for segment in segments_of(self.directories[source.log_partition]):
            start = max(segment.start_offset, wanted.start)
            end = min(segment.end_offset, wanted.end)
            for start_offset, end_offset in outside(OffsetRange(start, end), read):
                yield segment._replace(start_offset=start_offset, end_offset=end_offset)


def _partition_directories(path: str) -> dict[int, str]:
    try:
        names = os.listdir(path)
    except FileNotFoundError:
        raise SourceError(f"{path} does not exist") from None
    except OSError as problem:
        raise SourceError(f"{path} cannot be read: {problem.strerror}") from problem
    folders = [(name, os.path.join(path, name)) for name in names]
    folders.append((os.path.basename(path), path))
    return {
        parsed.partition: folder
        for name, folder in folders
        if (parsed := parse_directory_name(name)) is not None
        and parsed.topic == OFFSETS_TOPIC
        and os.path.isdir(folder)
    }


def _cluster_id(directory: str) -> str | None:
    try:
        with open(os.path.join(directory, META_PROPERTIES), encoding="utf-8") as file:
            pairs = [line.partition("=") for line in file]
    except (FileNotFoundError, NotADirectoryError):
        return None
    told = {key.strip(): value.strip() for key, _, value in pairs}
    return told.get(_CLUSTER_ID) or None


def _size(segment: SegmentFile) -> int:
    try:
        return os.stat(segment.path).st_size
    except FileNotFoundError:
        return 0  # moved to the history meanwhile; the decoder finds it there
