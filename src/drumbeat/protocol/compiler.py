"""Message declarations -> specialised encode and decode functions, one per (message, version).

Each function is generated as straight-line source for exactly the fields that version carries:
runs of fixed-width fields become one `struct` call, arrays become loops in the same function.
Nothing is generated until a version is first used (about a millisecond each).
"""

from collections.abc import Callable
from typing import Any

from drumbeat.protocol.decoding import DecoderSource
from drumbeat.protocol.encoding import EncoderSource
from drumbeat.protocol.pieces import Pieces

Decoder = Callable[[bytes, int], Any]  # (buffer, position) -> message; raises ProtocolError
Encoder = Callable[[Any], bytes]  # message -> body
ResponseEncoder = Callable[[Any], bytes | Pieces]  # ... whose records may not be in memory

_compiled: dict[tuple[str, type[Any], int, bool], Any] = {}


def decoder(message: type[Any], version: int, is_flexible: bool) -> Decoder:
    key = ("decode", message, version, is_flexible)
    if key not in _compiled:
        _compiled[key] = _compile(DecoderSource(message, version, is_flexible))
    decode: Decoder = _compiled[key]
    return decode


def encoder(message: type[Any], version: int, is_flexible: bool) -> Encoder:
    key = ("encode", message, version, is_flexible)
    if key not in _compiled:
        _compiled[key] = _compile(EncoderSource(message, version, is_flexible))
    encode: Encoder = _compiled[key]
    return encode


def _compile(source: DecoderSource | EncoderSource) -> Any:
    filename = f"<{source.message.__name__} v{source.version}>"
    exec(compile(source.text(), filename, "exec"), source.names)
    return source.names["function"]
