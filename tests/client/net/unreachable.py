"""A bootstrap server that answers, and names a broker at an address where it is not."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from client.net.scripted_broker import broker, listening
from drumbeat.client.config.common import read_addresses
from drumbeat.protocol.apis import api_versions, find_coordinator, metadata
from drumbeat.protocol.apis.find_coordinator import FindCoordinatorResponse
from drumbeat.protocol.apis.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from drumbeat.protocol.header import RequestHeader

NODE_ID = 7
TOPIC = "orders"
# Versions from before flexible headers, of which the scripted broker knows nothing.
OFFERED = {
    api_versions.API.key: (0, 2),
    metadata.API.key: (0, 7),
    find_coordinator.API.key: (0, 2),
}


@asynccontextmanager
async def advertising(advertised: str) -> AsyncIterator[str]:
    """Address of a server that says: node 7, its controller, leader and coordinator, is there."""
    ((host, port),) = read_addresses(advertised)
    partition = MetadataResponsePartition(partition_index=0, leader_id=NODE_ID)
    cluster = MetadataResponse(
        brokers=(MetadataResponseBroker(node_id=NODE_ID, host=host, port=port),),
        controller_id=NODE_ID,
        topics=(MetadataResponseTopic(name=TOPIC, partitions=(partition,)),),
    )
    coordinator = FindCoordinatorResponse(node_id=NODE_ID, host=host, port=port)

    def answer(header: RequestHeader) -> bytes:
        if header.api_key == metadata.API.key:
            return metadata.API.encode_response(header.api_version)(cluster)
        return find_coordinator.API.encode_response(header.api_version)(coordinator)

    async with listening(broker(answer, offered=OFFERED)) as bootstrap:
        yield bootstrap
