"""End offsets of the topics that the generated groups consume, as a sampler would see them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa

from drumbeat.pipeline.generator.plan import LogPlan, TopicPlan
from drumbeat.pipeline.schemas import WATERMARKS

CLUSTER_ID: Final = "generated"
SOURCE: Final = "generator"
_RETENTION_MS: Final = 7 * 24 * 3_600_000


def samples(plan: LogPlan, every_ms: int) -> Iterator[pa.RecordBatch]:
    """One batch per topic: all its partitions, every `every_ms`, from begin to end."""
    for topic in plan.topics:
        yield _of_topic(plan, topic, every_ms)


def _of_topic(plan: LogPlan, topic: TopicPlan, every_ms: int) -> pa.RecordBatch:
    elapsed = np.arange(0, plan.duration_ms + every_ms, every_ms, dtype=np.int64)
    produced = np.floor(elapsed * topic.records_per_ms).astype(np.int64)
    ends = np.tile(topic.base_offset + produced, topic.partitions)
    retained = int(_RETENTION_MS * topic.records_per_ms)
    count = len(ends)
    columns = {
        "cluster_id": pa.repeat(CLUSTER_ID, count),
        "topic": pa.repeat(topic.name, count),
        "partition": np.repeat(np.arange(topic.partitions, dtype=np.int32), len(elapsed)),
        "sampled_at": plan.start_ms + np.tile(elapsed, topic.partitions),
        "log_start": np.maximum(ends - retained, 0),
        "lso": ends,
        "high_watermark": ends,
        "max_ts": plan.start_ms + np.tile(elapsed, topic.partitions),
        "source": pa.repeat(SOURCE, count),
    }
    arrays = [pa.array(columns[field.name], type=field.type) for field in WATERMARKS.arrow_schema]
    return pa.RecordBatch.from_arrays(arrays, schema=WATERMARKS.arrow_schema)
