"""Populated messages of any declaration, drawn from a seeded generator."""

import random
from typing import Any

from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.schema import FIXED, Field, Type, fields_of

_RANGES = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint16": (0, 2**16 - 1),
    "uint32": (0, 2**32 - 1),
}
_ERROR_CODES = [int(code) for code in ErrorCode]
_WORDS = ("orders", "grüße", "😀", "consumer-1-4a7c", "x" * 130, "a\nb")


def populated(message: type[Any], version: int, rng: random.Random) -> Any:
    """An instance with every field of `version` set to something other than its default."""
    values = {f.name: field_value(f, version, rng) for f in fields_of(message) if f.is_in(version)}
    return message(**values)


def field_value(field: Field, version: int, rng: random.Random) -> Any:
    if field.may_be_null(version) and field.versions.tag is None and rng.random() < 0.15:
        return None
    if field.name.endswith("error_code"):
        return rng.choice(_ERROR_CODES)
    if field.name.endswith("_ms"):
        return rng.randint(1, 2**31 - 1)  # kio knows a time only up to the year 9999
    if field.type.name == "bool":
        return not field.default
    while (value := _value(field.type, version, rng)) == field.default:
        pass
    return value


def _value(kind: Type, version: int, rng: random.Random) -> Any:
    if kind.name in _RANGES:
        low, high = _RANGES[kind.name]
        return rng.choice((low, high, 1, rng.randint(low, high)))
    if kind.name == "array":
        return tuple(_value(kind.element, version, rng) for _ in range(rng.choice((1, 2, 3))))
    if kind.name == "struct":
        return populated(kind.struct, version, rng)
    return _SIMPLE[kind.name](rng)


_SIMPLE = {
    "bool": lambda rng: rng.random() < 0.5,
    "float64": lambda rng: rng.uniform(-1e9, 1e9),
    "uuid": lambda rng: rng.randbytes(16),
    "string": lambda rng: rng.choice(_WORDS),
    "bytes": lambda rng: rng.randbytes(rng.choice((1, 7, 200))),
    "records": lambda rng: rng.randbytes(rng.choice((1, 70, 20_000))),
}

assert set(FIXED) <= set(_RANGES) | set(_SIMPLE)
