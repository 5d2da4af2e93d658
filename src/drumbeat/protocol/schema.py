"""How a message is declared: a NamedTuple whose annotations say type and versions.

One class serves every version of its API. A plain annotation means "in all versions";
`Annotated[Int32, V(3)]` means "since version 3"; `str | None` is nullable on the wire, from
the version that `nullable=` names if not from the beginning. Tuples are arrays, nested
NamedTuples are structs. `drumbeat.protocol.compiler` turns a declaration into functions.
"""

import types
from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

LATEST = 32767  # an int16 version never exceeds this


class V(NamedTuple):
    """In which versions a field is on the wire, and how."""

    since: int = 0
    until: int = LATEST
    nullable: int = 0  # first version that may carry null; only meaningful for `X | None`
    tag: int | None = None  # tagged field (KIP-482): written only when it differs from its default


class Wire(NamedTuple):
    """A wire type that Python's own type does not tell, by Kafka's name."""

    name: str


Int8 = Annotated[int, Wire("int8")]
Int16 = Annotated[int, Wire("int16")]
Int32 = Annotated[int, Wire("int32")]
Int64 = Annotated[int, Wire("int64")]
Uint16 = Annotated[int, Wire("uint16")]
Uint32 = Annotated[int, Wire("uint32")]
Float64 = Annotated[float, Wire("float64")]
Uuid = Annotated[bytes, Wire("uuid")]
Records = Annotated[bytes | None, Wire("records")]

NULL_UUID = bytes(16)

# struct format of everything that has a fixed width
FIXED = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint16": "H",
    "uint32": "I",
    "float64": "d",
    "uuid": "16s",
}

_PYTHON_NAMES = {bool: "bool", str: "string", bytes: "bytes"}


class Type(NamedTuple):
    """`name` is a key of FIXED, or string, bytes, records, array, struct."""

    name: str
    element: "Type | None" = None  # arrays
    struct: type[Any] | None = None  # structs

    @property
    def is_fixed(self) -> bool:
        return self.name in FIXED


class Field(NamedTuple):
    name: str
    type: Type
    versions: V
    is_nullable: bool
    default: Any

    def is_in(self, version: int) -> bool:
        return self.versions.since <= version <= self.versions.until

    def may_be_null(self, version: int) -> bool:
        return self.is_nullable and version >= self.versions.nullable


def fields_of(message: type[Any]) -> tuple[Field, ...]:
    """Every declared field, in wire order."""
    hints = get_type_hints(message, include_extras=True)
    defaults = message._field_defaults
    return tuple(_field(name, hints[name], defaults.get(name)) for name in message._fields)


def fields_in(message: type[Any], version: int) -> Iterator[Field]:
    """The untagged fields that version `version` carries, in wire order."""
    return (f for f in fields_of(message) if f.is_in(version) and f.versions.tag is None)


def _field(name: str, hint: Any, default: Any) -> Field:
    base, notes = _split(hint)
    versions = next((note for note in notes if isinstance(note, V)), V())
    wire = next((note for note in notes if isinstance(note, Wire)), None)
    base, is_nullable = _without_none(base)
    return Field(name, _type(base, wire), versions, is_nullable, default)


def _split(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    if get_origin(hint) is Annotated:
        base, *notes = get_args(hint)
        return base, tuple(notes)
    return hint, ()


def _without_none(hint: Any) -> tuple[Any, bool]:
    if get_origin(hint) not in (Union, types.UnionType):
        return hint, False
    rest = [arm for arm in get_args(hint) if arm is not type(None)]
    assert len(rest) == 1, f"only X | None is a wire type, not {hint}"
    return rest[0], True


def _type(base: Any, wire: Wire | None) -> Type:
    base, notes = _split(base)
    wire = wire or next((note for note in notes if isinstance(note, Wire)), None)
    if wire is not None:
        return Type(wire.name)
    if get_origin(base) is tuple:
        return Type("array", element=_type(get_args(base)[0], None))
    if base in _PYTHON_NAMES:
        return Type(_PYTHON_NAMES[base])
    assert hasattr(base, "_fields"), f"{base!r} is not a wire type"
    return Type("struct", struct=base)
