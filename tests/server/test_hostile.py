"""What is not Kafka's protocol ends its own connection, with one log line, and nobody else's."""

import logging
import random
import struct

import pytest

from drumbeat.protocol.apis import (
    api_versions,
    create_topics,
    fetch,
    list_offsets,
    metadata,
    produce,
)
from drumbeat.protocol.apis.metadata import MetadataRequest
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.frame import frame
from support.data_topics import batch, create_topic, fetch_from, produce_to, values_in
from support.hostile import assert_served
from support.wire import Wire, request_frame

INT32_MAX = 2**31 - 1
FRAME_BYTES_MAX = 104_857_600  # socket.request.max.bytes
TLS_HELLO = bytes.fromhex("16030102000100 01fc0303") + b"\x5a" * 32


def header(api_key: int, version: int, client_id: bytes = b"\x00\x04evil") -> bytes:
    return struct.pack(">hhi", api_key, version, 1) + client_id


def of(api, version: int, body: bytes, client_id: bytes = b"\x00\x04evil") -> bytes:
    tags = b"\x00" if api.request_header_version(version) == 2 else b""
    return frame(header(api.key, version, client_id) + tags + body)


ONE_TOPIC_NAMED_NULL = struct.pack(">iih", -1, 1, -1) + b"\x00" * 20

# what is sent -> what the one log line has to say
REFUSED = {
    "the largest length": (struct.pack(">i", INT32_MAX), "frame of 2147483647 bytes announced"),
    "one byte too many": (struct.pack(">i", FRAME_BYTES_MAX + 1), "the limit is 104857600"),
    "a negative length": (struct.pack(">i", -1), "frame of -1 bytes announced"),
    "the most negative length": (struct.pack(">i", -(2**31)), "frame of -2147483648 bytes"),
    "an empty frame": (struct.pack(">i", 0), "shorter than its header"),
    "half a header": (frame(b"\x00\x03\x00"), "shorter than its header"),
    "HTTP GET": (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "an HTTP request"),
    "HTTP POST": (b"POST /topics HTTP/1.1\r\n\r\n", "an HTTP request"),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "an HTTP request"),
    "TLS": (TLS_HELLO, "a TLS hello on a plaintext listener"),
    "SSH": (b"SSH-2.0-OpenSSH_9.6\r\n", "an SSH client"),
    "no such API": (frame(header(32767, 0)), "API key 32767 is not supported"),
    "a negative API": (frame(header(-1, 0)), "API key -1 is not supported"),
    "an API for brokers only": (frame(header(4, 0)), "API key 4 is not supported"),
    "a version from the future": (frame(header(3, 32767)), "Metadata v32767 is not supported"),
    "a version from the past": (frame(header(0, 2)), "Produce v2 is not supported"),
    "a negative version": (frame(header(3, -1)), "Metadata v-1 is not supported"),
    "no body": (of(fetch.API, 4, b""), "FetchRequest v4: truncated"),
    "half a body": (of(fetch.API, 4, b"\xff" * 9), "FetchRequest v4: truncated"),
    "null for a name": (of(list_offsets.API, 1, ONE_TOPIC_NAMED_NULL), "name is null"),
    "null for an array": (of(fetch.API, 12, b"\x00" * 40), "topics is null"),
    "huge array": (of(metadata.API, 1, struct.pack(">i", INT32_MAX)), "2147483647 elements"),
    "array of minus two": (of(metadata.API, 0, struct.pack(">i", -2)), "MetadataRequest v0"),
    "huge compact array": (of(metadata.API, 12, b"\xff\xff\xff\xff\x0f"), "MetadataRequest v12"),
    "endless varint": (of(metadata.API, 12, b"\xff" * 12), "MetadataRequest v12"),
    "3.6 GiB in eight bytes": (
        of(metadata.API, 9, bytes.fromhex("030000033c0c00b6")),
        "MetadataRequest v9",
    ),
    "too many tags": (
        frame(header(18, 3) + b"\xff\xff\xff\xff\x0f"),
        "tagged fields announced",
    ),
    "a string that is not UTF-8": (
        of(metadata.API, 1, struct.pack(">ih", 1, 2) + b"\xff\xfe"),
        "MetadataRequest v1",
    ),
    "a client id beyond the frame": (
        frame(header(3, 1, struct.pack(">h", 32767) + b"abc")),
        "client id announces 32767 bytes",
    ),
    "a client id that is not UTF-8": (
        frame(header(3, 1, b"\x00\x02\xff\xfe")),
        "client id is not UTF-8",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_it_ends_its_own_connection_with_one_log_line(what, cluster, wire, caplog):
    sent, cause = REFUSED[what]
    with Wire(cluster.bootstrap_servers) as hostile, caplog.at_level(logging.INFO):
        port = hostile.socket.getsockname()[1]
        hostile.send_bytes(sent)
        assert hostile.is_closed()
        assert_served(wire)
    (line,) = caplog.messages
    assert line.startswith(f"127.0.0.1:{port}: ")
    assert cause in line
    assert line.endswith("; closing the connection")


def test_a_frame_of_the_largest_size_is_awaited(cluster, wire, caplog):
    with Wire(cluster.bootstrap_servers) as hostile, caplog.at_level(logging.INFO):
        hostile.send_bytes(struct.pack(">i", FRAME_BYTES_MAX))
        assert_served(wire)
        hostile.send_bytes(header(3, 1))
        assert_served(wire)
    assert not caplog.messages


def test_requests_before_the_garbage_are_answered(cluster, caplog):
    body = MetadataRequest(topics=())
    good = request_frame(metadata.API, 12, body, correlation_id=7)
    with Wire(cluster.bootstrap_servers) as hostile:
        hostile.send_bytes(good + frame(header(32767, 0)) + good)
        assert hostile.receive_frame()[:4] == struct.pack(">i", 7)
        assert hostile.is_closed()


@pytest.mark.parametrize("seed", range(20))
def test_noise(seed, cluster, wire, caplog):
    """Whatever the bytes: refused, or still waited for; never a failure of ours."""
    noise = random.Random(seed).randbytes(2000)
    with Wire(cluster.bootstrap_servers) as hostile, caplog.at_level(logging.INFO):
        hostile.send_bytes(noise)
        assert_served(wire)
    assert all(record.levelno <= logging.WARNING for record in caplog.records)


def test_a_newer_client_learns_which_versions_there_are(wire):
    """The one request of an unknown version that is answered (KIP-511)."""
    wire.send_bytes(frame(header(api_versions.API.key, 32767) + b"\xff\xff\xff"))
    answer = wire.receive_frame()
    (error_code,) = struct.unpack_from(">h", answer, 4)
    assert error_code == ErrorCode.UNSUPPORTED_VERSION
    assert_served(wire)


def test_a_wrong_crc_is_an_answer_not_an_end(wire):
    topic = create_topic(wire)
    data = bytearray(batch(b"v"))
    data[-1] ^= 1
    assert produce_to(wire, topic, bytes(data)).error_code == ErrorCode.CORRUPT_MESSAGE
    assert produce_to(wire, topic, batch(b"v")).base_offset == 0
    assert values_in(fetch_from(wire, topic).records) == [b"v"]


@pytest.mark.parametrize("acks", [0, 1, -1])
def test_the_first_produce_to_a_partition_keeps_the_connection(acks, wire):
    """It opens the partition, so that even acks=0 has an answer that comes later: none."""
    name = f"first-acks{acks}"
    wire.call(metadata.API, 9, MetadataRequest(topics=(), allow_auto_topic_creation=False))
    request = create_topics.CreateTopicsRequest(
        (create_topics.CreatableTopic(name=name, num_partitions=1, replication_factor=1),)
    )
    wire.call(create_topics.API, 5, request)
    written = produce.TopicProduceData(
        name=name, partition_data=(produce.PartitionProduceData(0, batch(b"v")),)
    )
    body = produce.ProduceRequest(acks=acks, timeout_ms=1000, topic_data=(written,))
    if acks:
        wire.call(produce.API, 9, body)
    else:
        wire.send_bytes(request_frame(produce.API, 9, body))
    assert_served(wire)
