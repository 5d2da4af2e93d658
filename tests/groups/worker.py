"""A program with our consumer in it, to be killed, stopped, kept busy or cut off.

It takes its options from the command line, reads, commits what it was given before it asks for
more, and prints what happens: a line of JSON each, with the time on a clock that all processes
share. A delivery has the time of the call that asked for it. SIGUSR1 keeps it busy for a while,
before its next commit or before its next poll.
"""

import json
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

from drumbeat.client import ConsumerRecord, RebalanceListener, SyncConsumer
from drumbeat.client.errors import CommitFailedError, KafkaError, RebalanceInProgressError

POLL_MS = 50
WRITTEN = 10  # that many records at once; nobody knows when the next ones come


def say(event: str, at_s: float, facts: Any) -> None:
    print(json.dumps([event, at_s, facts]), flush=True)


class Listener(RebalanceListener):
    def on_partitions_assigned(self, partitions) -> None:
        self._say("assigned", partitions)

    def on_partitions_revoked(self, partitions) -> None:
        self._say("revoked", partitions)

    def on_partitions_lost(self, partitions) -> None:
        self._say("lost", partitions)

    def _say(self, what: str, partitions) -> None:
        say(what, time.monotonic(), sorted(tp.partition for tp in partitions))


def polled(consumer: SyncConsumer) -> Iterator[list[ConsumerRecord]]:
    """What poll() returns, batch by batch."""
    while True:
        asked_at_s = time.monotonic()
        records = [record for some in consumer.poll(POLL_MS).values() for record in some]
        _say_delivered(asked_at_s, records)
        yield records


def iterated(consumer: SyncConsumer) -> Iterator[list[ConsumerRecord]]:
    """What `for record in consumer` gives, one by one."""
    records = iter(consumer)
    while True:
        batch: list[ConsumerRecord] = []
        while not batch or not (is_busy.is_set() or batch[-1].offset % WRITTEN == WRITTEN - 1):
            asked_at_s = time.monotonic()
            batch.append(next(records))
            _say_delivered(asked_at_s, batch[-1:])
        yield batch


def _say_delivered(asked_at_s: float, records: list[ConsumerRecord]) -> None:
    if records:
        say("delivered", asked_at_s, [(record.partition, record.offset) for record in records])


def commit(consumer: SyncConsumer) -> None:
    positions = {tp.partition: consumer.position(tp) for tp in consumer.assignment()}
    try:
        consumer.commit()
    except (CommitFailedError, RebalanceInProgressError) as problem:
        say("refused", time.monotonic(), str(problem))
    except KafkaError as problem:
        if not problem.retriable:
            raise
        say("refused", time.monotonic(), str(problem))
    else:
        say("committed", time.monotonic(), list(positions.items()))


is_busy = threading.Event()


def stay_busy(for_s: float) -> None:
    if is_busy.is_set():
        is_busy.clear()
        say("busy", time.monotonic(), for_s)
        time.sleep(for_s)


def main() -> None:
    orders, options = json.loads(sys.argv[1])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # wherever it is
    signal.signal(signal.SIGUSR1, lambda *_: is_busy.set())
    with SyncConsumer(options) as consumer:
        consumer.subscribe([orders["topic"]], listener=Listener())
        for records in {"poll": polled, "iterate": iterated}[orders["reading"]](consumer):
            if not records:
                continue
            if orders["busy_before"] == "commit":
                stay_busy(orders["busy_s"])
            commit(consumer)
            if orders["busy_before"] == "poll":
                stay_busy(orders["busy_s"])


if __name__ == "__main__":
    main()
