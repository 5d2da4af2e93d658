"""Kafka's compression codecs, bounded on the way out.

Every decompressor works in bounded pieces and stops once the caller's limit is passed, whatever the
compressed data claims about its size. The third-party codecs are imported on first use: a broker
that only moves batches never needs them.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Container, Iterator
from enum import IntEnum
from typing import Any, Final, NamedTuple, Protocol

from drumbeat.protocol.varint import Buffer

XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"

# What a decompressor may put out before the limit is looked at again.
_PIECE_BYTES = 64 * 1024
# A frame's first bite, doubled up to the maximum: a decoder copies what it has not used, so a
# large bite into each of many tiny frames would make the work quadratic.
_FEED_BYTES_MIN = 512
_FEED_BYTES_MAX = 16 * 1024
_GZIP_WBITS = zlib.MAX_WBITS + 16  # zlib's way to ask for the gzip container
_LZ4_FAST = 0
_LZ4_KAFKA_DEFAULT_LEVEL = 9
# A zstd block regenerates up to 128 KiB from as few as 4 bytes, and the binding has no output
# limit, so the input is rationed: one bite yields at most half of what the caller allows, or 2 MiB
# where that is more.
_ZSTD_FEED_RATIO = 2 * 32 * 1024
_ZSTD_FEED_BYTES_MIN = 64
_XERIAL_HEADER = XERIAL_MAGIC + struct.pack(">ii", 1, 1)  # version, oldest compatible version
_XERIAL_BLOCK_BYTES = 32 * 1024  # as snappy-java writes them
_INT32 = struct.Struct(">i")


class DecompressionError(ValueError):
    """Compressed data that is damaged or larger than allowed; names the codec and the cause."""


class Codec(IntEnum):
    """The compression codec in the low three bits of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


def codec_by_name(name: str) -> Codec:
    """The codec that Kafka's configuration calls `name`."""
    try:
        return _CODEC_BY_NAME[name]
    except KeyError:
        known = ", ".join(_CODEC_BY_NAME)
        raise ValueError(f"unknown compression codec {name!r}; known are {known}") from None


def compress(codec: Codec, data: Buffer, level: int | None = None) -> bytes:
    """`data` in the form that Kafka clients of every language read."""
    coder = _CODERS[codec]
    if level is not None and level not in coder.levels:
        raise ValueError(f"{codec.name.lower()} does not support compression level {level}")
    return coder.compress(data, level)


def decompress(codec: Codec, data: Buffer, *, bytes_max: int) -> bytes:
    """What `data` holds, if that is at most `bytes_max` bytes."""
    pieces: list[bytes] = []
    total = 0
    for piece in _CODERS[codec].pieces(memoryview(data), bytes_max):
        total += len(piece)
        if total > bytes_max:
            raise _oversized(codec, bytes_max)
        pieces.append(piece)
    return b"".join(pieces)  # a single piece is returned as it is


class _Decoder(Protocol):
    """What zlib, lz4 and zstandard have in common; the rest is in the feed functions."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes | None: ...


def _frames(
    codec: Codec,
    data: memoryview,
    new_decoder: Callable[[], _Decoder],
    feed: Callable[[Any, memoryview], Iterator[bytes]],
    feed_bytes_max: int = _FEED_BYTES_MAX,
) -> Iterator[bytes]:
    """Pieces of all frames in `data`, which may hold several one after the other."""
    position = 0
    while position < len(data) or not data:  # no data at all is a frame cut off at its start
        decoder = new_decoder()
        feed_bytes = min(_FEED_BYTES_MIN, feed_bytes_max)
        while not decoder.eof:
            chunk = data[position : position + feed_bytes]
            if not chunk:
                raise DecompressionError(f"{codec.name.lower()}: cut off after {position} bytes")
            yield from feed(decoder, chunk)
            position += len(chunk) - len(decoder.unused_data or b"")
            feed_bytes = min(2 * feed_bytes, feed_bytes_max)


def _copy(data: Buffer, level: int | None) -> bytes:
    return bytes(data)


def _copy_pieces(data: memoryview, bytes_max: int) -> Iterator[bytes]:
    if len(data) > bytes_max:
        raise _oversized(Codec.NONE, bytes_max)
    yield bytes(data)


def _gzip_compress(data: Buffer, level: int | None) -> bytes:
    encoder = zlib.compressobj(
        zlib.Z_DEFAULT_COMPRESSION if level is None else level, wbits=_GZIP_WBITS
    )
    return encoder.compress(data) + encoder.flush()


def _gzip_pieces(data: memoryview, bytes_max: int) -> Iterator[bytes]:
    try:
        yield from _frames(Codec.GZIP, data, lambda: zlib.decompressobj(_GZIP_WBITS), _gzip_feed)
    except zlib.error as error:
        raise _damaged(Codec.GZIP, error) from error


def _gzip_feed(decoder: Any, chunk: memoryview) -> Iterator[bytes]:
    piece = decoder.decompress(chunk, _PIECE_BYTES)
    while piece:
        yield piece
        piece = decoder.decompress(decoder.unconsumed_tail, _PIECE_BYTES)


def _lz4_compress(data: Buffer, level: int | None) -> bytes:
    import lz4.frame  # noqa: PLC0415 - first use

    # Kafka takes its default level for "the fast compressor" and any other for the high one.
    fast = level in (None, _LZ4_KAFKA_DEFAULT_LEVEL)
    # Kafka's reader knows only independent blocks.
    compressed: bytes = lz4.frame.compress(
        data,
        compression_level=_LZ4_FAST if fast else level,
        block_size=lz4.frame.BLOCKSIZE_MAX64KB,
        block_linked=False,
        store_size=False,
    )
    return compressed


def _lz4_pieces(data: memoryview, bytes_max: int) -> Iterator[bytes]:
    import lz4.frame  # noqa: PLC0415 - first use

    try:
        yield from _frames(Codec.LZ4, data, lz4.frame.LZ4FrameDecompressor, _lz4_feed)
    except RuntimeError as error:
        raise _damaged(Codec.LZ4, error) from error


def _lz4_feed(decoder: Any, chunk: memoryview) -> Iterator[bytes]:
    # The binding allocates the output limit up front, so it has to be small.
    yield decoder.decompress(chunk, _PIECE_BYTES)
    while not decoder.eof and not decoder.needs_input:
        yield decoder.decompress(b"", _PIECE_BYTES)


def _zstd_compress(data: Buffer, level: int | None) -> bytes:
    import zstandard  # noqa: PLC0415 - first use

    return zstandard.ZstdCompressor(level=3 if level is None else level).compress(data)


def _zstd_pieces(data: memoryview, bytes_max: int) -> Iterator[bytes]:
    import zstandard  # noqa: PLC0415 - first use

    new_decoder = zstandard.ZstdDecompressor().decompressobj
    feed_bytes_max = max(_ZSTD_FEED_BYTES_MIN, bytes_max // _ZSTD_FEED_RATIO)
    try:
        yield from _frames(Codec.ZSTD, data, new_decoder, _zstd_feed, feed_bytes_max)
    except zstandard.ZstdError as error:
        raise _damaged(Codec.ZSTD, error) from error


def _zstd_feed(decoder: Any, chunk: memoryview) -> Iterator[bytes]:
    yield decoder.decompress(chunk)


def _snappy_compress(data: Buffer, level: int | None) -> bytes:
    """Xerial framing, as Java producers write it; librdkafka and the Python clients read it."""
    from cramjam import snappy  # noqa: PLC0415 - first use

    parts = [_XERIAL_HEADER]
    for start in range(0, len(data), _XERIAL_BLOCK_BYTES):
        block = bytes(snappy.compress_raw(data[start : start + _XERIAL_BLOCK_BYTES]))
        parts += (_INT32.pack(len(block)), block)
    return b"".join(parts)


def _snappy_pieces(data: memoryview, bytes_max: int) -> Iterator[bytes]:
    import cramjam  # noqa: PLC0415 - first use

    try:
        for block in _snappy_blocks(data):
            # The decompressor allocates what the block's preamble says.
            if cramjam.snappy.decompress_raw_len(block) > bytes_max:
                raise _oversized(Codec.SNAPPY, bytes_max)
            yield bytes(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as error:
        raise _damaged(Codec.SNAPPY, error) from error


def _snappy_blocks(data: memoryview) -> Iterator[memoryview]:
    """The blocks of a Xerial stream, or all of `data` as librdkafka's producers send it."""
    if not _starts_xerial(data, 0):
        yield data
        return
    position = 0
    while position < len(data):
        if _starts_xerial(data, position):  # several streams may follow one another
            position += len(_XERIAL_HEADER)
            continue
        start = position + _INT32.size
        if start > len(data):
            raise DecompressionError(f"snappy: cut off after {len(data)} bytes")
        (length,) = _INT32.unpack_from(data, position)
        position = start + length
        if length < 0 or position > len(data):
            raise DecompressionError(f"snappy: block of {length} bytes at {start} of {len(data)}")
        yield data[start:position]


def _starts_xerial(data: memoryview, position: int) -> bool:
    return data[position : position + len(XERIAL_MAGIC)].tobytes() == XERIAL_MAGIC


def _damaged(codec: Codec, cause: Exception) -> DecompressionError:
    name = codec.name.lower()
    return DecompressionError(f"{name}: {str(cause).removeprefix(f'{name}: ')}")


def _oversized(codec: Codec, bytes_max: int) -> DecompressionError:
    return DecompressionError(f"{codec.name.lower()}: more than {bytes_max} bytes")


class _Coder(NamedTuple):
    compress: Callable[[Buffer, int | None], bytes]
    pieces: Callable[[memoryview, int], Iterator[bytes]]
    levels: Container[int] = ()  # what Kafka's compression.<codec>.level allows


_CODERS = {
    Codec.NONE: _Coder(_copy, _copy_pieces),
    Codec.GZIP: _Coder(_gzip_compress, _gzip_pieces, (-1, *range(1, 10))),
    Codec.SNAPPY: _Coder(_snappy_compress, _snappy_pieces),
    Codec.LZ4: _Coder(_lz4_compress, _lz4_pieces, range(1, 18)),
    Codec.ZSTD: _Coder(_zstd_compress, _zstd_pieces, range(-131072, 23)),
}
_CODEC_BY_NAME = {codec.name.lower(): codec for codec in Codec} | {"uncompressed": Codec.NONE}
