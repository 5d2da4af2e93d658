"""What `__group_events` says, read the way any consumer reads it: with Fetch."""

import json
from typing import Any

from support.data_topics import Topic, fetch_from, records_in
from support.wire import Wire

EVENTS_TOPIC = Topic("__group_events", bytes(16))
FETCH_VERSION = 12  # names topics
UNKNOWN_TOPIC = 3


def read_events(servers: str, group_id: str | None = None) -> list[dict[str, Any]]:
    """All events, or those of one group, in the order in which they happened."""
    events: list[dict[str, Any]] = []
    offset = 0
    with Wire(servers) as wire:
        while True:
            fetched = fetch_from(wire, EVENTS_TOPIC, offset, version=FETCH_VERSION)
            if fetched.error_code == UNKNOWN_TOPIC or not fetched.records:
                return events
            for record in records_in(fetched.records):
                offset = record.offset + 1
                assert record.key is not None
                assert record.value is not None
                if group_id in (None, record.key.decode()):
                    events.append(json.loads(record.value))


def kinds(events: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in events]
