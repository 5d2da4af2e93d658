"""Where the partitions in a data directory begin and end now: one sample for `watermarks`.

Names of files say where a log begins, and the last batches where it ends; the rest is not read. It
is what this node has: on one of several replicas, that may be less or more than readers may see.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import pyarrow as pa

from drumbeat.log.checkpoint import read_start_offset
from drumbeat.log.errors import CorruptLog
from drumbeat.log.files import open_for_reading
from drumbeat.log.names import LOG_SUFFIX, parse_directory_name, parse_segment_name, segment_stem
from drumbeat.log.port import TopicPartition
from drumbeat.pipeline.decode.stretches import read_end
from drumbeat.pipeline.lag.watermarks import TIME_INDEX
from drumbeat.pipeline.schemas import WATERMARKS
from drumbeat.pipeline.sources.log_folder import OFFSETS_TOPIC
from drumbeat.pipeline.sources.offsets_log import LogEnds, OffsetsLog, PastEnd

_NOT_CONSUMED: Final = frozenset(
    {OFFSETS_TOPIC, "__transaction_state", "__share_group_state", "__cluster_metadata"}
)


def topic_ends(data_directory: str) -> dict[tuple[str, int], LogEnds]:
    """Of all topics that groups consume. A folder that is no data directory has none."""
    return {
        topic_partition: ends
        for topic_partition, directory in _partitions(data_directory)
        if (ends := log_ends(directory, topic_partition)) is not None
    }


def log_ends(directory: str, topic_partition: TopicPartition) -> LogEnds | None:
    """None for a partition without segments, one being deleted, or one we may not read."""
    try:
        with os.scandir(directory) as entries:
            found = (parse_segment_name(entry.name) for entry in entries)
            base_offsets = sorted(offset for offset in found if offset is not None)
        if not base_offsets:
            return None
        start = read_start_offset(directory, topic_partition) or 0
        last = base_offsets[-1]
        with open_for_reading(os.path.join(directory, segment_stem(last) + LOG_SUFFIX)) as fd:
            return LogEnds(max(start, base_offsets[0]), read_end(fd, last).offset)
    except (FileNotFoundError, PermissionError, CorruptLog):
        return None


def watermark_rows(
    log: OffsetsLog, ends: Mapping[tuple[str, int], LogEnds], sampled_at: int
) -> pa.RecordBatch:
    """One sample."""
    rows = [
        {
            "cluster_id": log.cluster_id,
            "topic": topic,
            "partition": partition,
            "sampled_at": sampled_at,
            "log_start": log_start,
            "lso": lso,
            "high_watermark": log_end,
            "source": log.sampler,
        }
        for (topic, partition), (log_start, log_end, lso) in sorted(ends.items())
    ]
    return pa.RecordBatch.from_pylist(rows, schema=WATERMARKS.arrow_schema)


def past_rows(
    log: OffsetsLog, place: tuple[str, int], log_start: int, ends: Sequence[PastEnd]
) -> pa.RecordBatch:
    """Ends of one partition at times before the sample."""
    topic, partition = place
    at_ms, log_ends, max_ts = zip(*ends, strict=True)
    columns = {
        "cluster_id": pa.repeat(log.cluster_id, len(ends)),
        "topic": pa.repeat(topic, len(ends)),
        "partition": pa.repeat(pa.scalar(partition, pa.int32()), len(ends)),
        "sampled_at": pa.array(at_ms, pa.int64()),
        "log_start": pa.repeat(pa.scalar(log_start, pa.int64()), len(ends)),
        "lso": pa.nulls(len(ends), pa.int64()),
        "high_watermark": pa.array(log_ends, pa.int64()),
        "max_ts": pa.array(max_ts, pa.int64()),
        "source": pa.repeat(TIME_INDEX, len(ends)),
    }
    schema = WATERMARKS.arrow_schema
    return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)


def _partitions(data_directory: str) -> Iterator[tuple[TopicPartition, str]]:
    with os.scandir(data_directory) as entries:
        for entry in entries:
            parsed = parse_directory_name(entry.name)
            if parsed is not None and parsed.topic not in _NOT_CONSUMED and entry.is_dir():
                yield parsed, entry.path
