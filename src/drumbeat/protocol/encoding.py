"""Source of one encoder: message -> bytes, for one message at one version.

The encoder is checked by the schema: null where the wire has no null is an error on our side,
never a -1 that a client might not survive.
"""

import struct
from typing import Any, ClassVar

from drumbeat.protocol.pieces import join
from drumbeat.protocol.schema import FIXED, Field, Type, fields_of
from drumbeat.protocol.source import Source
from drumbeat.protocol.varint import ONE_BYTE, encode_uvarint

_TYPES = {"string": "str", "struct": "tuple[Any, ...]"}


class EncoderSource(Source):
    """Writes a function of the message, which returns the bytes of its body.

    Records may be given in another form that has a length. Then what returns is not bytes but
    Pieces.
    """

    kind = "encode"
    helpers: ClassVar[tuple[Any, ...]] = (encode_uvarint, join)

    def __init__(self, message: type[Any], version: int, is_flexible: bool) -> None:
        super().__init__(message, version, is_flexible)
        self.names["ONE_BYTE"] = ONE_BYTE  # nearly every length is looked up in line
        # fixed-width values not yet packed: (format, expression)
        self._run: list[tuple[str, str]] = []
        self._has_records = False

    def text(self) -> str:
        self.line(f"def {self.name}(message: tuple[Any, ...]) -> object:")
        with self.indented():
            if self._is_one_run(self.message):
                self._struct(self.message, "message")
                self.line(f"return {self._packed()}")
                return self.source()
            self.line("out: list[Any] = []; is_whole = True")
            self._struct(self.message, "message")
            self._flush()
            pieces = " if is_whole else join(out)" if self._has_records else ""
            self.line(f"return b''.join(out){pieces}")
        return self.source()

    def _is_one_run(self, message: type[Any]) -> bool:
        """Whether one struct call makes the whole message, as in most error answers."""
        fields = [field for field in fields_of(message) if field.is_in(self.version)]
        return bool(fields) and all(f.type.is_fixed and f.versions.tag is None for f in fields)

    # -- structs ---------------------------------------------------------------------------------

    def _struct(self, message: type[Any], source: str) -> None:
        fields = fields_of(message)
        variables = self._unpack(fields, source)
        carried = [field for field in fields if field.is_in(self.version)]
        for field in carried:
            if field.versions.tag is None:
                self._value(field.type, field.may_be_null(self.version), variables[field.name])
        if self.is_flexible:
            tagged = [field for field in carried if field.versions.tag is not None]
            self._tagged_section(tagged, variables)

    def _unpack(self, fields: tuple[Field, ...], source: str) -> dict[str, str]:
        variables = {field.name: self.variable(field.name) for field in fields}
        for field in fields:
            if field.is_in(self.version):
                self._declare(variables[field.name], field.type, field.may_be_null(self.version))
        if variables:
            self.line(f"{', '.join(variables.values())}, = {source}")
        return variables

    def _tagged_section(self, tagged: list[Field], variables: dict[str, str]) -> None:
        if not tagged:
            self._run.append(("x", ""))
            return
        self._flush()
        present = self.variable("present")
        self.line(f"{present}: list[bytes] = []")
        for field in sorted(tagged, key=lambda field: field.versions.tag or 0):
            self._tagged_field(field, variables[field.name], present)
        self.line(f"if {present}: out.append(encode_uvarint(len({present}))); out += {present}")
        self.line("else: out.append(b'\\0')")

    def _tagged_field(self, field: Field, variable: str, present: str) -> None:
        outer, default = self.variable("outer"), self.constant(field.default)
        # A struct that nobody set is the very default, which spares the comparison of its fields.
        is_other = f"{variable} is not {default} and " if default in self.constants else ""
        self.line(f"if {is_other}{variable} != {default}:")
        with self.indented():
            self.line(f"{outer} = out; out = []")
            self._value(field.type, field.may_be_null(self.version), variable)
            self._flush()
            self.line("data = b''.join(out)")
            tag = self.constant(encode_uvarint(field.versions.tag or 0))
            self.line(f"{present}.append({tag} + encode_uvarint(len(data)) + data)")
            self.line(f"out = {outer}")

    # -- values ----------------------------------------------------------------------------------

    def _value(self, kind: Type, may_be_null: bool, variable: str) -> None:
        if kind.is_fixed:
            self._run.append((FIXED[kind.name], variable))
        elif kind.name == "struct":
            self._nested(kind, may_be_null, variable)
        elif kind.name == "array":
            self._nullable(may_be_null, variable, "i", lambda: self._array(kind, variable))
        else:
            length = "h" if kind.name == "string" else "i"
            self._nullable(may_be_null, variable, length, lambda: self._bytes(kind, variable))

    def _nested(self, kind: Type, may_be_null: bool, variable: str) -> None:
        assert kind.struct is not None
        if not may_be_null:
            self._struct(kind.struct, variable)
            return
        self._flush()
        self.line(f"if {variable} is None: out.append(b'\\xff')")
        self.line("else:")
        with self.indented():
            self.line("out.append(b'\\x01')")
            self._struct(kind.struct, variable)
            self._flush()

    def _nullable(self, may_be_null: bool, variable: str, length: str, present: Any) -> None:
        if not may_be_null:
            present()
            return
        self._flush()
        null = b"\0" if self.is_flexible else struct.pack(f">{length}", -1)
        self.line(f"if {variable} is None: out.append({null!r})")
        self.line("else:")
        with self.indented():
            present()
            self._flush()

    def _bytes(self, kind: Type, variable: str) -> None:
        data, is_string = self.variable("data"), kind.name == "string"
        self.line(f"{data} = {variable}{'.encode()' if is_string else ''}")
        self._length(f"len({data})", "h" if is_string else "i")
        self._flush()
        self.line(f"out.append({data})")
        if kind.name == "records":
            self._has_records = True
            self.line(f"if not isinstance({data}, bytes): is_whole = False")

    def _array(self, kind: Type, variable: str) -> None:
        assert kind.element is not None
        self._length(f"len({variable})", "i")
        self._flush()
        item = self.variable("item")
        self._declare(item, kind.element, False)
        self.line(f"for {item} in {variable}:")
        with self.indented():
            self._value(kind.element, False, item)
            self._flush()

    def _declare(self, variable: str, kind: Type, may_be_null: bool) -> None:
        """Emits the type of what is taken apart here; all else goes into a struct call as it is."""
        if kind.name in _TYPES:
            self.line(f"{variable}: {_TYPES[kind.name]}{' | None' if may_be_null else ''}")

    # -- lengths and runs ------------------------------------------------------------------------

    def _length(self, expression: str, fixed_format: str) -> None:
        if not self.is_flexible:
            self._run.append((fixed_format, expression))
            return
        self._flush()
        self.line(f"size = {expression} + 1")
        self.line("out.append(ONE_BYTE[size] if size < 128 else encode_uvarint(size))")

    def _flush(self) -> None:
        """Packs the fixed-width values gathered so far with one call."""
        if not self._run:
            return
        self.line(f"out.append({self._packed()})")

    def _packed(self) -> str:
        formats = "".join(form for form, _ in self._run)
        values = ", ".join(value for _, value in self._run if value)
        self._run = []
        if not values:
            return repr(bytes(len(formats)))  # nothing but empty tagged sections
        return f"{self.struct_method('pack', formats)}({values})"
