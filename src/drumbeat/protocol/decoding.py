"""Source of one decoder: bytes -> message, for one message at one version.

Lengths are dealt with here and nowhere else: none is believed before it is compared with the
bytes that are left, so a peer that announces more than it sent gets ProtocolError, not memory.
"""

import struct
from typing import Any

from drumbeat.protocol.errors import ProtocolError
from drumbeat.protocol.schema import FIXED, Field, Type, fields_of
from drumbeat.protocol.source import Source
from drumbeat.protocol.varint import read_uvarint

TAGS_MAX = 1024

# What generated code raises on bytes that are too short or not what they claim to be.
MALFORMED = (ProtocolError, IndexError, ValueError, OverflowError, struct.error)


def read_tags(buffer: bytes, position: int, end: int) -> tuple[dict[int, tuple[int, int]], int]:
    """Tagged fields at `position`: {tag: (start, stop)} and where the section ends."""
    count, position = read_uvarint(buffer, position)
    if count > min(TAGS_MAX, end - position):
        raise ProtocolError(f"{count} tagged fields announced")
    tags: dict[int, tuple[int, int]] = {}
    previous = -1
    for _ in range(count):
        tag, position = read_uvarint(buffer, position)
        size, position = read_uvarint(buffer, position)
        if tag <= previous:
            raise ProtocolError(f"tag {tag} follows tag {previous}")
        if size > end - position:
            raise ProtocolError(f"tag {tag} announces {size} bytes, {end - position} are left")
        previous = tag
        tags[tag] = (position, position + size)
        position += size
    return tags, position


def read_bytes(buffer: bytes, position: int, end: int) -> tuple[bytes, int]:
    """Compact bytes at `position`, not null, whatever the length of their length."""
    size, position = read_uvarint(buffer, position)
    if size == 0:
        raise ProtocolError("null where the schema has no null")
    stop = position + size - 1
    if stop > end:
        raise too_long(size - 1, end - position)
    return buffer[position:stop], stop


def too_long(size: int, left: int) -> ProtocolError:
    return ProtocolError(f"{size} bytes announced, {left} are left")


def too_many(count: int, left: int) -> ProtocolError:
    return ProtocolError(f"{count} elements announced, {left} bytes are left")


class DecoderSource(Source):
    """Writes `function(buf, pos, end)`, which returns the message."""

    def __init__(self, message: type[Any], version: int, is_flexible: bool) -> None:
        super().__init__(message, version, is_flexible)
        self.names |= {
            "new": tuple.__new__,
            "uvarint": read_uvarint,
            "read_tags": read_tags,
            "read_bytes": read_bytes,
            "too_long": too_long,
            "too_many": too_many,
            "ProtocolError": ProtocolError,
            "MALFORMED": MALFORMED,
            "malformed": self._malformed,
        }
        self._run: list[
            tuple[str, str]
        ] = []  # fixed-width values not yet unpacked: (format, variable)

    def text(self) -> str:
        self.line("def function(buf, pos):")
        with self.indented():
            self.line("end = len(buf)")
            self.line("try:")
            with self.indented():
                value = self._struct(self.message)
                self._flush()
                self.line("if pos > end: raise ProtocolError('ends too early')")
                self.line(f"return {value}")
            self.line("except MALFORMED as problem: raise malformed(problem) from None")
        return self.source()

    def _malformed(self, problem: Exception) -> ProtocolError:
        name = f"{self.message.__name__} v{self.version}"
        if isinstance(problem, ProtocolError):
            return ProtocolError(f"{name}: {problem}")
        return ProtocolError(f"{name}: truncated or malformed ({problem})")

    # -- structs ---------------------------------------------------------------------------------

    def _struct(self, message: type[Any]) -> str:
        """Emits the reading of one struct; returns the expression that builds it."""
        values: dict[str, str] = {}
        tagged: list[Field] = []
        for field in fields_of(message):
            if not field.is_in(self.version):
                values[field.name] = self.constant(field.default)
            elif field.versions.tag is not None:
                tagged.append(field)
            else:
                values[field.name] = self._value(
                    field.type, field.may_be_null(self.version), field.name
                )
        if self.is_flexible:
            values |= self._tagged_section(tagged)
        arguments = ", ".join(values[name] for name in message._fields)
        return f"new({self.constant(message)}, ({arguments},))"

    def _tagged_section(self, tagged: list[Field]) -> dict[str, str]:
        count = self.variable("tags")
        self._run.append(("B", count))
        self._flush()
        values = {field.name: self.variable(field.name) for field in tagged}
        for field in tagged:
            self.line(f"{values[field.name]} = {self.constant(field.default)}")
        self.line(f"if {count}:")
        with self.indented():
            found = self.variable("found")
            self.line(f"{found}, pos = read_tags(buf, pos - 1, end)")
            for field in tagged:
                self._tagged_field(field, found, values[field.name])
        return values

    def _tagged_field(self, field: Field, found: str, target: str) -> None:
        tag, after, until = field.versions.tag, self.variable("after"), self.variable("until")
        self.line(f"if {tag} in {found}:")
        with self.indented():
            self.line(f"{after} = pos")
            self.line(f"pos, {until} = {found}[{tag}]")
            value = self._value(field.type, field.may_be_null(self.version), field.name)
            self._flush()
            self.line(f"if pos != {until}: raise ProtocolError('tag {tag} has a wrong size')")
            self.line(f"{target} = {value}")
            self.line(f"pos = {after}")

    # -- values ----------------------------------------------------------------------------------

    def _value(self, kind: Type, may_be_null: bool, name: str) -> str:
        """Emits the reading of one value; returns the variable or expression that holds it."""
        if kind.is_fixed:
            variable = self.variable(name)
            self._run.append((FIXED[kind.name], variable))
            return variable
        if kind.name == "struct":
            return self._nested(kind, may_be_null, name)
        if kind.name == "array":
            return self._array(kind, may_be_null, name)
        return self._bytes(kind, may_be_null, name)

    def _nested(self, kind: Type, may_be_null: bool, name: str) -> str:
        assert kind.struct is not None
        if not may_be_null:
            return self._struct(kind.struct)
        marker, target = self.variable("marker"), self.variable(name)
        self._run.append(("b", marker))
        self._flush()
        self.line(f"{target} = None")
        self.line(f"if {marker} >= 0:")
        with self.indented():
            value = self._struct(kind.struct)
            self._flush()
            self.line(f"{target} = {value}")
        return target

    def _bytes(self, kind: Type, may_be_null: bool, name: str) -> str:
        target, decode = self.variable(name), ".decode()" if kind.name == "string" else ""
        if self.is_flexible:
            self._compact_bytes(target, decode, may_be_null)
            return target
        size = self._length("h" if kind.name == "string" else "i")
        self._open_null(size, target, may_be_null, name)
        with self.indented():
            self.line(f"stop = pos + {size}")
            self.line("if not pos <= stop <= end: raise too_long(stop - pos, end - pos)")
            self.line(f"{target} = buf[pos:stop]{decode}; pos = stop")
        return target

    def _compact_bytes(self, target: str, decode: str, may_be_null: bool) -> None:
        # One-byte lengths, nearly all there are, in line: a slice never reaches beyond the
        # buffer, and the check at the end of the message finds the position that did.
        self._flush()
        self.line("size = buf[pos]")
        self.line("if 1 < size < 128:")
        with self.indented():
            self.line("stop = pos + size")
            self.line(f"{target} = buf[pos + 1:stop]{decode}; pos = stop")
        self.line(f"elif size == 1: {target} = {'' if decode else b''!r}; pos += 1")
        if may_be_null:
            self.line(f"elif size == 0: {target} = None; pos += 1")
        self.line("else:")
        with self.indented():
            self.line(f"{target}, pos = read_bytes(buf, pos, end)")
            if decode:
                self.line(f"{target} = {target}{decode}")

    def _array(self, kind: Type, may_be_null: bool, name: str) -> str:
        assert kind.element is not None
        count, target, items = self._length("i"), self.variable(name), self.variable("items")
        self._open_null(count, target, may_be_null, name)
        with self.indented():
            self._check_count(count)
            self.line(f"{items} = []")
            self.line(f"for _ in range({count}):")
            with self.indented():
                value = self._value(kind.element, False, name)
                self._flush()
                self.line(f"{items}.append({value})")
            self.line(f"{target} = tuple({items})")
        return target

    def _open_null(self, size: str, target: str, may_be_null: bool, name: str) -> None:
        """Emits what null means here, and opens the branch for everything else."""
        self.line(f"if {size} == -1:")
        with self.indented():
            if may_be_null:
                self.line(f"{target} = None")
            else:
                self.line(f"raise ProtocolError('{name} is null')")
        self.line("else:")

    # -- lengths: the one place ------------------------------------------------------------------

    def _length(self, fixed_format: str) -> str:
        """Emits the reading of a length or count; -1 is null in both encodings."""
        size = self.variable("size")
        if not self.is_flexible:
            self._run.append((fixed_format, size))
            self._flush()
            return size
        self._flush()
        self.line(f"{size} = buf[pos] - 1; pos += 1")
        self.line(f"if {size} > 126:")
        with self.indented():
            self.line(f"{size}, pos = uvarint(buf, pos - 1)")
            self.line(f"{size} -= 1")
        return size

    def _check_count(self, count: str) -> None:
        # The smallest element takes one byte, so more elements than bytes cannot be true.
        self.line(f"if not 0 <= {count} <= end - pos: raise too_many({count}, end - pos)")

    def _flush(self) -> None:
        """Unpacks the fixed-width values gathered so far with one call."""
        if not self._run:
            return
        if len(self._run) == 1 and self._run[0][0] == "B":
            self.line(f"{self._run[0][1]} = buf[pos]; pos += 1")
            self._run = []
            return
        formats, variables = zip(*self._run, strict=True)
        packed = struct.Struct(">" + "".join(formats))
        self._run = []
        unpack = self.constant(packed.unpack_from)
        self.line(f"{', '.join(variables)}, = {unpack}(buf, pos); pos += {packed.size}")
