"""The generators for compiled code: the same structure, but values are read by calls.

In compiled code a call is next to nothing, so what the interpreter wants in line would only make
the build longer.
"""

import struct
from typing import Any, ClassVar

from drumbeat.protocol import codec_calls
from drumbeat.protocol.decoding import DecoderSource
from drumbeat.protocol.encoding import EncoderSource
from drumbeat.protocol.errors import ProtocolError
from drumbeat.protocol.reading import malformed, read_tags, too_many
from drumbeat.protocol.schema import Type

# how a value of each struct format is read
_READERS = {
    "?": codec_calls.read_bool,
    "b": codec_calls.read_int8,
    "B": codec_calls.read_uint8,
    "h": codec_calls.read_int16,
    "H": codec_calls.read_uint16,
    "i": codec_calls.read_int32,
    "I": codec_calls.read_uint32,
    "q": codec_calls.read_int64,
    "d": codec_calls.read_float64,
    "16s": codec_calls.read_uuid,
}


class CallingDecoderSource(DecoderSource):
    helpers: ClassVar[tuple[Any, ...]] = (
        ProtocolError,
        malformed,
        read_tags,
        too_many,
        *_READERS.values(),
        codec_calls.read_size,
        codec_calls.take_bytes,
        codec_calls.take_string,
    )

    def text_by(self, function: str) -> str:
        """This version by way of another's function, which reads the same layout."""
        return (
            f"def {self.name}(buf: bytes, pos: i64) -> object:\n"
            f"    return {function}(buf, pos, {self.label!r})\n"
        )

    def _bytes(self, kind: Type, may_be_null: bool, name: str) -> str:
        is_string = kind.name == "string"
        python_type = "str" if is_string else "bytes"
        take = "take_string" if is_string else "take_bytes"
        target, size = self.variable(name), self._length("h" if is_string else "i")
        self._declare(target, python_type, may_be_null)
        taken = f"{target} = {take}(buf, pos, {size}, {name!r}); pos += {size}"
        if may_be_null:
            self.line(f"if {size} < 0: {target} = None")
        self.line(f"else: {taken}" if may_be_null else taken)
        return target

    def _length(self, fixed_format: str) -> str:
        if not self.is_flexible:
            return super()._length(fixed_format)
        self._flush()
        size = self.variable("size")
        self.line(f"{size}, pos = read_size(buf, pos)")
        return size

    def _read_run(self, run: list[tuple[str, str]]) -> None:
        for form, variable in run:
            read, width = _READERS[form].__name__, struct.calcsize(f">{form}")
            self.line(f"{variable} = {read}(buf, pos); pos += {width}")


class CallingEncoderSource(EncoderSource):
    helpers: ClassVar[tuple[Any, ...]] = (*EncoderSource.helpers, codec_calls.add_string)

    def text_by(self, function: str) -> str:
        """This version by way of another's function, which writes the same layout."""
        return f"{self.name} = {function}\n"

    def _bytes(self, kind: Type, variable: str) -> None:
        if kind.name != "string" or not self.is_flexible:
            super()._bytes(kind, variable)
            return
        self._flush()
        self.line(f"add_string(out, {variable})")

    def _length(self, expression: str, fixed_format: str) -> None:
        if not self.is_flexible:
            super()._length(expression, fixed_format)
            return
        self._flush()
        self.line(f"out.append(encode_uvarint({expression} + 1))")
