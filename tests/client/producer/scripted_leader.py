"""A broker of one partition that keeps Kafka's rules for sequences and fails as it is told to.

Faults are used up one per Produce request; when none is left, it works.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from enum import Enum, auto
from typing import Any

from drumbeat.protocol.api import Api
from drumbeat.protocol.apis import APIS, api_versions, init_producer_id, metadata, produce
from drumbeat.protocol.apis.api_versions import ApiVersion, ApiVersionsResponse
from drumbeat.protocol.apis.init_producer_id import InitProducerIdResponse
from drumbeat.protocol.apis.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from drumbeat.protocol.apis.produce import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.frame import frame
from drumbeat.protocol.header import encode_response_header, read_request_header, skip_tags
from drumbeat.protocol.record_batch import read_header
from drumbeat.protocol.records import decode_records
from drumbeat.runtime.producers import Producers

OFFERED = (api_versions.API, metadata.API, produce.API, init_producer_id.API)
TOPIC = "t"


class Fault(Enum):
    LOST_REQUEST = auto()  # the connection ends before anything is stored
    LOST_ANSWER = auto()  # ... after it was stored
    NOT_LEADER = ErrorCode.NOT_LEADER_OR_FOLLOWER
    NOT_ENOUGH_REPLICAS = ErrorCode.NOT_ENOUGH_REPLICAS
    STORED_BY_TOO_FEW = ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    FORGOTTEN = ErrorCode.UNKNOWN_PRODUCER_ID
    OUT_OF_ORDER = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    TOO_LARGE = ErrorCode.MESSAGE_TOO_LARGE
    INVALID = ErrorCode.INVALID_RECORD
    NONE = ErrorCode.NONE


STORES_FIRST = (Fault.LOST_ANSWER, Fault.STORED_BY_TOO_FEW, Fault.NONE)
CUTS = (Fault.LOST_REQUEST, Fault.LOST_ANSWER)


class ScriptedLeader:
    def __init__(
        self,
        faults: Iterable[Fault] = (),
        *,
        records_max: int | None = None,
        offered: Iterable[Api] = OFFERED,
    ) -> None:
        self._offered = tuple(offered)
        self._faults = deque(faults)
        self._records_max = records_max  # larger batches are too large
        self._producers = Producers()
        self.values: list[bytes | None] = []
        self.epochs: list[int] = []  # of the batches stored
        self.requests = 0
        self._port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                size = int.from_bytes(await reader.readexactly(4))
                header, position = read_request_header(data := await reader.readexactly(size))
                api, version = APIS[header.api_key], header.api_version
                if api.is_flexible(version):
                    position = skip_tags(data, position)
                response = self._answer(api.key, api.decode_request(version)(data, position))
                if response is None:
                    return
                head = encode_response_header(
                    header.correlation_id, api.response_header_version(version)
                )
                writer.write(frame(head, api.encode_response(version)(response)))
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass  # the client went away, or the test is over
        finally:
            writer.close()

    def _answer(self, api_key: int, body: Any) -> Any:
        match api_key:
            case metadata.API.key:
                return self._metadata()
            case init_producer_id.API.key:
                return InitProducerIdResponse(producer_id=7, producer_epoch=0)
            case produce.API.key:
                return self._produce(body)
        versions = (ApiVersion(a.key, a.versions[0], a.versions[-1]) for a in self._offered)
        return ApiVersionsResponse(api_keys=tuple(versions))

    def _metadata(self) -> MetadataResponse:
        partition = MetadataResponsePartition(leader_id=1, replica_nodes=(1,), isr_nodes=(1,))
        return MetadataResponse(
            brokers=(MetadataResponseBroker(1, "127.0.0.1", self._port),),
            topics=(MetadataResponseTopic(name=TOPIC, partitions=(partition,)),),
        )

    def _produce(self, body: Any) -> ProduceResponse | None:
        self.requests += 1
        fault = self._faults.popleft() if self._faults else Fault.NONE
        records = body.topic_data[0].partition_data[0].records
        answer = self._append(records) if fault in STORES_FIRST else PartitionProduceResponse()
        if fault in CUTS:
            return None
        if fault is not Fault.NONE and answer.error_code == ErrorCode.NONE:
            answer = answer._replace(error_code=fault.value, base_offset=-1, log_start_offset=0)
        return ProduceResponse(
            responses=(TopicProduceResponse(TOPIC, partition_responses=(answer,)),)
        )

    def _append(self, records: bytes) -> PartitionProduceResponse:
        header = read_header(records)
        if self._records_max is not None and header.record_count > self._records_max:
            return PartitionProduceResponse(error_code=ErrorCode.MESSAGE_TOO_LARGE)
        known = self._producers.duplicate(header) if header.producer_id >= 0 else None
        if known is not None:
            return PartitionProduceResponse(base_offset=known.base_offset)
        if header.producer_id >= 0 and (error := self._producers.check(header)):
            return PartitionProduceResponse(error_code=error, log_start_offset=0)
        base_offset = len(self.values)
        self._producers.remember(header, base_offset)
        self.values += [record.value for record in decode_records(records)]
        self.epochs.append(header.producer_epoch)
        return PartitionProduceResponse(base_offset=base_offset)

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self._port = server.sockets[0].getsockname()[1]
        try:
            yield f"127.0.0.1:{self._port}"
        finally:
            server.close()
