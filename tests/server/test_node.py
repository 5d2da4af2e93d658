"""Nodes side by side in one process, and nodes that cannot start."""

import gc
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from drumbeat.runtime.identity import IdentityError
from drumbeat.server.connection import Connection
from drumbeat.server.listener import ListenError
from drumbeat.testing import Cluster
from support.data_topics import batch, create_topic, fetch_from, produce_to, values_in
from support.hostile import assert_served
from support.waiting import wait_until
from support.wire import Wire

ROUNDS, VALUE_BYTES = 30, 200_000


def test_two_nodes_in_one_process_do_not_mix_what_they_receive(loop, start):
    """Each has its own event loop and thread; what arrives at both at once stays apart."""
    clusters = [start() for _ in range(2)]
    with ThreadPoolExecutor(len(clusters)) as threads:
        list(threads.map(write_and_check, clusters, b"ab"))


def write_and_check(cluster: Cluster, letter: int) -> None:
    with Wire(cluster.bootstrap_servers) as wire:
        topic = create_topic(wire)
        value = bytes([letter]) * VALUE_BYTES
        for offset in range(ROUNDS):
            assert produce_to(wire, topic, batch(value)).base_offset == offset
            assert values_in(fetch_from(wire, topic, offset).records) == [value]


def test_connections_that_ended_need_no_collector(loop, start):
    cluster = start()
    gc.collect()
    gc.disable()
    try:
        before = connections_in_memory()
        for _ in range(20):
            with Wire(cluster.bootstrap_servers) as wire:
                assert_served(wire)
        wait_until(lambda: connections_in_memory() <= before, 10, "all of them are freed")
    finally:
        gc.enable()


def connections_in_memory() -> int:
    return sum(type(one) is Connection for one in gc.get_objects())


def test_an_address_in_use_is_named_and_nothing_is_left_locked(tmp_path):
    data = str(tmp_path / "data")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ListenError, match=f"127.0.0.1, port {port}: another process does"):
            Cluster(data=data, port=port).start()
    with Cluster(data=data) as cluster, Wire(cluster.bootstrap_servers) as wire:
        assert_served(wire)


def test_an_address_that_is_not_ours_is_named():
    settings = {"listeners": "PLAINTEXT://192.0.2.1:0"}
    with pytest.raises(ListenError, match=r"192\.0\.2\.1.* does not have that address"):
        Cluster(settings).start()


def test_anothers_data_is_refused_and_nothing_is_left_locked(tmp_path):
    data = str(tmp_path / "data")
    with Cluster({"node.id": "7"}, data=data):
        pass
    with pytest.raises(IdentityError, match="node 7"):
        Cluster({"node.id": "8"}, data=data).start()
    with Cluster({"node.id": "7"}, data=data) as cluster, Wire(cluster.bootstrap_servers) as wire:
        assert_served(wire)
