"""Offsets committed in transactions, on a broker that has a coordinator for them."""

import asyncio

from drumbeat.protocol.apis import (
    end_txn,
    find_coordinator,
    init_producer_id,
    offset_fetch,
    txn_offset_commit,
)
from drumbeat.protocol.apis.end_txn import EndTxnRequest
from drumbeat.protocol.apis.find_coordinator import FindCoordinatorRequest
from drumbeat.protocol.apis.init_producer_id import InitProducerIdRequest
from drumbeat.protocol.apis.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from drumbeat.protocol.apis.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from drumbeat.protocol.errors import ErrorCode
from interop.oracle.connection import Client

CLIENT = "transactions"
TRANSACTION_KEY = 1
POLL_S = 0.01


async def commit_offset(
    client: Client, group_id: str, partition: int, offset: int, *, ending: bool | None
) -> None:
    """Commit in a transaction that ends so, or not at all."""
    transactional_id = f"{group_id}-{partition}"
    key = FindCoordinatorRequest(transactional_id, TRANSACTION_KEY)
    await client.call_until_ok(CLIENT, find_coordinator.API, 3, key)
    init = InitProducerIdRequest(transactional_id, 60_000)
    producer = await client.call_until_ok(CLIENT, init_producer_id.API, 4, init)
    who = (producer.producer_id, producer.producer_epoch)
    position = TxnOffsetCommitRequestPartition(partition, offset, 1, "in a transaction")
    request = TxnOffsetCommitRequest(
        transactional_id,
        group_id,
        *who,
        topics=(TxnOffsetCommitRequestTopic("orders", (position,)),),
    )
    answer = await client.call(CLIENT, txn_offset_commit.API, 5, request)
    assert answer.topics[0].partitions[0].error_code == ErrorCode.NONE, answer
    if ending is not None:
        end = EndTxnRequest(transactional_id, *who, committed=ending)
        await client.call_until_ok(CLIENT, end_txn.API, 4, end)
        await _await_marker(client, group_id, partition)


async def _await_marker(client: Client, group_id: str, partition: int) -> None:
    """The coordinator answers before the group's partition has seen the end."""
    topics = (OffsetFetchRequestTopic("orders", (partition,)),)
    question = OffsetFetchRequest(group_id, topics, require_stable=True)
    while True:
        answer = await client.call(CLIENT, offset_fetch.API, 7, question)
        if answer.topics[0].partitions[0].error_code != ErrorCode.UNSTABLE_OFFSET_COMMIT:
            return
        await asyncio.sleep(POLL_S)
