"""drumbeat demo: two consumers share a topic, one leaves, the other takes over."""

import json
import threading
import time
from collections import Counter
from typing import Annotated, Any

import typer

app = typer.Typer(add_completion=False, rich_markup_mode=None)

TOPIC, GROUP = "orders", "billing"
PARTITIONS, RECORDS = 4, 1000
WAIT_S = 20.0


@app.command()
def demo(
    records: Annotated[int, typer.Option(help="How many records to produce.")] = RECORDS,
) -> None:
    """Watch a node at work: start it, produce, consume as a group, lose a member, show why.

    Uses kafka-python, an unmodified third-party client, and a node in memory.
    """
    try:
        import kafka
    except ImportError:
        print("drumbeat demo: it shows a third-party client at work; pip install kafka-python")
        raise typer.Exit(2) from None
    from drumbeat.testing import Cluster

    started = time.perf_counter()
    with Cluster() as cluster:
        ready_ms = (time.perf_counter() - started) * 1000
        say(f"a node is ready at {cluster.bootstrap_servers} after {ready_ms:.0f} ms")
        _play(kafka, cluster.bootstrap_servers, records)


def _play(kafka: Any, servers: str, records: int) -> None:
    admin = kafka.KafkaAdminClient(bootstrap_servers=servers)
    admin.create_topics([kafka.admin.NewTopic(TOPIC, PARTITIONS, 1)])
    say(f"topic {TOPIC!r} has {PARTITIONS} partitions")
    _produce(kafka, servers, records)
    first = Member(kafka, servers, "first")
    wait_until(lambda: len(first.partitions) == PARTITIONS)
    say(f"{first.name!r} joined group {GROUP!r} and owns partitions {first.partitions}")
    second = Member(kafka, servers, "second")
    wait_until(lambda: first.partitions and second.partitions and is_shared(first, second))
    say(
        f"{second.name!r} joined; {first.name!r} owns {first.partitions}, "
        f"{second.name!r} {second.partitions}"
    )
    first.leave()
    say(f"{first.name!r} leaves")
    wait_until(lambda: len(second.partitions) == PARTITIONS)
    say(f"{second.name!r} owns {second.partitions}")
    wait_until(lambda: len(first.seen | second.seen) == records)
    second.leave()
    say(
        f"all {records} records were consumed: {first.name!r} saw {len(first.seen)}, "
        f"{second.name!r} {len(second.seen)}"
    )
    _show_events(kafka, servers)
    admin.close()


def _produce(kafka: Any, servers: str, records: int) -> None:
    producer = kafka.KafkaProducer(bootstrap_servers=servers)
    for number in range(records):
        producer.send(TOPIC, b"order %d" % number, partition=number % PARTITIONS)
    producer.flush()
    producer.close()
    say(f"{records} records produced")


def _show_events(kafka: Any, servers: str) -> None:
    """What the coordinator noted meanwhile, read with an ordinary consumer."""
    consumer = kafka.KafkaConsumer(
        bootstrap_servers=servers, auto_offset_reset="earliest", consumer_timeout_ms=500
    )
    consumer.assign([kafka.TopicPartition("__group_events", 0)])
    print(f"\n  {'generation':<12}{'members':<9}{'join ms':<9}{'sync ms':<9}why it began")
    reason = ""
    for record in consumer:
        event = json.loads(record.value)
        if event["type"] == "rebalance_begun":
            reason = event["reason"].replace("_", " ")
        elif event["type"] == "rebalance_completed":
            print(
                f"  {event['generation_id']:<12}{event['members']:<9}{event['join_ms']:<9}"
                f"{event['sync_ms']:<9}{reason}"
            )
    consumer.close()


class Member:
    """A consumer in a thread of its own."""

    def __init__(self, kafka: Any, servers: str, name: str) -> None:
        self.name = name
        self.seen: set[bytes] = set()
        self.partitions: list[int] = []
        self._leaving = threading.Event()
        self._consumer = kafka.KafkaConsumer(
            TOPIC,
            group_id=GROUP,
            client_id=name,
            bootstrap_servers=servers,
            auto_offset_reset="earliest",
            heartbeat_interval_ms=200,
        )
        self._thread = threading.Thread(target=self._consume, name=name, daemon=True)
        self._thread.start()

    def _consume(self) -> None:
        while not self._leaving.is_set():
            for batch in self._consumer.poll(timeout_ms=50).values():
                self.seen |= {record.value for record in batch}
            self.partitions = sorted(p.partition for p in self._consumer.assignment())
        self._consumer.close()

    def leave(self) -> None:
        self._leaving.set()
        self._thread.join()


def is_shared(first: Member, second: Member) -> bool:
    owned = Counter([*first.partitions, *second.partitions])
    return sorted(owned.elements()) == list(range(PARTITIONS))


def wait_until(condition: Any) -> None:
    deadline = time.perf_counter() + WAIT_S
    while not condition():
        if time.perf_counter() > deadline:
            print(f"drumbeat demo: the next step did not happen within {WAIT_S:.0f} s")
            raise typer.Exit(1)
        time.sleep(0.02)


def say(text: str) -> None:
    print(f"- {text}", flush=True)
