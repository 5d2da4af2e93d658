"""How a single value is written: for people, or as JSON has it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, Final

NOTHING: Final = "-"
STYLES: Final = {
    "critical": "bold red",
    "warning": "yellow",
    "STOP": "red",
    "STALL": "red",
    "REWIND": "red",
    "WARN": "yellow",
    "OK": "green",
    "Stable": "green",
    "Dead": "dim",
}


def cell(value: Any) -> str:
    match value:
        case None:
            return NOTHING
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.4g}" if abs(value) < 1_000 else f"{value:.0f}"
        case list() | tuple():
            return ", ".join(map(cell, value)) or NOTHING
        case Mapping():
            return printable(json.dumps(plain(value), ensure_ascii=False))
        case _:
            return printable(str(plain(value)))


def printable(text: str) -> str:
    """Names and notes in a log may be anything; a terminal must not obey them."""
    if text.isprintable():
        return text
    escaped = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return "".join(escaped)


def plain(value: Any) -> Any:
    """As JSON has it."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case bytes():
            return value.hex()
        case datetime() | date():
            return value.isoformat()
        case Mapping():
            return {str(name): plain(item) for name, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case _:
            return str(value)
