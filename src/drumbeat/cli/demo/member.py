"""One consumer in a process of its own, so that it can be killed.

Run as `python -m drumbeat.cli.demo.member LIBRARY SERVERS GROUP TOPIC NAME`. Writes one line of
JSON whenever it was given other partitions; SIGTERM makes it leave the group.
"""

import json
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

SESSION_TIMEOUT_MS = 3_000
HEARTBEAT_MS = 500
POLL_MS = 100
COMMIT_MS = 500

Owned = list[int]


def consume_with_drumbeat(servers: str, group: str, topic: str, name: str) -> None:
    from drumbeat.client import SyncConsumer

    with SyncConsumer(
        bootstrap_servers=servers,
        group_id=group,
        client_id=name,
        auto_offset_reset="earliest",
        session_timeout_ms=SESSION_TIMEOUT_MS,
        heartbeat_interval_ms=HEARTBEAT_MS,
        auto_commit_interval_ms=COMMIT_MS,
        partition_assignment_strategy="cooperative-sticky",
    ) as consumer:
        consumer.subscribe([topic])
        _consume_until_told(lambda: consumer.poll(POLL_MS), consumer.assignment)


def consume_with_kafka_python(servers: str, group: str, topic: str, name: str) -> None:
    from kafka import KafkaConsumer

    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=servers,
        group_id=group,
        client_id=name,
        auto_offset_reset="earliest",
        session_timeout_ms=SESSION_TIMEOUT_MS,
        heartbeat_interval_ms=HEARTBEAT_MS,
        auto_commit_interval_ms=COMMIT_MS,
    )
    try:
        _consume_until_told(lambda: consumer.poll(timeout_ms=POLL_MS), consumer.assignment)
    finally:
        consumer.close()


# in the order of preference for the group of the third-party client: import name -> how it consumes
LIBRARIES: dict[str, Callable[[str, str, str, str], None]] = {
    "drumbeat.client": consume_with_drumbeat,
    "kafka": consume_with_kafka_python,
}


def _consume_until_told(poll: Callable[[], Any], assignment: Callable[[], Any]) -> None:
    told = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: told.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the demo, which then tells us
    owned: Owned | None = None
    while not told.is_set():
        poll()
        now_owned = sorted(tp.partition for tp in assignment())
        if now_owned != owned:
            owned = now_owned
            print(json.dumps(owned), flush=True)


if __name__ == "__main__":
    LIBRARIES[sys.argv[1]](*sys.argv[2:])
