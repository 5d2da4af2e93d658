"""A broker that is stopped and started again on the same data."""

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from drumbeat.protocol.apis import produce
from drumbeat.protocol.apis.list_groups import ListGroupsRequest
from drumbeat.protocol.records import Record, encode_batch
from groups.conftest import GOLDEN_SETTINGS, create_golden_topics
from groups.wire_clients import WireClients
from groups.wire_coordinator import WireCoordinator
from support.brokers import start_broker
from support.data_topics import Topic, produce_request
from support.waiting import wait_until
from support.wire import Wire

ADMIN_CLIENT_ID = "__admin_client"  # the one that may write to internal topics
OFFSETS_TOPIC = Topic("__consumer_offsets", bytes(16))
PRODUCE_VERSION = 9  # names topics


class Bounced:
    """Started by entering it; `restart` as often as needed."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self._folder = folder
        self._settings = {**GOLDEN_SETTINGS, **settings}
        self._broker = ExitStack()
        self._connections = ExitStack()
        self.topics: dict[str, Topic] = {}

    def __enter__(self) -> "Bounced":
        self.start()
        self.topics = create_golden_topics(self.servers)
        return self

    def __exit__(self, *_exc: object) -> None:
        self.stop()
        self._connections.close()

    def start(self, *, is_awaited: bool = True, **settings: str) -> None:
        chosen = {**self._settings, **settings}
        self.servers = self._broker.enter_context(start_broker(self._folder, chosen))
        self.coordinator = self._connections.enter_context(WireCoordinator(self.servers))
        if is_awaited:
            wait_until(self.is_loaded, 10.0, "all groups are loaded")

    def stop(self) -> None:
        """Clients stay as they are: what they are told at the end can still be read."""
        self._broker.close()

    def restart(self, **settings: str) -> None:
        self.stop()
        self.start(**settings)

    def is_loaded(self) -> bool:
        return self.coordinator.send(ListGroupsRequest()).error_code == 0

    def clients(self, group_id: str) -> WireClients:
        return WireClients(self.coordinator, group_id)

    def produce(
        self, partition: int, records: Iterable[tuple[bytes, bytes | None]], client_id: str
    ) -> int:
        """Write to the offsets topic as this client; the error code."""
        batch = encode_batch([Record(d, 0, key, value) for d, (key, value) in enumerate(records)])
        with Wire(self.servers, client_id) as wire:
            request = produce_request(OFFSETS_TOPIC, batch, partition=partition)
            response = wire.call(produce.API, PRODUCE_VERSION, request)
        (answered,) = response.responses
        return answered.partition_responses[0].error_code
