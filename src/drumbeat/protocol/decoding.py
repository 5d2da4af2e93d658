"""Source of one decoder: bytes -> message, for one message at one version.

No length is believed before it is compared with the bytes that are left, here and in what the
text calls, so a peer that announces more than it sent gets ProtocolError, not memory.
"""

import struct
from typing import Any, ClassVar

from drumbeat.protocol.errors import ProtocolError
from drumbeat.protocol.reading import (
    MALFORMED,
    malformed,
    read_bytes,
    read_string,
    read_tags,
    too_long,
    too_many,
)
from drumbeat.protocol.schema import FIXED, Field, Type, fields_of
from drumbeat.protocol.source import Source
from drumbeat.protocol.varint import read_uvarint


class DecoderSource(Source):
    """Writes a function of (buffer, position), which returns the message."""

    kind = "decode"
    helpers: ClassVar[tuple[Any, ...]] = (
        ProtocolError,
        malformed,
        read_bytes,
        read_string,
        read_tags,
        read_uvarint,
        too_long,
        too_many,
    )

    def __init__(self, message: type[Any], version: int, is_flexible: bool) -> None:
        super().__init__(message, version, is_flexible)
        self.names |= {"new": tuple.__new__, "MALFORMED": MALFORMED}
        # fixed-width values not yet unpacked: (format, variable)
        self._run: list[tuple[str, str]] = []

    def text(self) -> str:
        self.line(f"def {self.name}(buf: bytes, pos: i64, label: str = {self.label!r}) -> object:")
        with self.indented():
            self.line("size: i64; stop: i64; end: i64 = len(buf)")
            self.line("try:")
            with self.indented():
                value = self._struct(self.message)
                self._flush()
                self.line("if pos > end: raise ProtocolError('ends too early')")
                self.line(f"return {value}")
            self.line("except MALFORMED as problem:")
            self.line("    raise malformed(label, problem) from None")
        return self.source()

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
        return f"new({self.message_class(message)}, ({arguments},))"

    def _tagged_section(self, tagged: list[Field]) -> dict[str, str]:
        count = self.variable("tags")
        self._run.append(("B", count))
        self._flush()
        values = {field.name: self.variable(field.name) for field in tagged}
        for field in tagged:
            self.line(f"{values[field.name]}: Any = {self.constant(field.default)}")
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
        self.line(f"{target}: Any = None")
        self.line(f"if {marker} >= 0:")
        with self.indented():
            value = self._struct(kind.struct)
            self._flush()
            self.line(f"{target} = {value}")
        return target

    def _bytes(self, kind: Type, may_be_null: bool, name: str) -> str:
        target, is_string = self.variable(name), kind.name == "string"
        decode = ".decode()" if is_string else ""
        self._declare(target, "str" if is_string else "bytes", may_be_null)
        if self.is_flexible:
            self._compact_bytes(target, decode, may_be_null, name)
            return target
        size = self._length("h" if is_string else "i")
        self._open_null(size, target, may_be_null, name)
        with self.indented():
            self.line(f"stop = pos + {size}")
            self.line("if not pos <= stop <= end: raise too_long(stop - pos, end - pos)")
            self.line(f"{target} = buf[pos:stop]{decode}; pos = stop")
        return target

    def _compact_bytes(self, target: str, decode: str, may_be_null: bool, name: str) -> None:
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
        else:
            self.line(f"elif size == 0: raise ProtocolError('{name} is null')")
        self.line("else:")
        with self.indented():
            read = "read_string" if decode else "read_bytes"
            self.line(f"data, pos = {read}(buf, pos, end)")
            self.line(f"{target} = data{decode}")

    def _array(self, kind: Type, may_be_null: bool, name: str) -> str:
        assert kind.element is not None
        count, target, items = self._length("i"), self.variable(name), self.variable("items")
        self._declare(target, "tuple[Any, ...]", may_be_null)
        self._open_null(count, target, may_be_null, name)
        with self.indented():
            self._check_count(count)
            self.line(f"{items}: list[Any] = []")
            self.line(f"for _ in range({count}):")
            with self.indented():
                value = self._value(kind.element, False, name)
                self._flush()
                self.line(f"{items}.append({value})")
            self.line(f"{target} = tuple({items})")
        return target

    def _declare(self, target: str, kind: str, may_be_null: bool) -> None:
        self.line(f"{target}: {kind}{' | None' if may_be_null else ''}")

    def _open_null(self, size: str, target: str, may_be_null: bool, name: str) -> None:
        """Emits what null means here, and opens the branch for everything else.

        It is written as -1; any negative length is read as null, as Kafka does.
        """
        self.line(f"if {size} < 0:")
        with self.indented():
            if may_be_null:
                self.line(f"{target} = None")
            else:
                self.line(f"raise ProtocolError('{name} is null')")
        self.line("else:")

    # -- lengths and runs ------------------------------------------------------------------------

    def _length(self, fixed_format: str) -> str:
        """Emits the reading of a length or count; -1 is null in both encodings."""
        size = self.variable("size")
        self.line(f"{size}: i64")
        if not self.is_flexible:
            self._run.append((fixed_format, size))
            self._flush()
            return size
        self._flush()
        self.line(f"{size} = buf[pos] - 1; pos += 1")
        self.line(f"if {size} > 126:")
        with self.indented():
            self.line(f"{size}, pos = read_uvarint(buf, pos - 1)")
            self.line(f"{size} -= 1")
        return size

    def _check_count(self, count: str) -> None:
        # The smallest element takes one byte, so more elements than bytes cannot be true.
        self.line(f"if not 0 <= {count} <= end - pos: raise too_many({count}, end - pos)")

    def _flush(self) -> None:
        """Unpacks the fixed-width values gathered so far with one call."""
        if not self._run:
            return
        run, self._run = self._run, []
        self._read_run(run)

    def _read_run(self, run: list[tuple[str, str]]) -> None:
        if len(run) == 1 and run[0][0] == "B":
            self.line(f"{run[0][1]} = buf[pos]; pos += 1")
            return
        formats = "".join(form for form, _ in run)
        variables = ", ".join(variable for _, variable in run)
        unpack = self.struct_method("unpack_from", formats)
        self.line(f"{variables}, = {unpack}(buf, pos); pos += {struct.calcsize('>' + formats)}")
