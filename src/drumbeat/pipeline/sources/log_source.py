"""Spark data source `drumbeat_log`: the offsets log in a data directory, as rows of `log_records`.

    register_sources(spark)  # of drumbeat.pipeline.session
    spark.read.format("drumbeat_log").load("/var/lib/kafka")

Options, named as in Spark's own Kafka source where it has them:
`path` (given by `load`); `cluster`, if the directory does not name it; `startingOffsets` and
`endingOffsets`, "earliest", "latest" or JSON such as {"__consumer_offsets": {"0": 1200}}, the end
excluded; `failOnDataLoss`, "false" to go on with the next segment where one is damaged.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from drumbeat.pipeline.decode.batches import OffsetRange
from drumbeat.pipeline.decode.errors import CorruptSegment
from drumbeat.pipeline.decode.listing import SegmentFile
from drumbeat.pipeline.decode.segments import decode_segment
from drumbeat.pipeline.errors import SourceError
from drumbeat.pipeline.manifest import LogPartition
from drumbeat.pipeline.schemas import LOG_RECORDS
from drumbeat.pipeline.sources.log_folder import OFFSETS_TOPIC, LogFolder, LogRange
from drumbeat.pipeline.worker_memory import keep_modules

NAME: Final = "drumbeat_log"
EARLIEST: Final = "earliest"
LATEST: Final = "latest"
_OFFSET_MAX: Final = 2**63 - 1
_BOOLEANS: Final = {"true": True, "false": False}


class LogDataSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        return LOG_RECORDS.spark_schema

    def reader(self, schema: StructType) -> LogReader:
        return LogReader(self.options)


class RangePartition(InputPartition):
    def __init__(self, log_range: LogRange) -> None:
        super().__init__(None)
        self.log_range = log_range


class LogReader(DataSourceReader):
    """One Spark partition per range of segments."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._path = options.get("path")
        self._cluster_id = options.get("cluster")
        self._start = _Boundary("startingOffsets", options.get("startingOffsets"), EARLIEST, 0)
        self._end = _Boundary("endingOffsets", options.get("endingOffsets"), LATEST, _OFFSET_MAX)
        self._is_strict = _boolean("failOnDataLoss", options.get("failOnDataLoss", "true"))

    def partitions(self) -> Sequence[RangePartition]:
        if self._path is None:
            raise SourceError(f"{NAME} needs a path: the data directory of a node")
        folder = LogFolder.open(self._path, self._cluster_id)
        return [
            RangePartition(log_range)
            for source in folder.sources()
            for log_range in folder.ranges(source, self._wanted(source.log_partition))
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, RangePartition)
        keep_modules()
        log_range = partition.log_range
        for segment in log_range.segments:
            try:
                yield from read_segment(log_range.source, segment)
            except CorruptSegment:
                if self._is_strict:
                    raise

    def _wanted(self, log_partition: int) -> OffsetRange:
        return OffsetRange(self._start.of(log_partition), self._end.of(log_partition))


def read_segment(source: LogPartition, segment: SegmentFile) -> Iterator[pa.RecordBatch]:
    return decode_segment(segment, cluster_id=source.cluster_id, log_partition=source.log_partition)


class _Boundary:
    """Where reading begins or ends in each partition."""

    def __init__(self, option: str, text: str | None, word: str, default: int) -> None:
        self._default = default
        self._offsets = {} if text in (None, word) else _parse_offsets(option, word, text or "")

    def of(self, log_partition: int) -> int:
        return self._offsets.get(log_partition, self._default)


def _parse_offsets(option: str, word: str, text: str) -> dict[int, int]:
    try:
        told = json.loads(text)[OFFSETS_TOPIC].items()
        offsets = {int(partition): int(offset) for partition, offset in told}
    except (ValueError, KeyError, TypeError, AttributeError):
        offsets = {-1: -1}
    if min((*offsets, *offsets.values()), default=0) < 0:
        raise SourceError(
            f'{option} is {text!r}; it may be "{word}", or JSON with offsets by partition such as '
            f'{{"{OFFSETS_TOPIC}": {{"0": 1200}}}}, where partitions left out have "{word}"'
        )
    return offsets


def _boolean(option: str, text: str) -> bool:
    try:
        return _BOOLEANS[text.lower()]
    except KeyError:
        raise SourceError(f"{option} is {text!r}; it may be true or false") from None
