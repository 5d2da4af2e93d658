"""All record types and versions; damage is an error and nothing else."""

import random
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.core.control_records import ControlType, read_control_type
from drumbeat.core.modern_codec import read_modern_key, read_modern_value
from drumbeat.core.modern_records import LAYOUTS
from drumbeat.core.offset_codec import KEY_CACHED_BYTES_MAX, STRING_BYTES_MAX
from drumbeat.core.record_codec import (
    decode,
    encode,
    fits_in_batch,
)
from drumbeat.core.records import (
    GroupMetadataRecord,
    GroupMetadataTombstone,
    MemberMetadata,
    ModernGroupRecord,
    OffsetCommitRecord,
    OffsetCommitTombstone,
    RecordError,
    RecordType,
    UnknownRecord,
)
from drumbeat.protocol.compiler import encoder
from support.messages import populated

TOPIC_ID = bytes(range(1, 17))
AT_MS = 1_700_000_000_000
KEY = bytes.fromhex("0001 0001 67 0001 74 00000007")
LEGACY_KEY = b"\0\0" + KEY[2:]
OFFSET_AND_EPOCH = "000000000000002a 00000005"
AT = "0000018bcfe56800"

# Metadata that has a length, a tag and a topic id where version 4 would have them.
LIKE_V4 = "0" * 58 + "\x01\x00\x10" + "0" * 8

# value, and the record it says: group g, topic t, partition 7, metadata m
OFFSET_VALUES = {
    "v0": (f"0000 000000000000002a 0001 6d {AT}", {"leader_epoch": -1}),
    "v1": (
        f"0001 000000000000002a 0001 6d {AT} 0000018bcfee8fc0",
        {"leader_epoch": -1, "expire_timestamp_ms": AT_MS + 600_000},
    ),
    "v2": (f"0002 000000000000002a 0001 6d {AT}", {"leader_epoch": -1}),
    "v3": (f"0003 {OFFSET_AND_EPOCH} 0001 6d {AT}", {}),
    "v4": (f"0004 {OFFSET_AND_EPOCH} 02 6d {AT} 00", {}),
    "v4 with topic id": (
        f"0004 {OFFSET_AND_EPOCH} 02 6d {AT} 01 00 10 {TOPIC_ID.hex()}",
        {"topic_id": TOPIC_ID},
    ),
    "v4 with an unknown tag": (f"0004 {OFFSET_AND_EPOCH} 02 6d {AT} 01 05 02 abcd", {}),
    "v4 with an unknown tag as long as a topic id": (
        f"0004 {OFFSET_AND_EPOCH} 02 6d {AT} 01 05 10 {TOPIC_ID.hex()}",
        {},
    ),
    "v2 whose bytes would also fit v4": (
        f"0002 000000000000002a 0045 {LIKE_V4.encode().hex()} {AT}",
        {"leader_epoch": -1, "metadata": LIKE_V4},
    ),
    "v4 with a length of two bytes": (
        f"0004 {OFFSET_AND_EPOCH} ac02 {'78' * 299} {AT} 00",
        {"metadata": "x" * 299},
    ),
}


def offset_record(**fields):
    return OffsetCommitRecord(
        **{
            "group_id": "g",
            "topic": "t",
            "partition": 7,
            "committed_offset": 42,
            "leader_epoch": 5,
            "metadata": "m",
            "commit_timestamp_ms": AT_MS,
            **fields,
        }
    )


@pytest.mark.parametrize(("value", "fields"), OFFSET_VALUES.values(), ids=OFFSET_VALUES)
def test_every_version_of_an_offset_commit_is_read(value, fields):
    assert decode(KEY, bytes.fromhex(value)) == offset_record(**fields)


@pytest.mark.parametrize(("value", "fields"), OFFSET_VALUES.values(), ids=OFFSET_VALUES)
def test_bytes_behind_a_value_are_ignored(value, fields):
    for extra in (b"\0", b"\1\0\x10" + bytes(16), bytes(18)):
        assert decode(KEY, bytes.fromhex(value) + extra) == offset_record(**fields)


@pytest.mark.parametrize("extra", [b"\0", b"\0\0\0\7"])
@pytest.mark.parametrize(("value", "fields"), OFFSET_VALUES.values(), ids=OFFSET_VALUES)
def test_bytes_behind_a_key_are_ignored(value, fields, extra):
    assert decode(KEY + extra, bytes.fromhex(value)) == offset_record(**fields)


@pytest.mark.parametrize("value", [value for value, _ in OFFSET_VALUES.values()], ids=OFFSET_VALUES)
def test_an_offset_commit_cut_anywhere_is_an_error(value):
    check_cuts(KEY, bytes.fromhex(value))


def check_cuts(key, value):
    for stop in range(len(value)):
        with pytest.raises(RecordError):
            decode(key, value[:stop])


def test_version_1_is_written_for_a_commit_that_names_its_expiry():
    value, fields = OFFSET_VALUES["v1"]
    assert encode(offset_record(**fields)) == (KEY, bytes.fromhex(value))


@pytest.mark.parametrize("metadata", ["", "m", "x" * 126, "x" * 127, "x" * 300, "é😀"])
@pytest.mark.parametrize("topic_id", [bytes(16), TOPIC_ID])
def test_version_4_is_written_for_all_others(metadata, topic_id):
    record = offset_record(metadata=metadata, topic_id=topic_id)
    key, value = encode(record)
    assert value[:2] == b"\0\4"
    assert decode(key, value) == record


class TestLegacyKeys:
    """Type 0, from before Kafka 0.9: only value version 0 goes with it."""

    def test_version_0(self):
        value, fields = OFFSET_VALUES["v0"]
        assert decode(LEGACY_KEY, bytes.fromhex(value)) == offset_record(**fields)

    @pytest.mark.parametrize("version", ["v1", "v2", "v3", "v4"])
    def test_other_versions(self, version):
        with pytest.raises(RecordError, match="unknown version"):
            decode(LEGACY_KEY, bytes.fromhex(OFFSET_VALUES[version][0]))

    def test_tombstone(self):
        assert decode(LEGACY_KEY, None) == OffsetCommitTombstone("g", "t", 7)


UNREADABLE = {
    "no key": (None, b"\0\4"),
    "empty key": (b"", b"\0\4"),
    "half a type": (b"\0", None),
    "key ends behind the group": (KEY[:5], None),
    "key with a value ends behind the group": (KEY[:5], bytes.fromhex(OFFSET_VALUES["v4"][0])),
    "key ends in the partition": (KEY[:-1], bytes.fromhex(OFFSET_VALUES["v4"][0])),
    "negative group length": (b"\0\1\xff\xff" + KEY[4:], bytes.fromhex(OFFSET_VALUES["v4"][0])),
    "negative topic length": (b"\0\1\0\1g\xff\xff\0\0\0\7", None),
    "group longer than the key": (b"\0\1\x7f\xff" + KEY[4:], bytes.fromhex(OFFSET_VALUES["v4"][0])),
    "group is not UTF-8": (b"\0\1\0\1\xff\0\1t\0\0\0\7", bytes.fromhex(OFFSET_VALUES["v4"][0])),
    "empty value": (KEY, b""),
    "half a version": (KEY, b"\0"),
    "version 5": (KEY, b"\0\5" + bytes(40)),
    "version 9": (KEY, b"\0\x09" + bytes(40)),
    "version -1": (KEY, b"\xff\xff" + bytes(40)),
    "null metadata, v3": (KEY, bytes.fromhex(f"0003 {OFFSET_AND_EPOCH} ffff {AT}")),
    "null metadata, v4": (KEY, bytes.fromhex(f"0004 {OFFSET_AND_EPOCH} 00 {AT} 00")),
    "metadata longer than the value": (
        KEY,
        bytes.fromhex(f"0004 {OFFSET_AND_EPOCH} ffffffff0f {AT} 00"),
    ),
    "metadata is not UTF-8": (KEY, bytes.fromhex(f"0004 {OFFSET_AND_EPOCH} 02 ff {AT} 00")),
    "metadata is not UTF-8, with topic id": (
        KEY,
        bytes.fromhex(f"0004 {OFFSET_AND_EPOCH} 02 ff {AT} 010010 {TOPIC_ID.hex()}"),
    ),
    "topic id of 15 bytes": (
        KEY,
        bytes.fromhex(f"0004 {OFFSET_AND_EPOCH} 02 6d {AT} 01000f {'01' * 15}"),
    ),
    "a billion tags": (KEY, bytes.fromhex(f"0004 {OFFSET_AND_EPOCH} 02 6d {AT} 8094ebdc03")),
    "group metadata version 5": (b"\0\2\0\1g", b"\0\5" + bytes(40)),
    "group metadata of a billion members": (
        b"\0\2\0\1g",
        b"\0\3" + bytes(2 + 4) + b"\xff\xff\xff\xff" + bytes(8) + b"\x3b\x9a\xca\x00",
    ),
    "consumer group version 1": (b"\0\3\0\1g", b"\0\1" + bytes(5)),
    "consumer group value empty": (b"\0\3\0\1g", b""),
    "consumer group key cut": (b"\0\3\0\2g", None),
}


@pytest.mark.parametrize(("key", "value"), UNREADABLE.values(), ids=UNREADABLE)
def test_unreadable(key, value):
    with pytest.raises(RecordError):
        decode(key, value)


@pytest.mark.parametrize("record_type", [9, 18, 24, 99, 32767, -1])
@pytest.mark.parametrize("value", [None, b"", b"whatever"])
def test_unknown_types_are_kept_whole(record_type, value):
    key = struct.pack(">h", record_type) + b"whatever"
    record = decode(key, value)
    assert record == UnknownRecord(record_type, key, value)
    assert encode(record) == (key, value)


@pytest.mark.parametrize("name", ["g", "", "grüße", "😀" * 100, "x" * KEY_CACHED_BYTES_MAX])
def test_group_ids_of_every_kind(name):
    for record in (
        offset_record(group_id=name, topic_id=TOPIC_ID),
        OffsetCommitTombstone(name, "t", 0),
        GroupMetadataTombstone(name),
    ):
        assert decode(*encode(record)) == record


@pytest.mark.parametrize("partition", [0, 1, 2**31 - 1, -1])
def test_partitions(partition):
    record = offset_record(partition=partition, topic_id=TOPIC_ID)
    assert decode(*encode(record)) == record


# -- group metadata -------------------------------------------------------------------------------

MEMBER = MemberMetadata("m-1", "i-1", "c", "/127.0.0.1", 300_000, 45_000, b"subscription", b"asg")
GROUP = GroupMetadataRecord("g", "consumer", 3, "range", "m-1", AT_MS, (MEMBER, MEMBER))
GROUP_KEY = bytes.fromhex("0002 0001 67")


def group_value(version: int) -> bytes:
    """Written out by hand from the field table, two members."""
    is_flexible = version >= 4

    def string(text):
        if is_flexible:
            return bytes([len(text) + 1]) + text.encode()
        return struct.pack(">h", len(text)) + text.encode()

    def blob(data):
        return (bytes([len(data) + 1]) if is_flexible else struct.pack(">i", len(data))) + data

    tags = b"\0" if is_flexible else b""
    member = b"".join(
        (
            string("m-1"),
            string("i-1") if version >= 3 else b"",
            string("c"),
            string("/127.0.0.1"),
            struct.pack(">i", 300_000) if version >= 1 else b"",
            struct.pack(">i", 45_000),
            blob(b"subscription"),
            blob(b"asg"),
            tags,
        )
    )
    return b"".join(
        (
            struct.pack(">h", version),
            string("consumer"),
            struct.pack(">i", 3),
            string("range"),
            string("m-1"),
            struct.pack(">q", AT_MS) if version >= 2 else b"",
            b"\3" if is_flexible else struct.pack(">i", 2),
            member * 2,
            tags,
        )
    )


GROUP_VERSIONS = {
    0: (MEMBER._replace(group_instance_id=None, rebalance_timeout_ms=-1), -1),
    1: (MEMBER._replace(group_instance_id=None), -1),
    2: (MEMBER._replace(group_instance_id=None), AT_MS),
    3: (MEMBER, AT_MS),
    4: (MEMBER, AT_MS),
}


@pytest.mark.parametrize("version", GROUP_VERSIONS)
def test_every_version_of_group_metadata_is_read(version):
    member, state_timestamp_ms = GROUP_VERSIONS[version]
    expected = GROUP._replace(members=(member, member), state_timestamp_ms=state_timestamp_ms)
    assert decode(GROUP_KEY, group_value(version)) == expected
    assert decode(GROUP_KEY, group_value(version) + b"more") == expected


@pytest.mark.parametrize("version", GROUP_VERSIONS)
def test_group_metadata_cut_anywhere_is_an_error(version):
    check_cuts(GROUP_KEY, group_value(version))


def test_version_3_of_group_metadata_is_written():
    assert encode(GROUP) == (GROUP_KEY, group_value(3))


# -- modern groups --------------------------------------------------------------------------------


@pytest.mark.parametrize("record_type", LAYOUTS)
def test_every_modern_record_type_is_read(record_type):
    rng = random.Random(record_type)
    layout = LAYOUTS[record_type]
    key_message, message = populated(layout.key, 0, rng), populated(layout.value, 0, rng)
    key = struct.pack(">h", record_type) + encoder(layout.key, 0, False)(key_message)
    value = b"\0\0" + encoder(layout.value, 0, True)(message)
    record = decode(key, value)
    assert record == ModernGroupRecord(record_type, key_message.group_id, key, value)
    assert read_modern_key(record_type, key) == key_message
    assert read_modern_value(record_type, value) == message
    assert encode(record) == (key, value)
    check_cuts(key, value)
    assert decode(key, None) == ModernGroupRecord(record_type, key_message.group_id, key, None)
    with pytest.raises(RecordError, match="unknown version 1"):
        decode(key, b"\0\1" + value[2:])


def test_every_type_that_kafka_knows_is_known():
    classic = {
        RecordType.LEGACY_OFFSET_COMMIT,
        RecordType.OFFSET_COMMIT,
        RecordType.GROUP_METADATA,
    }
    assert {int(t) for t in (*LAYOUTS, *classic)} == set(range(24)) - {9, 18}


# -- limits ---------------------------------------------------------------------------------------

TOO_LONG = "x" * (STRING_BYTES_MAX + 1)


@pytest.mark.parametrize(
    "record",
    [
        offset_record(group_id=TOO_LONG),
        offset_record(topic=TOO_LONG),
        offset_record(metadata=TOO_LONG),
        offset_record(metadata="é" * (STRING_BYTES_MAX // 2 + 1), expire_timestamp_ms=1),
        OffsetCommitTombstone(TOO_LONG, "t", 0),
        GroupMetadataTombstone(TOO_LONG),
        GROUP._replace(protocol_type=TOO_LONG),
        GROUP._replace(members=(MEMBER._replace(client_id=TOO_LONG),)),
    ],
    ids=lambda record: type(record).__name__,
)
def test_strings_that_no_length_can_tell_are_refused(record):
    with pytest.raises(RecordError):
        encode(record)
    assert not fits_in_batch([record], 2**40)


def test_fits_in_batch_at_the_limit_and_one_past_it():
    key, value = encode(GROUP)
    size = 61 + 2 * (21 + len(key) + len(value))
    assert fits_in_batch([GROUP, GROUP], size)
    assert not fits_in_batch([GROUP, GROUP], size - 1)


# -- markers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("00000000", ControlType.ABORT),
        ("00000001", ControlType.COMMIT),
        ("0001000100", ControlType.COMMIT),
        ("00000002", None),
        ("0000ffff", None),
    ],
)
def test_control_types(key, expected):
    assert read_control_type(bytes.fromhex(key)) is expected


@pytest.mark.parametrize("key", [None, b"", b"\0\0\0", b"\xff\xff\0\1"])
def test_damaged_control_keys(key):
    with pytest.raises(RecordError):
        read_control_type(key)


# -- whatever the bytes ---------------------------------------------------------------------------

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)


@given(st.tuples(TEXT, TEXT, INT32, INT64, INT32, TEXT, INT64))
def test_offset_commits_round_trip(fields):
    record = OffsetCommitRecord(*fields)
    assert decode(*encode(record)) == record
    with_id = record._replace(topic_id=TOPIC_ID)
    assert decode(*encode(with_id)) == with_id


@given(
    st.binary(max_size=64), st.none() | st.binary(max_size=64), st.sampled_from(list(RecordType))
)
def test_random_bytes_are_a_record_or_an_error(key, value, record_type):
    try:
        record = decode(struct.pack(">h", record_type) + key, value)
    except RecordError:
        return
    assert encode(record)[1] is None or value is not None
