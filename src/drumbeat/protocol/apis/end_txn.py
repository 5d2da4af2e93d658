"""EndTxn (key 26): a transaction is committed or aborted.

v2 may answer PRODUCER_FENCED. v3 is flexible. v5 returns the producer's id and
raised epoch (KIP-890).
"""

from typing import Annotated, NamedTuple

from drumbeat.protocol.api import Api, versions
from drumbeat.protocol.schema import Int16, Int32, Int64, V


class EndTxnRequest(NamedTuple):
    transactional_id: str = ""
    producer_id: Int64 = 0
    producer_epoch: Int16 = 0
    committed: bool = False


class EndTxnResponse(NamedTuple):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    producer_id: Annotated[Int64, V(5)] = -1
    producer_epoch: Annotated[Int16, V(5)] = -1


API = Api(
    key=26,
    name="EndTxn",
    versions=versions("0-5"),
    flexible=3,
    request=EndTxnRequest,
    response=EndTxnResponse,
)
