"""Message declarations -> specialised encode and decode functions, one per (message, version).

Each function is generated as straight-line source for exactly the fields that version carries:
runs of fixed-width fields become one `struct` call, arrays become loops in the same function.
Nothing is generated until a version is first used (about a millisecond each). The compiled build
has the functions of the busiest APIs ready (`codec_modules`).
"""

from collections.abc import Callable
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from typing import Any

from drumbeat.protocol import reading
from drumbeat.protocol.decoding import DecoderSource
from drumbeat.protocol.encoding import EncoderSource
from drumbeat.protocol.pieces import Pieces
from drumbeat.protocol.source import function_name

Decoder = Callable[[bytes, int], Any]  # (buffer, position) -> message; raises ProtocolError
Encoder = Callable[[Any], bytes]  # message -> body
ResponseEncoder = Callable[[Any], bytes | Pieces]  # ... whose records may not be in memory

# Modules that a build left behind as source are no use: they may be older than the declarations.
IS_COMPILED_BUILD = str(reading.__file__).endswith(tuple(EXTENSION_SUFFIXES))

CODECS = "drumbeat.protocol.codecs"

_functions: dict[tuple[type[Any], type[Any], int, bool], Any] = {}


def decoder(message: type[Any], version: int, is_flexible: bool) -> Decoder:
    decode: Decoder = _function(DecoderSource, message, version, is_flexible)
    return decode


def encoder(message: type[Any], version: int, is_flexible: bool) -> Encoder:
    encode: Encoder = _function(EncoderSource, message, version, is_flexible)
    return encode


def load_codecs() -> None:
    """Loads what the build has ready, for a process that may later have no descriptor to spare."""
    if IS_COMPILED_BUILD:
        import_module(CODECS)


def _function(
    generator: type[DecoderSource | EncoderSource],
    message: type[Any],
    version: int,
    is_flexible: bool,
) -> Any:
    key = (generator, message, version, is_flexible)
    if key not in _functions:
        name = function_name(generator.kind, message, version, is_flexible)
        ready = _ready(message, name) if IS_COMPILED_BUILD else None
        _functions[key] = ready or _generate(generator(message, version, is_flexible))
    return _functions[key]


def _ready(message: type[Any], name: str) -> Any:
    """The function of that name which the build compiled, if it did and it can be loaded."""
    package, _, module = message.__module__.rpartition(".")
    if package != "drumbeat.protocol.apis":
        return None
    try:
        return getattr(import_module(f"{CODECS}.{module}"), name, None)
    except ImportError:
        return None


def _generate(source: DecoderSource | EncoderSource) -> Any:
    filename = f"<{source.message.__name__} v{source.version}>"
    exec(compile(source.text(), filename, "exec"), source.names)
    return source.names[source.name]
