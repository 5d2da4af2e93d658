"""Drumbeat or Apache Kafka, in a process of its own, to the same clients."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from interop.kafka_jars import start_kafka
from support.node_process import NodeProcess


@contextmanager
def start_drumbeat(folder: Path, settings: Mapping[str, str] | None = None) -> Iterator[str]:
    """Bootstrap servers of a node that has to end in good order."""
    chosen = {"group.initial.rebalance.delay.ms": "0", **(settings or {})}
    options = [word for key, value in chosen.items() for word in ("--set", f"{key}={value}")]
    data = ("--data", str(folder / "data"))
    with NodeProcess(*data, *options, logs=folder / "node.log") as node:
        yield node.bootstrap_servers
        assert node.stop() == 0, node.log_text


BROKERS: dict[str, Callable[..., AbstractContextManager[str]]] = {
    "drumbeat": start_drumbeat,
    "kafka": start_kafka,
}
