"""Codecs: other libraries' bytes both ways, limits that hold, damage that is named."""

from __future__ import annotations

import gzip
import json
import struct
import subprocess
import sys
from contextlib import suppress

import cramjam
import lz4.frame
import pytest
import zstandard
from aiokafka import codec as aiokafka_codec
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.protocol.compression import (
    XERIAL_MAGIC,
    Codec,
    DecompressionError,
    codec_by_name,
    compress,
    decompress,
)

COMPRESSED = [codec for codec in Codec if codec is not Codec.NONE]
STREAMED = [Codec.GZIP, Codec.LZ4, Codec.ZSTD]
TEXT = b"".join(b"offset %d committed by group-%d; " % (n, n % 7) for n in range(4000))
NOISE = bytes((n * n * 31 + n // 3) % 251 for n in range(70_000))
SAMPLES = {"one byte": b"x", "zeros": bytes(300_000), "text": TEXT, "noise": NOISE}


def xerial(*blocks: bytes, declared: int | None = None) -> bytes:
    header = XERIAL_MAGIC + struct.pack(">ii", 1, 1)
    parts = [
        struct.pack(">i", len(block) if declared is None else declared) + block for block in blocks
    ]
    return header + b"".join(parts)


def zstd_unsized(data: bytes) -> bytes:
    """As zstd-jni streams it: the frame does not say how much it holds."""
    encoder = zstandard.ZstdCompressor().compressobj()
    return encoder.compress(data) + encoder.flush()


def raw_snappy(data: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(data))


# Name, codec, a foreign encoder, a foreign decoder.
FOREIGN = [
    ("gzip", Codec.GZIP, gzip.compress, gzip.decompress),
    ("aiokafka gzip", Codec.GZIP, aiokafka_codec.gzip_encode, aiokafka_codec.gzip_decode),
    ("aiokafka xerial", Codec.SNAPPY, aiokafka_codec.snappy_encode, aiokafka_codec.snappy_decode),
    ("raw snappy", Codec.SNAPPY, raw_snappy, aiokafka_codec.snappy_decode),
    ("aiokafka lz4", Codec.LZ4, aiokafka_codec.lz4_encode, aiokafka_codec.lz4_decode),
    (
        "lz4 linked, with checksum and size",
        Codec.LZ4,
        lambda data: lz4.frame.compress(data, content_checksum=True, store_size=True),
        lz4.frame.decompress,
    ),
    ("aiokafka zstd", Codec.ZSTD, aiokafka_codec.zstd_encode, aiokafka_codec.zstd_decode),
    ("zstd unsized", Codec.ZSTD, zstd_unsized, zstandard.ZstdDecompressor().decompress),
]


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize(("name", "codec", "encode", "decode"), FOREIGN)
def test_other_libraries_agree_both_ways(name, codec, encode, decode, sample):
    data = SAMPLES[sample]
    assert decompress(codec, bytes(encode(data)), bytes_max=len(data)) == data
    assert bytes(decode(compress(codec, data))) == data


@pytest.mark.parametrize("codec", Codec)
def test_the_limit_is_exact(codec):
    for data in SAMPLES.values():
        compressed = compress(codec, memoryview(data))
        assert decompress(codec, compressed, bytes_max=len(data)) == data
        with pytest.raises(DecompressionError, match=rf"^{codec.name.lower()}: more than"):
            decompress(codec, compressed, bytes_max=len(data) - 1)


@pytest.mark.parametrize("codec", Codec)
def test_round_trip(codec):
    @given(st.binary(max_size=2000), st.integers(0, 40))
    def check(data, copies):
        data *= copies
        assert decompress(codec, compress(codec, data), bytes_max=len(data)) == data

    check()


@pytest.mark.parametrize("codec", COMPRESSED)
def test_streams_one_after_the_other_are_one(codec):
    compressed = compress(codec, TEXT) + compress(codec, b"") + compress(codec, NOISE)
    assert decompress(codec, compressed, bytes_max=len(TEXT + NOISE)) == TEXT + NOISE


def test_a_skippable_zstd_frame_is_skipped():
    skippable = b"\x50\x2a\x4d\x18" + struct.pack("<I", 4) + b"note"
    compressed = skippable + compress(Codec.ZSTD, TEXT) + skippable
    assert decompress(Codec.ZSTD, compressed, bytes_max=len(TEXT)) == TEXT


def test_snappy_is_written_in_xerial_blocks_of_32_kib():
    compressed = compress(Codec.SNAPPY, bytes(70_000))
    assert compressed[:16] == XERIAL_MAGIC + bytes((0, 0, 0, 1, 0, 0, 0, 1))
    sizes = []
    position = 16
    while position < len(compressed):
        (length,) = struct.unpack_from(">i", compressed, position)
        block = compressed[position + 4 : position + 4 + length]
        sizes.append(len(bytes(cramjam.snappy.decompress_raw(block))))
        position += 4 + length
    assert sizes == [32768, 32768, 70_000 - 65536]


def test_lz4_frames_are_what_kafka_reads():
    """Version 1, independent blocks of 64 KiB, no checksums, no size."""
    assert compress(Codec.LZ4, TEXT)[:6] == bytes.fromhex("04224d18 6040")


DAMAGED = [
    (Codec.GZIP, b"", "cut off after 0 bytes"),
    (Codec.GZIP, b"not gzip at all", "incorrect header check"),
    (Codec.GZIP, compress(Codec.GZIP, TEXT) + b"tail", "incorrect header check"),
    (Codec.SNAPPY, b"", "empty"),
    (Codec.SNAPPY, b"\xff\xff\xff\xff\xff\xff", "corrupt input"),
    (Codec.SNAPPY, xerial(raw_snappy(TEXT), declared=-5), "block of -5 bytes"),
    (Codec.SNAPPY, xerial(raw_snappy(TEXT), declared=2**31 - 1), "block of 2147483647 bytes"),
    (Codec.SNAPPY, xerial() + b"\x00\x00", "cut off after 18 bytes"),
    (Codec.SNAPPY, xerial(b"\x05abc"), "corrupt input"),
    (Codec.LZ4, b"", "cut off after 0 bytes"),
    (Codec.LZ4, b"not lz4 at all....", "frameType_unknown"),
    (Codec.LZ4, compress(Codec.LZ4, TEXT) + b"trailing", "frameType_unknown"),
    (Codec.ZSTD, b"", "cut off after 0 bytes"),
    (Codec.ZSTD, b"not zstd at all", "Unknown frame descriptor"),
    (Codec.ZSTD, compress(Codec.ZSTD, TEXT) + b"trailing", "Unknown frame descriptor"),
]


@pytest.mark.parametrize(("codec", "data", "cause"), DAMAGED)
def test_damage_is_named_with_its_codec(codec, data, cause):
    with pytest.raises(DecompressionError, match=rf"^{codec.name.lower()}: .*{cause}"):
        decompress(codec, data, bytes_max=len(TEXT))


@pytest.mark.parametrize("codec", STREAMED)
def test_a_stream_cut_anywhere_is_an_error(codec):
    compressed = compress(codec, b"a few words, a few words more")
    for end in range(len(compressed)):
        with pytest.raises(DecompressionError):
            decompress(codec, compressed[:end], bytes_max=1000)


@pytest.mark.parametrize("codec", COMPRESSED)
def test_any_bytes_give_data_or_the_one_error(codec):
    genuine = compress(codec, TEXT[:300])
    edits = st.lists(st.tuples(st.integers(0, len(genuine) - 1), st.integers(0, 255)), max_size=4)

    @given(edits, st.integers(0, len(genuine)))
    def check(edits, end):
        damaged = bytearray(genuine)
        for position, byte in edits:
            damaged[position] = byte
        with suppress(DecompressionError):
            assert len(decompress(codec, damaged[:end], bytes_max=5000)) <= 5000

    check()


MEASURE_BOMBS = """
import json, pathlib, resource, sys
import cramjam, lz4.frame, zstandard
from drumbeat.protocol.compression import Codec, DecompressionError, decompress

def kib(name):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(name))

work = json.load(sys.stdin)
bombs = {name: pathlib.Path(path).read_bytes() for name, _, path in work}
before = kib("VmHWM")
# Memory that is asked for and not touched does not show in the peak; this refuses it.
limit = (kib("VmSize") + 64 * 1024) * 1024
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
for name, codec, _ in work:
    try:
        decompress(Codec(codec), bombs[name], bytes_max=1 << 20)
    except DecompressionError as error:
        print(json.dumps([name, str(error), kib("VmHWM") - before]))
"""


def bombs() -> dict[str, tuple[Codec, bytes]]:
    zeros = bytes(96 << 20)
    return {
        "gzip": (Codec.GZIP, compress(Codec.GZIP, zeros, 1)),
        "raw snappy": (Codec.SNAPPY, raw_snappy(zeros)),
        "snappy preamble": (Codec.SNAPPY, b"\xff\xff\xff\xff\x0f" + b"\x00" * 100),
        "xerial preamble": (Codec.SNAPPY, xerial(b"\xff\xff\xff\xff\x0f" + b"\x00" * 100)),
        "lz4": (Codec.LZ4, compress(Codec.LZ4, zeros)),
        "lz4 claims": (Codec.LZ4, lz4.frame.compress(zeros, store_size=True, block_size=7)),
        "zstd": (Codec.ZSTD, compress(Codec.ZSTD, zeros)),
        "zstd unsized": (Codec.ZSTD, zstd_unsized(zeros)),
    }


def test_bombs_are_refused_without_the_memory_they_ask_for(tmp_path):
    """Each holds or claims 96 MiB and more; the limit is 1 MiB. Measured in a fresh process."""
    work = []
    for name, (codec, bomb) in bombs().items():
        path = tmp_path / name
        path.write_bytes(bomb)
        work.append((name, codec.value, str(path)))
    measured = subprocess.run(
        [sys.executable, "-c", MEASURE_BOMBS],
        input=json.dumps(work),
        capture_output=True,
        text=True,
        check=True,
    )
    rows = [json.loads(line) for line in measured.stdout.splitlines()]
    assert [name for name, _, _ in rows] == [name for name, _, _ in work]
    for name, error, growth_kib in rows:
        assert error.endswith(": more than 1048576 bytes"), name
        assert growth_kib < 12 * 1024, name


NAMES = [
    ("none", Codec.NONE),
    ("uncompressed", Codec.NONE),
    ("gzip", Codec.GZIP),
    ("snappy", Codec.SNAPPY),
    ("lz4", Codec.LZ4),
    ("zstd", Codec.ZSTD),
]


@pytest.mark.parametrize(("name", "codec"), NAMES)
def test_codecs_have_kafkas_names(name, codec):
    assert codec_by_name(name) is codec


@pytest.mark.parametrize("name", ["", "producer", "LZ4", "brotli"])
def test_an_unknown_name_lists_the_known_ones(name):
    with pytest.raises(ValueError, match="known are none, gzip, snappy, lz4, zstd, uncompressed"):
        codec_by_name(name)


LEVELS = [
    (Codec.NONE, [], [0, 1]),
    (Codec.GZIP, [-1, 1, 9], [-2, 0, 10]),
    (Codec.SNAPPY, [], [1]),
    (Codec.LZ4, [1, 9, 17], [0, 18]),
    (Codec.ZSTD, [-131072, -1, 1, 19], [-131073, 23]),
]


@pytest.mark.parametrize(("codec", "allowed", "refused"), LEVELS)
def test_levels_are_kafkas(codec, allowed, refused):
    for level in allowed:
        assert decompress(codec, compress(codec, TEXT, level), bytes_max=len(TEXT)) == TEXT
    for level in refused:
        with pytest.raises(ValueError, match=f"does not support compression level {level}"):
            compress(codec, TEXT, level)


def test_lz4s_default_level_is_the_fast_compressor_as_in_kafka():
    assert compress(Codec.LZ4, TEXT, 9) == compress(Codec.LZ4, TEXT)
    assert len(compress(Codec.LZ4, TEXT, 12)) < len(compress(Codec.LZ4, TEXT))


def test_codec_libraries_are_not_imported_before_their_first_use():
    script = (
        "import sys, drumbeat.protocol.records;"
        "print(sorted({'lz4', 'zstandard', 'cramjam'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert result.stdout.strip() == b"[]"
