"""A node that is killed again and again while records are produced: all of them, once, in order."""

import asyncio
from pathlib import Path

import pytest

from drumbeat.client.producer import Producer
from support.node_process import NodeProcess
from support.ports import free_ports

pytestmark = pytest.mark.crash

KILLS = 2
RECORDS_PER_ROUND = 400
PARTITIONS = 2


class Restarted:
    """A node on one port and one folder, whoever's turn it is to run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        (self._port,) = free_ports(1)
        self._node: NodeProcess | None = None

    def start(self) -> None:
        settings = ("--set", f"num.partitions={PARTITIONS}")
        data = ("--data", str(self._folder / "data"))
        self._node = NodeProcess(*data, *settings, logs=self._folder / "log", port=self._port)
        self._node.start()

    def kill(self) -> None:
        assert self._node is not None
        self._node.kill()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._port}"


async def produce_while_killing(node: Restarted) -> list[list[int]]:
    """Numbers as acknowledged, by partition and offset."""
    stored: list[dict[int, int]] = [{} for _ in range(PARTITIONS)]
    options = {"retry_backoff_ms": 20, "batch_size": 200, "linger_ms": 1}
    async with Producer(bootstrap_servers=node.address, **options) as producer:
        for kill in range(KILLS + 1):
            deliveries = []
            for number in range(RECORDS_PER_ROUND):
                value = kill * RECORDS_PER_ROUND + number
                delivery = await producer.send("t", b"%d" % value, partition=number % PARTITIONS)
                deliveries.append((value, delivery))
                if number == RECORDS_PER_ROUND // 2 and kill < KILLS:
                    await asyncio.to_thread(node.kill)
            if kill < KILLS:
                await asyncio.to_thread(node.start)
            for value, delivery in deliveries:
                metadata = await delivery
                stored[metadata.partition][metadata.offset] = value
    return [[offsets[at] for at in sorted(offsets)] for offsets in stored]


def test_once_and_in_order(tmp_path, read_back):
    node = Restarted(tmp_path)
    node.start()
    try:
        acknowledged = asyncio.run(produce_while_killing(node))
        records = read_back("t", PARTITIONS, node.address)
    finally:
        node.kill()
    total = (KILLS + 1) * RECORDS_PER_ROUND
    for partition in range(PARTITIONS):
        expected = list(range(partition, total, PARTITIONS))
        found = sorted((r.offset, int(r.value)) for r in records if r.partition == partition)
        assert [value for _, value in found] == expected == acknowledged[partition]
        assert [offset for offset, _ in found] == list(range(len(expected)))
