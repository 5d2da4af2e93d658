"""Records leave straight from their file, in order, whatever peers and files do meanwhile."""

import os
import socket
import threading
from collections.abc import Iterator

import pytest

from drumbeat.log.segment import FILE_RECORDS_BYTES_MIN
from drumbeat.protocol.apis import api_versions, delete_topics
from drumbeat.protocol.apis.api_versions import ApiVersionsRequest
from drumbeat.protocol.apis.delete_topics import DeleteTopicsRequest
from drumbeat.testing import Cluster
from support.data_topics import (
    FETCH,
    Topic,
    batch,
    create_topic,
    fetch_from,
    fetch_partition,
    fetch_request,
    partitions_of,
    produce_to,
)
from support.waiting import wait_until
from support.wire import ConnectionClosed, Wire, request_frame

PATIENCE_S = 10.0
VERSION = 12
ANSWER_BYTES = 4 << 20
IDLE_MS_MAX = 600_000  # connections.max.idle.ms
VERSIONS = ApiVersionsRequest("wire", "1")


@pytest.fixture
def data(tmp_path) -> str:
    return str(tmp_path / "data")


@pytest.fixture
def cluster(start, data) -> Cluster:
    return start(data=data)


@pytest.fixture
def topic(wire) -> Topic:
    """More in partition 0 than sockets hold, a little in 1, and in 2 as much as is sent so."""
    created = create_topic(wire, partitions=3)
    for number in range(12):
        produce_to(wire, created, batch(*[bytes([number]) * 1000] * 900))
    produce_to(wire, created, batch(b"small"), partition=1)
    produce_to(wire, created, batch(os.urandom(FILE_RECORDS_BYTES_MIN)), partition=2)
    return created


@pytest.fixture
def slow(cluster) -> Iterator[Wire]:
    """A client whose socket takes little and that has not begun to read."""
    with Wire(cluster.bootstrap_servers) as client:
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 14)
        yield client


def segment(data: str, topic: Topic, partition: int = 0) -> str:
    return os.path.join(data, f"{topic.name}-{partition}", f"{0:020d}.log")


def in_file(data: str, topic: Topic, partition: int = 0) -> bytes:
    with open(segment(data, topic, partition), "rb") as file:
        return file.read()


def large_fetch(topic: Topic, *partitions: int):
    asked = [fetch_partition(0, index, partition_max_bytes=ANSWER_BYTES) for index in partitions]
    return fetch_request(topic, *asked)


def await_stuck(cluster: Cluster) -> None:
    """Until some connection has an answer that its socket does not take."""
    connections = cluster.node.listener._connections
    wait_until(
        lambda: any(one._sender._unsent for one in tuple(connections)), PATIENCE_S, "a full socket"
    )


def unsent_bytes(cluster: Cluster) -> int:
    return sum(one._sender.unsent_bytes for one in tuple(cluster.node.listener._connections))


def open_descriptors(path: str) -> int:
    links = (f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd"))
    return sum(os.path.realpath(link).startswith(path) for link in links)


def open_sockets() -> int:
    return open_descriptors(f"/proc/{os.getpid()}/fd/socket:")


def test_a_fetch_is_what_the_files_hold(wire, topic, data):
    answered = partitions_of(wire.call(FETCH, VERSION, large_fetch(topic, 0, 1, 2)))
    for index, partition in enumerate(answered):
        assert partition.records == in_file(data, topic, index)[:ANSWER_BYTES]


@pytest.mark.parametrize("size", [FILE_RECORDS_BYTES_MIN - 1, FILE_RECORDS_BYTES_MIN])
def test_sizes_around_the_limit(wire, topic, data, size):
    whole = in_file(data, topic, 2)
    assert fetch_from(wire, topic, partition=2, partition_max_bytes=size).records == whole
    first = fetch_from(wire, topic, partition=0, partition_max_bytes=size).records
    assert first == in_file(data, topic)[: len(first)]


def test_a_slow_reader_gets_everything_in_order(cluster, topic, data, slow):
    for _ in range(2):
        slow.send(FETCH, VERSION, large_fetch(topic, 0, 1, 2))
        slow.send(api_versions.API, 3, VERSIONS)
    await_stuck(cluster)
    for _ in range(2):
        for index, partition in enumerate(partitions_of(slow.receive())):
            assert partition.records == in_file(data, topic, index)[:ANSWER_BYTES]
        assert slow.receive().api_keys


@pytest.mark.parametrize("send_buffer_bytes", [-1, 5_000, 102_400])
def test_pipelined_fetches_are_answered_one_after_the_other(start, data, send_buffer_bytes):
    cluster = start({"socket.send.buffer.bytes": str(send_buffer_bytes)}, data=data)
    with Wire(cluster.bootstrap_servers) as wire:
        topic = create_topic(wire)
        produce_to(wire, topic, batch(*[bytes(1000)] * 900))
        request = fetch_request(topic, fetch_partition(0, 0, partition_max_bytes=ANSWER_BYTES))
        wire.send_bytes(b"".join(request_frame(FETCH, VERSION, request, n) for n in range(8)))
        answers = [wire.receive_frame() for _ in range(8)]
        expected = in_file(data, topic)
        for number, answer in enumerate(answers):
            assert int.from_bytes(answer[:4], "big") == number
            assert answer.count(expected[:100]) == 1
            assert expected in answer


@pytest.mark.parametrize(("send_buffer_bytes", "is_chosen"), [("102400", True), ("-1", False)])
def test_the_send_buffer_is_as_configured(start, send_buffer_bytes, is_chosen):
    cluster = start({"socket.send.buffer.bytes": send_buffer_bytes})
    with Wire(cluster.bootstrap_servers) as wire:
        wire.call(api_versions.API, 3, VERSIONS)
        (connection,) = cluster.node.listener._connections
        accepted = connection._transport.get_extra_info("socket")
        size = accepted.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
    assert (size == 2 * 102_400) == is_chosen  # Linux doubles it, for its own needs


def test_a_peer_that_reads_slowly_is_not_idle(cluster, topic, slow):
    def sweep_in(ms: int) -> None:
        async def sweep() -> None:
            listener = cluster.node.listener
            listener.sweep(listener.now_ms() + ms)

        cluster.run(sweep)

    slow.send(FETCH, VERSION, large_fetch(topic, 0))
    await_stuck(cluster)
    sweep_in(0)
    left = unsent_bytes(cluster)
    while unsent_bytes(cluster) == left:
        slow.socket.recv(1 << 16)
    sweep_in(IDLE_MS_MAX + 1)
    assert unsent_bytes(cluster)
    sweep_in(2 * IDLE_MS_MAX + 2)
    wait_until(lambda: not unsent_bytes(cluster), PATIENCE_S, "a closed connection")


def test_a_peer_that_leaves_takes_no_socket_with_it(cluster, topic, data):
    with Wire(cluster.bootstrap_servers) as peer:
        peer.call(api_versions.API, 3, VERSIONS)
        before = open_sockets()
        peer.call(FETCH, VERSION, large_fetch(topic, 0))
        assert open_sockets() == before + 1
    # Both ends of the connection, and the handle that files are sent through.
    wait_until(lambda: open_sockets() == before - 2, PATIENCE_S, "closed sockets")


def test_a_peer_that_leaves_takes_no_descriptor_with_it(cluster, topic, data, slow):
    before = open_descriptors(data)
    slow.send(FETCH, VERSION, large_fetch(topic, 0, 2))
    await_stuck(cluster)
    assert open_descriptors(data) > before
    slow.socket.close()
    wait_until(lambda: open_descriptors(data) == before, PATIENCE_S, "closed descriptors")


def test_a_topic_may_be_deleted_while_it_is_sent(cluster, wire, topic, data, slow):
    expected = in_file(data, topic)[:ANSWER_BYTES]
    slow.send(FETCH, VERSION, large_fetch(topic, 0))
    await_stuck(cluster)
    wire.call(delete_topics.API, 5, DeleteTopicsRequest((), (topic.name,), 5_000))
    wait_until(lambda: not os.path.exists(segment(data, topic)), PATIENCE_S, "a deleted topic")
    assert partitions_of(slow.receive())[0].records == expected


def test_an_answer_is_sent_to_its_end_when_the_node_stops(cluster, topic, data, slow):
    expected = in_file(data, topic)[:ANSWER_BYTES]
    slow.send(FETCH, VERSION, large_fetch(topic, 0))
    await_stuck(cluster)
    stopping = threading.Thread(target=cluster.stop)
    stopping.start()
    assert partitions_of(slow.receive())[0].records == expected
    stopping.join(PATIENCE_S)
    assert slow.is_closed()


def test_a_file_that_was_cut_ends_the_connection_and_no_other(cluster, wire, topic, data, caplog):
    os.truncate(segment(data, topic), 1 << 20)
    with Wire(cluster.bootstrap_servers) as client, pytest.raises(ConnectionClosed):
        client.call(FETCH, VERSION, large_fetch(topic, 0))
    assert "the file ends after" in caplog.text
    assert wire.call(api_versions.API, 3, VERSIONS).api_keys
