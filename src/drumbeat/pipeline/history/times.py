"""Instants as people write and read them: ISO 8601 in UTC, or milliseconds since the epoch."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

# Later than every record, with room for arithmetic in 64 bits.
END_OF_TIME_MS: Final = 2**62
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_MILLISECONDS: Final = re.compile(r"-?[0-9]{1,18}")


def parse_time(text: str) -> int:
    """Milliseconds since the epoch; ValueError says what would have been understood."""
    if _MILLISECONDS.fullmatch(text):
        return int(text)
    try:
        told = datetime.fromisoformat(text)
        zoned = told if told.tzinfo else told.replace(tzinfo=UTC)
        return (zoned - _EPOCH) // _MILLISECOND
    except (ValueError, OverflowError):
        raise ValueError(
            f"{text!r} is no time; write it as 2026-11-16T12:30:00Z (UTC unless it says "
            "otherwise) or as milliseconds since the epoch"
        ) from None


def span_text(from_ms: int, to_ms: int) -> str:
    """From when to when, to the second; the day once if it is the same."""
    first, last = (time_text(at_ms)[:19].replace("T", " ") for at_ms in (from_ms, to_ms))
    is_same_day = first[:10] == last[:10]
    return f"{first} to {last[11:] if is_same_day else last} UTC"


def time_text(at_ms: int) -> str:
    """ISO 8601 in UTC; the bare number if no calendar reaches that far."""
    try:
        instant = _EPOCH + timedelta(milliseconds=at_ms)
    except OverflowError:
        return str(at_ms)
    return instant.isoformat(timespec="milliseconds").replace("+00:00", "Z")
