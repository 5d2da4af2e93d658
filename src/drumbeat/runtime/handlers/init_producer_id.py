"""InitProducerId: an id for an idempotent producer. Transactional ids are refused."""

from drumbeat.protocol.apis.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from drumbeat.protocol.errors import ErrorCode
from drumbeat.runtime.broker import Broker
from drumbeat.runtime.durably import StorageFailed
from drumbeat.runtime.requests import Request

NONE = -1


async def handle(
    broker: Broker, request: Request, body: InitProducerIdRequest
) -> InitProducerIdResponse:
    if body.transactional_id == "":
        return _error(ErrorCode.INVALID_REQUEST)
    if body.transactional_id is not None:
        # There is no transaction coordinator; this is the error producers treat as final.
        return _error(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    if (body.producer_id == NONE) != (body.producer_epoch == NONE):
        return _error(ErrorCode.INVALID_REQUEST)
    try:
        producer_id = await broker.producer_ids.next_id()
    except StorageFailed:
        return _error(ErrorCode.COORDINATOR_NOT_AVAILABLE)  # producers try again
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)


def _error(error_code: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=error_code, producer_id=NONE, producer_epoch=NONE)
