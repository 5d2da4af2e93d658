"""DescribeCluster: cluster id, controller and brokers."""

from drumbeat.protocol.apis.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from drumbeat.protocol.errors import ErrorCode
from drumbeat.runtime.authorized import CLUSTER_OPERATIONS, NOT_ASKED
from drumbeat.runtime.broker import Broker
from drumbeat.runtime.requests import Request

BROKERS, CONTROLLERS = 1, 2  # endpoint types; only a controller's listener answers the second


def handle(
    broker: Broker, request: Request, body: DescribeClusterRequest
) -> DescribeClusterResponse:
    if body.endpoint_type != BROKERS:
        is_known = body.endpoint_type == CONTROLLERS
        return DescribeClusterResponse(
            error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE
            if is_known
            else ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
            error_message="this is a broker's listener; ask for endpoint type 1",
            endpoint_type=BROKERS,
        )
    host, port = broker.advertised
    asked = body.include_cluster_authorized_operations
    return DescribeClusterResponse(
        error_message=None,
        endpoint_type=BROKERS,
        cluster_id=broker.cluster_id,
        controller_id=broker.node_id,
        brokers=(
            DescribeClusterBroker(
                broker_id=broker.node_id, host=host, port=port, rack=broker.config.broker_rack
            ),
        ),
        cluster_authorized_operations=CLUSTER_OPERATIONS if asked else NOT_ASKED,
    )
