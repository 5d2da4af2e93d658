"""AddPartitionsToTxn (key 24): partitions join a transaction.

Up to v3 sent by clients; v3 is flexible. v4 and v5 are sent between brokers, for several
transactions at once.
"""

from typing import Annotated, NamedTuple

from drumbeat.protocol.api import Api, versions
from drumbeat.protocol.schema import Int16, Int32, Int64, V


class AddPartitionsToTxnTopic(NamedTuple):
    name: str = ""
    partitions: tuple[Int32, ...] = ()


class AddPartitionsToTxnTransaction(NamedTuple):
    transactional_id: str = ""
    producer_id: Int64 = 0
    producer_epoch: Int16 = 0
    verify_only: bool = False
    topics: tuple[AddPartitionsToTxnTopic, ...] = ()


class AddPartitionsToTxnRequest(NamedTuple):
    transactions: Annotated[tuple[AddPartitionsToTxnTransaction, ...], V(4)] = ()
    v3_and_below_transactional_id: Annotated[str, V(until=3)] = ""
    v3_and_below_producer_id: Annotated[Int64, V(until=3)] = 0
    v3_and_below_producer_epoch: Annotated[Int16, V(until=3)] = 0
    v3_and_below_topics: Annotated[tuple[AddPartitionsToTxnTopic, ...], V(until=3)] = ()


class AddPartitionsToTxnPartitionResult(NamedTuple):
    partition_index: Int32 = 0
    partition_error_code: Int16 = 0


class AddPartitionsToTxnTopicResult(NamedTuple):
    name: str = ""
    results_by_partition: tuple[AddPartitionsToTxnPartitionResult, ...] = ()


class AddPartitionsToTxnResult(NamedTuple):
    transactional_id: str = ""
    topic_results: tuple[AddPartitionsToTxnTopicResult, ...] = ()


class AddPartitionsToTxnResponse(NamedTuple):
    throttle_time_ms: Int32 = 0
    error_code: Annotated[Int16, V(4)] = 0
    results_by_transaction: Annotated[tuple[AddPartitionsToTxnResult, ...], V(4)] = ()
    results_by_topic_v3_and_below: Annotated[
        tuple[AddPartitionsToTxnTopicResult, ...], V(until=3)
    ] = ()


API = Api(
    key=24,
    name="AddPartitionsToTxn",
    versions=versions("0-5"),
    flexible=3,
    request=AddPartitionsToTxnRequest,
    response=AddPartitionsToTxnResponse,
)
