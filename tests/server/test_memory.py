"""What peers claim, hold back or do not read costs no memory; measured on a process of its own."""

import random
import struct
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from drumbeat.protocol.api import Api
from drumbeat.protocol.apis import APIS, fetch
from drumbeat.protocol.frame import frame
from drumbeat.protocol.header import RequestHeader, encode_request_header
from drumbeat.runtime.handlers import HANDLERS
from support.data_topics import batch, create_topic, fetch_partition, fetch_request, produce_to
from support.hostile import assert_served, exchange
from support.messages import populated
from support.node_process import LOOPS, NodeProcess, with_limit
from support.waiting import wait_until
from support.wire import ConnectionClosed, Wire, request_frame

MIB = 1 << 20
PATIENCE_S = 10.0
LIES = (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff\x07", b"\x7f\xff")  # int32, varint, int16
LIES_PER_MESSAGE = 12


@pytest.fixture(scope="module", params=LOOPS)
def loop(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def node(loop, tmp_path_factory) -> Iterator[NodeProcess]:
    logs = tmp_path_factory.mktemp("node") / "node.log"
    with NodeProcess("--memory", logs=logs, loop=loop) as running:
        yield running
        assert "Traceback" not in running.log_text


def measure(node: NodeProcess) -> int:
    """The memory that the process has now; `growth` tells what it took at most since then."""
    node.forget_peak_rss()
    return node.peak_rss_bytes


def growth(node: NodeProcess, before: int) -> int:
    return (node.peak_rss_bytes - before) // MIB


def versions_of_every_shape(api: Api) -> list[int]:
    shapes = {api.versions[0], api.versions[-1], api.flexible or 0}
    return sorted(shapes & set(api.versions))


def lying_frames(api: Api, version: int, rng: random.Random) -> Iterator[bytes]:
    """A well-formed request in which some bytes say that very much follows."""
    body = api.encode_request(version)(populated(api.request, version, rng))
    header = RequestHeader(api.key, version, 1, "liar")
    start = encode_request_header(header, api.request_header_version(version))
    places = range(0, len(body), max(1, len(body) // LIES_PER_MESSAGE))
    for place in places:
        for lie in LIES:
            yield frame(start, body[:place], lie, body[place + len(lie) :])


def test_huge_claims_in_every_api_cost_no_memory(node):
    """CVE-2022-34917 and its relatives: a length is believed when the bytes are there."""
    rng = random.Random("claims")
    for key in HANDLERS:
        api = APIS[key]
        for version in versions_of_every_shape(api):
            exchange(
                node.bootstrap_servers,
                request_frame(api, version, populated(api.request, version, rng)),
            )
    before = measure(node)
    for key in HANDLERS:
        api = APIS[key]
        for version in versions_of_every_shape(api):
            for data in lying_frames(api, version, rng):
                exchange(node.bootstrap_servers, data)
    assert growth(node, before) < 16
    with Wire(node.bootstrap_servers) as wire:
        assert_served(wire)


def test_announced_frames_cost_what_has_arrived(node):
    """1,000 connections that each announce 100 MiB and send ten bytes of it."""
    with ExitStack() as stack, Wire(node.bootstrap_servers) as wire:
        assert_served(wire)
        before = measure(node)
        for _ in range(1000):
            half = stack.enter_context(Wire(node.bootstrap_servers))
            half.send_bytes(struct.pack(">i", 100 * MIB) + bytes(10))
        assert_served(wire)
        assert growth(node, before) < 32


# -- slow readers --------------------------------------------------------------------------------

BATCHES, BATCH_BYTES = 8, 900_000
READERS, FETCHES = 4, 300


def test_slow_readers_do_not_grow_our_memory(node):
    """Each asks for 2 GB in all and reads nothing; what is made for it is a single answer."""
    with ExitStack() as stack, Wire(node.bootstrap_servers) as wire:
        topic = create_topic(wire)
        for _ in range(BATCHES):
            produce_to(wire, topic, batch(bytes(BATCH_BYTES)))
        partition = fetch_partition(partition_max_bytes=BATCHES * MIB)
        ask = request_frame(fetch.API, 12, fetch_request(topic, partition))
        before = measure(node)
        for _ in range(READERS):
            slow = stack.enter_context(Wire(node.bootstrap_servers))
            slow.send_bytes(ask * FETCHES)
        for _ in range(20):
            assert_served(wire)
        answer_mib = BATCHES * BATCH_BYTES // MIB
        assert growth(node, before) < 4 * READERS * answer_mib


def test_slow_readers_get_everything_in_the_end(node):
    with Wire(node.bootstrap_servers) as wire, Wire(node.bootstrap_servers) as slow:
        topic = create_topic(wire)
        produce_to(wire, topic, batch(bytes(BATCH_BYTES)))
        request = fetch_request(topic, fetch_partition())
        for _ in range(50):
            slow.send(fetch.API, 12, request)
        for _ in range(10):
            assert_served(wire)
        for _ in range(50):
            (partition,) = slow.receive().responses[0].partitions
            assert len(partition.records) > BATCH_BYTES


# -- descriptors ---------------------------------------------------------------------------------


def test_without_descriptors_old_connections_go_on(loop, tmp_path):
    limit = with_limit("RLIMIT_NOFILE", 64)
    with (
        NodeProcess("--memory", logs=tmp_path / "node.log", loop=loop, prefix=limit) as node,
        Wire(node.bootstrap_servers) as old,
    ):
        with ExitStack() as stack:
            for _ in range(100):
                stack.enter_context(Wire(node.bootstrap_servers))
            for _ in range(20):
                assert_served(old)
        wait_until(lambda: is_served(node), PATIENCE_S, "a new connection")
        assert len(node.log_text.splitlines()) < 5, node.log_text


def is_served(node: NodeProcess) -> bool:
    with Wire(node.bootstrap_servers) as wire:
        wire.socket.settimeout(1.0)
        try:
            assert_served(wire)
        except (ConnectionClosed, OSError):
            return False
        return True
