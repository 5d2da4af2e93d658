"""FindCoordinator: this node, for every group; there is no transaction or share coordinator."""

from drumbeat.protocol.apis.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from drumbeat.protocol.errors import ErrorCode
from drumbeat.runtime.broker import Broker
from drumbeat.runtime.requests import Request

GROUP, TRANSACTION, SHARE = 0, 1, 2
SEVERAL_KEYS_SINCE = 4
SHARE_GROUPS_SINCE = 6


async def handle(
    broker: Broker, request: Request, body: FindCoordinatorRequest
) -> FindCoordinatorResponse:
    several = request.api_version >= SEVERAL_KEYS_SINCE
    keys = body.coordinator_keys if several else (body.key,)
    error_code, message = _refusal(request, body.key_type)
    if error_code is ErrorCode.NONE and keys and await broker.groups.ensure_topic() is None:
        error_code = ErrorCode.COORDINATOR_NOT_AVAILABLE
    coordinators = tuple(_coordinator(broker, key, error_code, message) for key in keys)
    if several:
        return FindCoordinatorResponse(coordinators=coordinators)
    (only,) = coordinators
    return FindCoordinatorResponse(
        error_code=only.error_code,
        # These versions spell success out.
        error_message=message or ErrorCode(only.error_code).name,
        node_id=only.node_id,
        host=only.host,
        port=only.port,
    )


def _refusal(request: Request, key_type: int) -> tuple[ErrorCode, str]:
    if key_type == GROUP:
        return ErrorCode.NONE, ""
    if key_type == TRANSACTION:
        return ErrorCode.INVALID_REQUEST, "there is no transaction coordinator"
    if key_type == SHARE and request.api_version >= SHARE_GROUPS_SINCE:
        return ErrorCode.INVALID_REQUEST, "there is no share coordinator"
    return ErrorCode.INVALID_REQUEST, f"unknown coordinator key type {key_type}"


def _coordinator(broker: Broker, key: str, error_code: ErrorCode, message: str) -> Coordinator:
    if error_code is not ErrorCode.NONE:
        return Coordinator(
            key=key, node_id=-1, host="", port=-1, error_code=error_code, error_message=message
        )
    host, port = broker.advertised
    return Coordinator(key=key, node_id=broker.node_id, host=host, port=port, error_message="")
