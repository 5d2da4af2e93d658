"""Per connection: one answer per request, in the order of the requests, whatever each waits for."""

import logging
import random
import socket
import struct

import pytest

from drumbeat.protocol.apis import api_versions, create_topics, fetch, metadata, produce
from drumbeat.protocol.apis.api_versions import ApiVersionsRequest
from drumbeat.protocol.apis.create_topics import CreatableTopic, CreateTopicsRequest
from drumbeat.protocol.apis.metadata import MetadataRequest
from support.data_topics import (
    batch,
    create_topic,
    fetch_from,
    fetch_request,
    fresh_name,
    produce_request,
    produce_to,
    values_in,
)
from support.waiting import wait_until
from support.wire import Wire, request_frame

PATIENCE_S = 5.0
VERSIONS = ApiVersionsRequest("wire", "1")


def correlation_ids(wire: Wire, count: int) -> list[int]:
    return [struct.unpack(">i", wire.receive_frame()[:4])[0] for _ in range(count)]


def is_watched(cluster, topic) -> bool:
    partition = cluster.node.broker.partitions.get(topic.name, 0)
    return bool(partition is not None and partition._watchers)


def test_a_long_poll_in_the_middle_holds_back_what_follows(cluster, wire):
    topic = create_topic(wire)
    long_poll = fetch_request(topic, max_wait_ms=60_000, min_bytes=1)
    with Wire(cluster.bootstrap_servers) as client:
        client.send(api_versions.API, 3, VERSIONS)
        client.send(fetch.API, 12, long_poll)
        client.send(metadata.API, 9, MetadataRequest(topics=()))
        client.send(produce.API, 9, produce_request(topic, batch(b"later")))
        client.send(api_versions.API, 3, VERSIONS)
        assert client.receive().error_code == 0
        wait_until(lambda: is_watched(cluster, topic), PATIENCE_S, "a parked fetch")
        # The produce behind it is not handled before the fetch is answered, as in Kafka.
        assert produce_to(wire, topic, batch(b"first")).base_offset == 0
        (partition,) = client.receive().responses[0].partitions
        assert values_in(partition.records) == [b"first"]
        assert client.receive().cluster_id
        assert client.receive().responses[0].partition_responses[0].base_offset == 1
        assert client.receive().error_code == 0


def test_a_long_poll_that_times_out_holds_back_nothing_longer(wire):
    topic = create_topic(wire)
    wire.send(fetch.API, 12, fetch_request(topic, max_wait_ms=50, min_bytes=1))
    wire.send(api_versions.API, 3, VERSIONS)
    (partition,) = wire.receive().responses[0].partitions
    assert not partition.records
    assert wire.receive().error_code == 0


@pytest.mark.parametrize("seed", range(5))
def test_pipelined_requests_of_all_kinds_are_answered_in_order(seed, cluster, wire):
    """Answers at once, after the disk, after a task, after a wait: shuffled, in random pieces."""
    rng = random.Random(seed)
    topic = create_topic(wire)
    kinds = [
        (api_versions.API, 3, lambda: VERSIONS),
        (metadata.API, 9, lambda: MetadataRequest(topics=())),
        (produce.API, 9, lambda: produce_request(topic, batch(rng.randbytes(20)))),
        (fetch.API, 12, lambda: fetch_request(topic, max_wait_ms=5, min_bytes=1 << 20)),
        (create_topics.API, 5, new_topic),
    ]
    count = 150
    data = b"".join(
        request_frame(api, version, body(), correlation_id)
        for correlation_id, (api, version, body) in enumerate(rng.choices(kinds, k=count))
    )
    with Wire(cluster.bootstrap_servers) as client:
        while data:
            size = rng.choice((1, 7, 1000, 100_000))
            client.send_bytes(data[:size])
            data = data[size:]
        assert correlation_ids(client, count) == list(range(count))


def new_topic() -> CreateTopicsRequest:
    asked = CreatableTopic(name=fresh_name("order"), num_partitions=1, replication_factor=1)
    return CreateTopicsRequest((asked,))


def test_no_client_keeps_the_others_waiting(cluster, wire):
    """Thousands of requests at once are handled in turns; others are served between them."""
    count = 20_000
    flood = b"".join(request_frame(api_versions.API, 3, VERSIONS, i) for i in range(count))
    with Wire(cluster.bootstrap_servers) as client:
        client.socket.setblocking(False)
        sent = client.socket.send(flood)
        assert wire.call(api_versions.API, 3, VERSIONS).error_code == 0
        client.socket.settimeout(PATIENCE_S)
        whole = sent // (len(flood) // count)
        assert correlation_ids(client, whole) == list(range(whole))


def test_produce_without_acks_has_no_answer_and_its_place_in_the_order(cluster, wire):
    topic = create_topic(wire)
    request = produce_request(topic, batch(b"v"), acks=0)
    with Wire(cluster.bootstrap_servers) as client:
        for _ in range(3):
            client.send_bytes(request_frame(produce.API, 9, request))
            client.send(api_versions.API, 3, VERSIONS)
        for _ in range(3):
            assert client.receive().error_code == 0
    wait_until(
        lambda: len(values_in(fetch_from(wire, topic).records)) == 3, PATIENCE_S, "3 records"
    )


# -- a client that goes away ---------------------------------------------------------------------


@pytest.mark.parametrize("how", ["close", "reset"])
def test_a_client_that_leaves_while_it_waits_is_forgotten(how, cluster, wire, caplog):
    topic = create_topic(wire)
    with Wire(cluster.bootstrap_servers) as client, caplog.at_level(logging.INFO):
        client.send(fetch.API, 12, fetch_request(topic, max_wait_ms=2**31 - 1, min_bytes=1))
        wait_until(lambda: is_watched(cluster, topic), PATIENCE_S, "a parked fetch")
        LEAVE[how](client)
        wait_until(lambda: not is_watched(cluster, topic), PATIENCE_S, "an abandoned fetch")
    assert produce_to(wire, topic, batch(b"v")).base_offset == 0
    assert not caplog.messages


def reset(client: Wire) -> None:
    linger = struct.pack("ii", 1, 0)
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    client.socket.close()


LEAVE = {"close": lambda client: client.socket.close(), "reset": reset}


def test_a_client_that_leaves_in_the_middle_of_a_produce_harms_nobody(cluster, wire, caplog):
    topic = create_topic(wire)
    request = request_frame(produce.API, 9, produce_request(topic, batch(b"v")))
    with caplog.at_level(logging.INFO):
        for _ in range(20):
            with Wire(cluster.bootstrap_servers) as client:
                client.send_bytes(request * 3 + request[:20])
        assert produce_to(wire, topic, batch(b"last")).error_code == 0
    assert not caplog.messages
