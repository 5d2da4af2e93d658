"""InitProducerId (key 22): a producer receives its id and epoch.

v2 is flexible. v3 lets a producer keep its id and raise the epoch (KIP-360). v4 adds
PRODUCER_FENCED, v5 TRANSACTION_ABORTABLE.
"""

from typing import Annotated, NamedTuple

from drumbeat.protocol.api import Api, versions
from drumbeat.protocol.schema import Int16, Int32, Int64, V


class InitProducerIdRequest(NamedTuple):
    transactional_id: str | None = ""
    transaction_timeout_ms: Int32 = 0
    producer_id: Annotated[Int64, V(3)] = -1
    producer_epoch: Annotated[Int16, V(3)] = -1


class InitProducerIdResponse(NamedTuple):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    producer_id: Int64 = -1
    producer_epoch: Int16 = 0


API = Api(
    key=22,
    name="InitProducerId",
    versions=versions("0-5"),
    flexible=2,
    request=InitProducerIdRequest,
    response=InitProducerIdResponse,
)
