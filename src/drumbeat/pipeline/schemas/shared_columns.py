"""Columns that several tables have, with one meaning."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from drumbeat.pipeline.schemas.declaration import required

PARTITION_OF_LOG: Final = (
    required("cluster_id", pa.string(), "the cluster whose log this is"),
    required("log_partition", pa.int32(), "partition of __consumer_offsets"),
)
PLACE_IN_LOG: Final = (
    *PARTITION_OF_LOG,
    required("log_offset", pa.int64(), "the record that says so; of several, the first"),
)
COMPLETE: Final = required(
    "complete", pa.bool_(), "whether no record is missing that could have changed this row"
)
GROUP: Final = (
    required("group_id", pa.string(), "the group"),
    required("group_type", pa.string(), "classic, consumer, share or streams"),
)
CLUSTER: Final = PARTITION_OF_LOG[0]
PARTITION_OF_GROUP: Final = (
    *PARTITION_OF_LOG,
    required("group_id", pa.string(), "the group"),
    required("topic", pa.string(), "the topic"),
    required("partition", pa.int32(), "the topic's partition"),
)
