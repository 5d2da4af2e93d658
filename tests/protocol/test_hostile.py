"""Bytes that are not what they claim: always ProtocolError, never another error, never memory."""

import random
import resource
import struct

import pytest

from drumbeat.protocol.apis import APIS, fetch, heartbeat, metadata, offset_commit
from drumbeat.protocol.compiler import decoder, encoder
from drumbeat.protocol.errors import ProtocolError
from drumbeat.protocol.header import read_request_header, skip_tags
from support.messages import populated

# The lowest, the first flexible and the highest version of each API: every shape there is.
CASES = [
    (api, version)
    for api in APIS.values()
    for version in sorted(
        {api.versions[0], api.versions[-1], api.flexible or 0} & set(api.versions)
    )
]


def sample(message, api, version):
    rng = random.Random(f"hostile {api.name} {version}")
    return encoder(message, version, api.is_flexible(version))(populated(message, version, rng))


@pytest.mark.parametrize(("api", "version"), CASES, ids=lambda case: getattr(case, "name", case))
def test_truncation_at_every_byte_is_refused(api, version):
    for message in (api.request, api.response):
        decode = decoder(message, version, api.is_flexible(version))
        data = sample(message, api, version)
        for length in range(min(len(data), 3000)):
            with pytest.raises(ProtocolError):
                decode(data[:length], 0)


@pytest.mark.parametrize(("api", "version"), CASES, ids=lambda case: getattr(case, "name", case))
def test_any_byte_may_lie(api, version):
    """Lengths included: whatever a byte says, the end is a message or ProtocolError."""
    decode = decoder(api.request, version, api.is_flexible(version))
    data = sample(api.request, api, version)
    for position in range(min(len(data), 1500)):
        for lie in (0x00, 0x7F, 0x80, 0xFF):
            changed = data[:position] + bytes([lie]) + data[position + 1 :]
            try:
                decode(changed, 0)
            except ProtocolError:
                continue


HUGE_CLAIMS = {
    "topics of Metadata v0": (metadata.API, 0, struct.pack(">i", 2**31 - 1)),
    "topics of Metadata v12": (metadata.API, 12, b"\xff\xff\xff\xff\x0f"),
    "negative count": (metadata.API, 0, struct.pack(">i", -2)),
    "group id of OffsetCommit v2": (offset_commit.API, 2, struct.pack(">h", 2**15 - 1)),
    "negative string": (offset_commit.API, 2, struct.pack(">h", -2)),
    "group id of OffsetCommit v8": (offset_commit.API, 8, b"\xff\xff\xff\xff\x0f"),
    "overlong varint": (offset_commit.API, 8, b"\xff\xff\xff\xff\xff\xff\x01"),
    "3.6 GiB in eight bytes": (metadata.API, 9, bytes.fromhex("030000033c0c00b6")),
}


@pytest.mark.parametrize("claim", HUGE_CLAIMS)
def test_huge_claims_cost_no_memory(claim):
    api, version, data = HUGE_CLAIMS[claim]
    decode = api.decode_request(version)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ProtocolError):
        decode(data + b"\0" * 20, 0)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1024  # KiB


@pytest.mark.parametrize(
    "tags",
    [
        b"\x01",
        b"\x01\x00\x05ab",
        b"\xff\xff\xff\xff\x0f",
    ],
)
def test_broken_tagged_sections_are_refused(tags):
    with pytest.raises(ProtocolError):
        skip_tags(tags, 0)


@pytest.mark.parametrize(
    "tags", [b"\x05\x02ab\x09\x00", b"\x09\x00\x05\x02ab", b"\x05\x02ab\x05\x00"]
)
def test_unknown_tags_are_skipped(tags):
    """In any order, and as often as they come, as Kafka does."""
    assert skip_tags(b"\x02" + tags + b"rest", 0) == 7


def test_of_a_tag_that_comes_twice_the_last_one_counts():
    untagged = fetch.API.encode_request(12)(fetch.FetchRequest())[:-1]
    twice = untagged + b"\x02" + b"\x00\x06\x06first" + b"\x00\x05\x05last"
    assert fetch.API.decode_request(12)(twice, 0).cluster_id == "last"


def test_any_negative_length_is_null():
    decode = metadata.API.decode_request(8)
    assert decode(b"\xff\xff\xff\xfe" + bytes(3), 0).topics is None
    commit = offset_commit.API.decode_request(7)
    named = b"\x00\x01g" + bytes(4) + b"\x00\x00"
    assert commit(named + b"\x80\x00" + bytes(4), 0).group_instance_id is None
    with pytest.raises(ProtocolError):
        commit(b"\xff\xfe" + named, 0)


@pytest.mark.parametrize(("size", "is_read"), [(32_767, True), (32_768, False)])
def test_a_string_is_no_longer_than_its_old_length_could_say(size, is_read):
    request = heartbeat.HeartbeatRequest("g" * size, 1, "m")
    data = heartbeat.API.encode_request(4)(request)
    if is_read:
        assert heartbeat.API.decode_request(4)(data, 0) == request
    else:
        with pytest.raises(ProtocolError):
            heartbeat.API.decode_request(4)(data, 0)


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"\0" * 9,
        struct.pack(">hhih", 3, 0, 1, 5) + b"abc",
        struct.pack(">hhih", 3, 0, 1, 2) + b"\xff\xfe",
    ],
)
def test_broken_headers_are_refused(frame):
    with pytest.raises(ProtocolError):
        read_request_header(frame)


def test_null_where_the_schema_has_no_null_is_refused():
    decode = APIS[12].decode_request(0)
    with pytest.raises(ProtocolError, match="null"):
        decode(struct.pack(">h", -1) + b"\0" * 20, 0)
