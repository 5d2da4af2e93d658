"""DescribeCluster (key 60): cluster id, controller and brokers.

v1 adds the endpoint type (KIP-919), v2 fenced brokers.
"""

from typing import Annotated, NamedTuple

from drumbeat.protocol.api import Api, versions
from drumbeat.protocol.schema import Int8, Int16, Int32, V


class DescribeClusterRequest(NamedTuple):
    include_cluster_authorized_operations: bool = False
    endpoint_type: Annotated[Int8, V(1)] = 1
    include_fenced_brokers: Annotated[bool, V(2)] = False


class DescribeClusterBroker(NamedTuple):
    broker_id: Int32 = 0
    host: str = ""
    port: Int32 = 0
    rack: str | None = None
    is_fenced: Annotated[bool, V(2)] = False


class DescribeClusterResponse(NamedTuple):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = None
    endpoint_type: Annotated[Int8, V(1)] = 1
    cluster_id: str = ""
    controller_id: Int32 = -1
    brokers: tuple[DescribeClusterBroker, ...] = ()
    cluster_authorized_operations: Int32 = -2147483648


API = Api(
    key=60,
    name="DescribeCluster",
    versions=versions("0-2"),
    flexible=0,
    request=DescribeClusterRequest,
    response=DescribeClusterResponse,
)
