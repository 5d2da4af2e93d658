"""WriteTxnMarkers (key 27): the transaction coordinator closes a transaction on its partitions.

v1 is flexible. v2 adds the transaction version (KIP-1228).
"""

from typing import Annotated, NamedTuple

from drumbeat.protocol.api import Api, versions
from drumbeat.protocol.schema import Int8, Int16, Int32, Int64, V


class WritableTxnMarkerTopic(NamedTuple):
    name: str = ""
    partition_indexes: tuple[Int32, ...] = ()


class WritableTxnMarker(NamedTuple):
    producer_id: Int64 = 0
    producer_epoch: Int16 = 0
    transaction_result: bool = False
    topics: tuple[WritableTxnMarkerTopic, ...] = ()
    coordinator_epoch: Int32 = 0
    transaction_version: Annotated[Int8, V(2)] = 0


class WriteTxnMarkersRequest(NamedTuple):
    markers: tuple[WritableTxnMarker, ...] = ()


class WritableTxnMarkerPartitionResult(NamedTuple):
    partition_index: Int32 = 0
    error_code: Int16 = 0


class WritableTxnMarkerTopicResult(NamedTuple):
    name: str = ""
    partitions: tuple[WritableTxnMarkerPartitionResult, ...] = ()


class WritableTxnMarkerResult(NamedTuple):
    producer_id: Int64 = 0
    topics: tuple[WritableTxnMarkerTopicResult, ...] = ()


class WriteTxnMarkersResponse(NamedTuple):
    markers: tuple[WritableTxnMarkerResult, ...] = ()


API = Api(
    key=27,
    name="WriteTxnMarkers",
    versions=versions("1-2"),
    flexible=1,
    request=WriteTxnMarkersRequest,
    response=WriteTxnMarkersResponse,
)
