"""Source of one encoder: message -> bytes, for one message at one version.

The encoder is checked by the schema: null where the wire has no null is an error on our side,
never a -1 that a client might not survive.
"""

import struct
from itertools import starmap
from typing import Any

from drumbeat.protocol.pieces import join
from drumbeat.protocol.schema import FIXED, Field, Type, fields_in, fields_of, tagged_in
from drumbeat.protocol.source import Source
from drumbeat.protocol.varint import ONE_BYTE, encode_uvarint


class EncoderSource(Source):
    """Writes `function(message)`, which returns the bytes of its body.

    Records may be given in another form that has a length. Then what returns is not bytes but
    Pieces.
    """

    def __init__(self, message: type[Any], version: int, is_flexible: bool) -> None:
        super().__init__(message, version, is_flexible)
        self.names |= {
            "uvarint": encode_uvarint,
            "one_byte": ONE_BYTE,  # nearly every length is looked up in line
            "starmap": starmap,
            "join": join,
        }
        self._run: list[
            tuple[str, str]
        ] = []  # fixed-width values not yet packed: (format, expression)
        self._has_records = False

    def text(self) -> str:
        self.line("def function(message):")
        with self.indented():
            if self._is_one_run(self.message):
                self._struct(self.message, "message")
                self.line(f"return {self._packed()}")
                return self.source()
            self.line("out = []")
            self.line("add = out.append")
            self._struct(self.message, "message")
            self._flush()
            self.line("return join(out)" if self._has_records else "return b''.join(out)")
        return self.source()

    def _is_one_run(self, message: type[Any]) -> bool:
        """Whether one struct call makes the whole message, as in most error answers."""
        fields = [field for field in fields_of(message) if field.is_in(self.version)]
        return bool(fields) and all(f.type.is_fixed and f.versions.tag is None for f in fields)

    # -- structs ---------------------------------------------------------------------------------

    def _struct(self, message: type[Any], source: str) -> None:
        variables = self._unpack(message, source)
        for field in fields_in(message, self.version):
            self._value(field.type, field.may_be_null(self.version), variables[field.name])
        if self.is_flexible:
            self._tagged_section(list(tagged_in(message, self.version)), variables)

    def _unpack(self, message: type[Any], source: str) -> dict[str, str]:
        variables = {field.name: self.variable(field.name) for field in fields_of(message)}
        if variables:
            self.line(f"{', '.join(variables.values())}, = {source}")
        return variables

    def _tagged_section(self, tagged: list[Field], variables: dict[str, str]) -> None:
        if not tagged:
            self._run.append(("x", ""))
            return
        self._flush()
        present = self.variable("present")
        self.line(f"{present} = []")
        for field in sorted(tagged, key=lambda field: field.versions.tag or 0):
            self._tagged_field(field, variables[field.name], present)
        self.line(f"add(uvarint(len({present})))")
        self.line(f"out += {present}")

    def _tagged_field(self, field: Field, variable: str, present: str) -> None:
        outer = self.variable("outer")
        self.line(f"if {variable} != {self.constant(field.default)}:")
        with self.indented():
            self.line(f"{outer} = out; out = []; add = out.append")
            self._value(field.type, field.may_be_null(self.version), variable)
            self._flush()
            self.line("data = b''.join(out)")
            tag = self.constant(encode_uvarint(field.versions.tag or 0))
            self.line(f"{present}.append({tag} + uvarint(len(data)) + data)")
            self.line(f"out = {outer}; add = out.append")

    # -- values ----------------------------------------------------------------------------------

    def _value(self, kind: Type, may_be_null: bool, variable: str) -> None:
        if kind.is_fixed:
            self._run.append((FIXED[kind.name], variable))
        elif kind.name == "struct":
            self._nested(kind, may_be_null, variable)
        elif kind.name == "array":
            self._nullable(may_be_null, variable, "i", lambda: self._array(kind, variable))
        else:
            is_string = kind.name == "string"
            self._has_records |= kind.name == "records"
            self._nullable(
                may_be_null,
                variable,
                "h" if is_string else "i",
                lambda: self._bytes(is_string, variable),
            )

    def _nested(self, kind: Type, may_be_null: bool, variable: str) -> None:
        assert kind.struct is not None
        if not may_be_null:
            self._struct(kind.struct, variable)
            return
        self._flush()
        self.line(f"if {variable} is None: add(b'\\xff')")
        self.line("else:")
        with self.indented():
            self.line("add(b'\\x01')")
            self._struct(kind.struct, variable)
            self._flush()

    def _nullable(self, may_be_null: bool, variable: str, length: str, present: Any) -> None:
        if not may_be_null:
            present()
            return
        self._flush()
        null = b"\0" if self.is_flexible else struct.pack(f">{length}", -1)
        self.line(f"if {variable} is None: add({null!r})")
        self.line("else:")
        with self.indented():
            present()
            self._flush()

    def _bytes(self, is_string: bool, variable: str) -> None:
        data = self.variable("data")
        self.line(f"{data} = {variable}{'.encode()' if is_string else ''}")
        self._length(f"len({data})", "h" if is_string else "i")
        self._flush()
        self.line(f"add({data})")

    def _array(self, kind: Type, variable: str) -> None:
        assert kind.element is not None
        self._length(f"len({variable})", "i")
        self._flush()
        packer = self._whole_struct_packer(kind.element)
        if packer is not None:
            self.line(f"out += starmap({packer}, {variable})")
            return
        item = self.variable("item")
        self.line(f"for {item} in {variable}:")
        with self.indented():
            self._value(kind.element, False, item)
            self._flush()

    def _whole_struct_packer(self, element: Type) -> str | None:
        """Structs of nothing but fixed-width fields, all on the wire, are packed without a loop."""
        if element.struct is None:
            return None
        fields = fields_of(element.struct)
        if not all(
            f.type.is_fixed and f.is_in(self.version) and f.versions.tag is None for f in fields
        ):
            return None
        formats = "".join(FIXED[field.type.name] for field in fields)
        return self.constant(struct.Struct(f">{formats}{'x' if self.is_flexible else ''}").pack)

    # -- lengths and runs ------------------------------------------------------------------------

    def _length(self, expression: str, fixed_format: str) -> None:
        if not self.is_flexible:
            self._run.append((fixed_format, expression))
            return
        self._flush()
        self.line(f"size = {expression} + 1")
        self.line("add(one_byte[size] if size < 128 else uvarint(size))")

    def _flush(self) -> None:
        """Packs the fixed-width values gathered so far with one call."""
        if not self._run:
            return
        self.line(f"add({self._packed()})")

    def _packed(self) -> str:
        formats = "".join(form for form, _ in self._run)
        values = ", ".join(value for _, value in self._run if value)
        self._run = []
        if not values:
            return repr(bytes(len(formats)))  # nothing but empty tagged sections
        return f"{self.constant(struct.Struct('>' + formats).pack)}({values})"
