"""Records and batches that no coordinator writes, each with what makes it odd."""

import numpy as np
import pytest

from drumbeat.pipeline.decode.arena import Arena
from drumbeat.pipeline.decode.distinct import distinct
from drumbeat.pipeline.decode.headers import walk
from drumbeat.pipeline.decode.sections import DECOMPRESSED_TOTAL_MAX, sections
from drumbeat.protocol.compression import Codec
from drumbeat.protocol.record_batch import read_header, seal
from drumbeat.protocol.records import BatchOptions, Record, encode_batch
from pipeline.decode.reading import check

KEY = bytes.fromhex("0001 0001 67 0001 74 00000007")
OFFSET = "000000000000002a"
EPOCH = "00000005"
TIME = "0000018bcfe56800"

# What is odd about a commit: key, value, and whether it can be read nevertheless.
COMMITS = {
    "nothing": (KEY, f"0004 {OFFSET} {EPOCH} 02 6d {TIME} 00", True),
    "bytes behind the key": (KEY + b"x", f"0004 {OFFSET} {EPOCH} 02 6d {TIME} 00", True),
    "bytes behind the value": (KEY, f"0004 {OFFSET} {EPOCH} 02 6d {TIME} 00 00", True),
    "bytes behind an old value": (KEY, f"0003 {OFFSET} {EPOCH} 0001 6d {TIME} 00", True),
    "a length that could be shorter": (KEY, f"0004 {OFFSET} {EPOCH} 8200 6d {TIME} 00", True),
    "a length of three bytes": (KEY, f"0004 {OFFSET} {EPOCH} 828000 6d {TIME} 00", True),
    "a topic id of zeros": (KEY, f"0004 {OFFSET} {EPOCH} 01 {TIME} 01 0010 {'00' * 16}", True),
    "half of a topic id": (KEY, f"0004 {OFFSET} {EPOCH} 01 {TIME} 01 0010 {'00' * 8}", False),
    "another tagged field": (KEY, f"0004 {OFFSET} {EPOCH} 01 {TIME} 01 05 01 ff", True),
    "two tagged fields": (
        KEY,
        f"0004 {OFFSET} {EPOCH} 01 {TIME} 02 0010 {'0a' * 16} 05 01 ff",
        True,
    ),
    "null metadata": (KEY, f"0004 {OFFSET} {EPOCH} 00 {TIME} 00", False),
    "null metadata, old": (KEY, f"0003 {OFFSET} {EPOCH} ffff {TIME}", False),
    "metadata that is not UTF-8": (KEY, f"0004 {OFFSET} {EPOCH} 02 ff {TIME} 00", False),
    "a newer version": (KEY, f"0005 {OFFSET} {EPOCH} 02 6d {TIME} 00", False),
    "a negative version": (KEY, f"ffff {OFFSET} {EPOCH} 02 6d {TIME} 00", False),
    "an empty value": (KEY, "", False),
    "half a version": (KEY, "00", False),
    "only a version": (KEY, "0004", False),
    "a legacy key with a newer value": (b"\0\0" + KEY[2:], f"0001 {OFFSET} 0000 {TIME * 2}", False),
    "a legacy key": (b"\0\0" + KEY[2:], f"0000 {OFFSET} 0000 {TIME}", True),
    "a group id that is not UTF-8": (
        KEY.replace(b"g", b"\xff"),
        f"0003 {OFFSET} {EPOCH} 0000 {TIME}",
        False,
    ),
    "a null topic": (KEY[:5] + b"\xff\xff" + KEY[-4:], f"0003 {OFFSET} {EPOCH} 0000 {TIME}", False),
    "a key without a partition": (KEY[:-4], f"0003 {OFFSET} {EPOCH} 0000 {TIME}", False),
    "only a record type": (KEY[:2], f"0003 {OFFSET} {EPOCH} 0000 {TIME}", False),
}


@pytest.mark.parametrize("name", COMMITS)
def test_commits(name):
    key, value, is_readable = COMMITS[name]
    record = Record(0, 0, key, bytes.fromhex(value))
    (row,) = check(encode_batch([record]))
    assert (row["decode_error"] is None) == is_readable
    is_plain = name in ("nothing", "a legacy key")
    kept = (None, None) if is_plain else (record.key, record.value)
    assert (row["key"], row["value"]) == kept
    assert (row["committed_offset"] == 42) == is_readable


# Length, attributes, timestamp delta, offset delta, key, value, header count of the only record.
SECTIONS = {
    "nothing": ("0e 00 00 00 01 01 00", True),
    "a header": ("16 00 00 00 01 01 02 02 68 01", True),
    "a key of length -2": ("0e 00 00 00 03 01 00", False),
    "a value of length -2": ("0e 00 00 00 01 03 00", False),
    "a negative length": ("0d 00 00 00 01 01 00", False),
    "a header count without headers": ("0e 00 00 00 01 01 02", False),
    "a negative offset": ("0e 00 00 01 01 01 00", False),
    "an offset beyond the batch's last": ("0e 00 00 02 01 01 00", False),
    "a key beyond the record": ("0e 00 00 00 7e 01 00", False),
    "a timestamp of ten bytes": (f"20 00 {'80' * 9}01 00 01 01 00", True),
    "a timestamp of more than 64 bits": (f"20 00 {'80' * 9}02 00 01 01 00", False),
    "a timestamp of eleven bytes": (f"22 00 {'80' * 10}01 00 01 01 00", False),
    "an offset of more than 32 bits": ("16 00 00 8080808010 01 01 00", False),
    "a byte behind the record": ("0e 00 00 00 01 01 00 00", False),
}


@pytest.mark.parametrize("name", SECTIONS)
def test_records(name):
    """The length is in the first byte, so it has to be right for what follows."""
    text, is_sound = SECTIONS[name]
    section = bytes.fromhex(text)
    length = (len(section) - 1) * 2
    if name not in ("a negative length", "a byte behind the record"):
        section = bytes([length]) + section[1:]
    header = read_header(encode_batch([Record(5, 0, None, None)]))
    before = encode_batch([Record(0, 0, KEY, None)])
    rows = check(before + seal(header, section))
    assert len(rows) == 1 + is_sound


HEADERS = {
    "a negative count": {"record_count": -1},
    "a negative last offset": {"last_offset_delta": -1},
    "an unknown codec": {"attributes": 5},
    "an older format": {"magic": 1},
    "an offset that does not rise": {"base_offset": 0},
    "a batch without records, but with bytes": {"record_count": 0},
}


@pytest.mark.parametrize("name", HEADERS)
def test_headers(name):
    batches = [encode_batch([Record(n, 0, KEY, None)]) for n in (0, 1, 2)]
    changed = read_header(batches[1])._replace(**HEADERS[name])
    batches[1] = seal(changed, batches[1][61:])
    assert len(check(b"".join(batches))) == 1


def test_batches_that_compaction_emptied():
    batches = [encode_batch([Record(n, 0, KEY, None)]) for n in (0, 1, 2)]
    for codec in (Codec.NONE, Codec.LZ4):
        changed = read_header(batches[1])._replace(record_count=0, attributes=codec)
        batches[1] = seal(changed, b"")
        assert len(check(b"".join(batches))) == 2


def test_decompressed_batches_are_read_a_few_at_a_time():
    each = DECOMPRESSED_TOTAL_MAX // 3
    options = BatchOptions(codec=Codec.ZSTD)
    batches = [encode_batch([Record(n, 0, b"\0\x63", bytes(each))], options) for n in range(8)]
    arena = Arena.of(*batches)
    portions = list(sections(arena, walk(arena).batches))
    assert [len(portion.batches) for portion in portions] == [3, 3, 2]


@pytest.mark.parametrize("lengths", [(0, 1, 3, 62), (62, 63), (3, 126, 127), (5, 254, 255, 9_000)])
def test_distinct_strings_are_found_once(lengths):
    """Those that differ only in length, or in their last byte, are not the same."""
    strings = [
        kind * (length - 1) + end
        for length in lengths
        for kind in (b"\0", b"a")
        for end in (b"\0", b"b")
    ]
    strings = [string for string in strings if len(string) in lengths] * 2
    ends = np.cumsum([len(string) for string in strings])
    sizes = np.array([len(string) for string in strings])
    codes, firsts = distinct(Arena.of(*strings), ends - sizes, sizes)
    assert [strings[firsts[code]] for code in codes] == strings
    assert [strings.index(strings[first]) for first in firsts] == firsts.tolist()
    assert len(firsts) == len(set(strings))
