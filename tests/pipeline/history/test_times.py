"""Instants are read and written as people do."""

import pytest

from drumbeat.pipeline.history.times import parse_time, span_text, time_text


@pytest.mark.parametrize(
    ("text", "at_ms"),
    [
        ("0", 0),
        ("1763294400123", 1_763_294_400_123),
        ("-1", -1),
        ("1970-01-01", 0),
        ("1970-01-01T00:00:09.5", 9_500),
        ("1970-01-01T00:00:09.500Z", 9_500),
        ("1970-01-01 02:00:00+02:00", 0),
        ("1969-12-31T23:59:59.999Z", -1),
    ],
)
def test_a_time_is_iso_8601_or_milliseconds(text, at_ms):
    assert parse_time(text) == at_ms


@pytest.mark.parametrize("text", ["", "now", "12:30", "1970-13-01", "9" * 19, "1.5"])
def test_anything_else_is_refused(text):
    with pytest.raises(ValueError, match="is no time; write it as 2026-"):
        parse_time(text)


@pytest.mark.parametrize(
    ("at_ms", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1_763_294_400_123, "2025-11-16T12:00:00.123Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (2**62, str(2**62)),
    ],
)
def test_a_time_is_shown_in_utc(at_ms, text):
    assert time_text(at_ms) == text
    assert at_ms == 2**62 or parse_time(text) == at_ms


@pytest.mark.parametrize(
    ("until", "text"),
    [
        (61_500, "1970-01-01 00:00:01 to 00:01:01 UTC"),
        (86_400_000, "1970-01-01 00:00:01 to 1970-01-02 00:00:00 UTC"),
    ],
)
def test_a_span_says_its_day_once(until, text):
    assert span_text(1_999, until) == text
