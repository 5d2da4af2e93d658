"""AddOffsetsToTxn (key 25): a group's offsets partition joins a transaction.

v2 may answer PRODUCER_FENCED. v3 is flexible.
"""

from typing import NamedTuple

from drumbeat.protocol.api import Api, versions
from drumbeat.protocol.schema import Int16, Int32, Int64


class AddOffsetsToTxnRequest(NamedTuple):
    transactional_id: str = ""
    producer_id: Int64 = 0
    producer_epoch: Int16 = 0
    group_id: str = ""


class AddOffsetsToTxnResponse(NamedTuple):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0


API = Api(
    key=25,
    name="AddOffsetsToTxn",
    versions=versions("0-4"),
    flexible=3,
    request=AddOffsetsToTxnRequest,
    response=AddOffsetsToTxnResponse,
)
