"""One configuration key: its type, its default, and how its text becomes a value and back.

Names, types, defaults and limits are Kafka 4.3's, so a value that Kafka takes is taken here and
DescribeConfigs answers in Kafka's text form.
"""

import re
from collections.abc import Callable
from enum import IntEnum
from math import inf, isinf
from typing import NamedTuple

from drumbeat.runtime.config.rules import ConfigValue, Rule


class ConfigType(IntEnum):
    """The numbers DescribeConfigs v3+ puts on the wire."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class ConfigValueError(ValueError):
    """A value that its key does not take; the message starts with the key."""


class ConfigDef(NamedTuple):
    """What is known about one key."""

    name: str
    type: ConfigType
    default: str | None
    """In Kafka's text form; None where Kafka has none."""
    rule: Rule | None
    is_used: bool
    """Whether Drumbeat acts on it. The others are accepted, described and named in the log."""
    is_dynamic: bool
    """Whether a running broker takes a new value; DescribeConfigs says read-only otherwise."""
    is_internal: bool
    """Described only when set, as in Kafka."""
    server_default: str | None
    """For a topic key, the broker key that supplies it to topics without their own value."""
    documentation: str

    @property
    def is_sensitive(self) -> bool:
        return self.type is ConfigType.PASSWORD

    def parse(self, text: str) -> ConfigValue:
        """The typed value of `text`, or ConfigValueError saying what was expected."""
        trimmed = text.strip()
        try:
            value = _PARSERS[self.type](trimmed)
        except ValueError:
            raise self._error(_NOUNS[self.type], trimmed) from None
        bits = _BITS.get(self.type)
        if bits is not None and not -(1 << bits - 1) <= int(trimmed) < 1 << bits - 1:
            raise self._error(f"{bits}-bit whole number", trimmed)
        if self.rule is not None and not self.rule.allows(value):
            raise self._error(_NOUNS[self.type], trimmed)
        return value

    def _error(self, noun: str, text: str) -> ConfigValueError:
        wants = f"a {noun}"
        unit = _UNITS.get(self.name.rpartition(".")[2])
        if unit is not None and self.type in _BITS:
            wants = f"{wants} of {unit}"
        if self.rule is not None:
            wants = f"{wants}: {self.rule.wants}"
        got = "a value that is not shown" if self.is_sensitive else repr(text)
        return ConfigValueError(f"{self.name}: expected {wants}, got {got}")


def format_value(value: ConfigValue) -> str | None:
    """A value in Kafka's text form, as DescribeConfigs sends it."""
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case float():
            return _format_double(value)
        case tuple():
            return ",".join(value)
        case _:
            return str(value)


def _format_double(value: float) -> str:
    """Java's Double.toString: plain digits from 10^-3 up to 10^7, else a signed exponent."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    candidates = (f"{value:.{digits}e}" for digits in range(1, 17))
    mantissa, _, exponent = next(c for c in candidates if float(c) == value).partition("e")
    return f"{mantissa}E{int(exponent)}"


_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]+")
# Java also takes the suffixes of its float and double literals.
_DECIMAL_NUMBER = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?")
_BOOLEANS = {"true": True, "false": False}


def _parse_boolean(text: str) -> bool:
    try:
        return _BOOLEANS[text.lower()]
    except KeyError:
        raise ValueError(text) from None


def _parse_whole_number(text: str) -> int:
    # int() alone would also take "1_000" and other digits than Java's.
    if _WHOLE_NUMBER.fullmatch(text) is None:
        raise ValueError(text)
    return int(text)


def _parse_decimal_number(text: str) -> float:
    number = _DECIMAL_NUMBER.fullmatch(text)
    value = float(number[1]) if number is not None else inf
    if isinf(value):
        raise ValueError(text)
    return value


def _parse_list(text: str) -> tuple[str, ...]:
    if not text:
        return ()
    # Kafka drops repetitions and refuses empty elements.
    elements = dict.fromkeys(element.strip() for element in text.split(","))
    if "" in elements:
        raise ValueError(text)
    return tuple(elements)


_PARSERS: dict[ConfigType, Callable[[str], ConfigValue]] = {
    ConfigType.BOOLEAN: _parse_boolean,
    ConfigType.STRING: str,
    ConfigType.INT: _parse_whole_number,
    ConfigType.SHORT: _parse_whole_number,
    ConfigType.LONG: _parse_whole_number,
    ConfigType.DOUBLE: _parse_decimal_number,
    ConfigType.LIST: _parse_list,
    ConfigType.CLASS: str,
    ConfigType.PASSWORD: str,
    ConfigType.UNKNOWN: str,
}
_BITS = {ConfigType.SHORT: 16, ConfigType.INT: 32, ConfigType.LONG: 64}
_NOUNS = {
    ConfigType.BOOLEAN: "boolean (true or false)",
    ConfigType.STRING: "string",
    ConfigType.INT: "whole number",
    ConfigType.SHORT: "whole number",
    ConfigType.LONG: "whole number",
    ConfigType.DOUBLE: "decimal number",
    ConfigType.LIST: "comma-separated list without empty elements",
    ConfigType.CLASS: "class name",
    ConfigType.PASSWORD: "password",
    ConfigType.UNKNOWN: "string",
}
_UNITS = {
    "ms": "milliseconds",
    "millis": "milliseconds",
    "seconds": "seconds",
    "secs": "seconds",
    "minutes": "minutes",
    "hours": "hours",
    "bytes": "bytes",
}
