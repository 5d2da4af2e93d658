"""The producer for plain code: futures of the standard library, callbacks, any thread."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from drumbeat.client.errors import (
    IllegalStateError,
    NoBrokersAvailable,
    ProducerClosedError,
    RecordTooLargeError,
)
from drumbeat.client.producer import SyncProducer
from support.data_topics import fresh_name
from support.ports import free_ports

TIMEOUT_S = 10.0


def test_futures_tell_where_records_are(bootstrap_servers, read_back):
    topic = fresh_name("sync")
    with SyncProducer(bootstrap_servers=bootstrap_servers) as producer:
        futures = [producer.send(topic, b"%d" % n, partition=n % 3) for n in range(3000)]
        producer.flush()
        assert all(future.done() for future in futures)
        offsets = [(f.result().partition, f.result().offset) for f in futures]
    assert offsets == [(n % 3, n // 3) for n in range(3000)]
    found = {(r.partition, r.offset): r.value for r in read_back(topic)}
    assert [found[place] for place in offsets] == [b"%d" % n for n in range(3000)]


def test_callbacks_get_the_metadata_or_the_error(bootstrap_servers):
    seen, are_all = [], Event()

    def on_delivery(metadata, error):
        seen.append((metadata, error))
        if len(seen) == 2:
            are_all.set()

    with SyncProducer(bootstrap_servers=bootstrap_servers) as producer:
        producer.send(fresh_name("callback"), b"v", partition=0, on_delivery=on_delivery)
        failed = producer.send("t", bytes(2_000_000), on_delivery=on_delivery)
        with pytest.raises(RecordTooLargeError):
            failed.result(TIMEOUT_S)
        assert are_all.wait(TIMEOUT_S)
    errors = [error for _, error in seen if error is not None]
    offsets = [metadata.offset for metadata, _ in seen if metadata is not None]
    assert offsets == [0]
    assert [type(error) for error in errors] == [RecordTooLargeError]


def test_a_callback_that_raises_harms_nobody(bootstrap_servers):
    def on_delivery(metadata, error):
        raise RuntimeError("not again")

    with SyncProducer(bootstrap_servers=bootstrap_servers) as producer:
        future = producer.send("t", b"v", on_delivery=on_delivery)
        assert future.result(TIMEOUT_S).offset >= 0
        assert producer.send_and_wait("t", b"v").offset >= 0


def test_a_callback_may_send_but_not_wait(bootstrap_servers):
    topic, outcome = fresh_name("again"), []

    with SyncProducer(bootstrap_servers=bootstrap_servers) as producer:

        def on_delivery(metadata, error):
            outcome.append(producer.send(topic, b"second", partition=0))
            with pytest.raises(IllegalStateError, match="must not wait"):
                producer.flush()
            done.set()

        done = Event()
        producer.send(topic, b"first", partition=0, on_delivery=on_delivery)
        assert done.wait(TIMEOUT_S)
        assert outcome[0].result(TIMEOUT_S).offset == 1


def test_many_threads_may_send(bootstrap_servers):
    topic = fresh_name("threads")
    with (
        SyncProducer(bootstrap_servers=bootstrap_servers) as producer,
        ThreadPoolExecutor(4) as threads,
    ):

        def send(name: int) -> list[int]:
            futures = [producer.send(topic, b"%d" % name, partition=0) for _ in range(500)]
            return [future.result(TIMEOUT_S).offset for future in futures]

        offsets = list(threads.map(send, range(4)))
    assert all(mine == sorted(mine) for mine in offsets)
    assert sorted(offset for mine in offsets for offset in mine) == list(range(2000))


def test_closed_means_closed(bootstrap_servers):
    producer = SyncProducer(bootstrap_servers=bootstrap_servers, linger_ms=60_000)
    producer.start()
    future = producer.send("t", b"v", partition=0)
    producer.close()
    assert future.result(0).offset >= 0
    producer.close()
    with pytest.raises(ProducerClosedError):
        producer.send("t", b"v")


def test_not_started_and_not_reachable():
    (port,) = free_ports(1)
    producer = SyncProducer(bootstrap_servers=f"127.0.0.1:{port}")
    with pytest.raises(IllegalStateError, match="not started"):
        producer.send("t", b"v")
    with pytest.raises(NoBrokersAvailable, match="refused"):
        producer.start()
