"""Logs written as text, for the compaction tests, and what is left of them written the same way.

A batch is its records, separated by spaces: `a=1` sets a key, `a=` is a tombstone, `=1` has no key.
Before the records may stand who wrote them: `p7#3` is producer 7 with base sequence 3, `t7#3` the
same in a transaction. `commit7` and `abort7` end producer 7's transaction.
"""

import re

from drumbeat.log.compaction import OffsetMap, Rules
from drumbeat.log.port import LogBatch
from drumbeat.log.survey import SurveyedBatch, read_control_type, survey
from drumbeat.protocol.record_batch import assign, read_header
from drumbeat.protocol.records import (
    BatchOptions,
    ControlRecordType,
    Record,
    control_record_type,
    decode_records,
    encode_batch,
    encode_control_batch,
)

MARKER = re.compile(r"(commit|abort)(\d+)")
WRITER = re.compile(r"([pt])(\d+)#(\d+)")
TIMESTAMP = 1_000
DAY_MS = 86_400_000


def batch(text: str, timestamp: int = TIMESTAMP, **options) -> bytes:
    """The batch that `text` says, at base offset 0 as a producer sends it."""
    if marker := MARKER.fullmatch(text):
        kind = ControlRecordType[marker[1].upper()]
        return encode_control_batch(
            kind,
            coordinator_epoch=0,
            producer_id=int(marker[2]),
            producer_epoch=0,
            timestamp=timestamp,
        )
    words = text.split()
    if writer := WRITER.fullmatch(words[0]):
        options |= {
            "is_transactional": writer[1] == "t",
            "producer_id": int(writer[2]),
            "producer_epoch": 0,
            "base_sequence": int(writer[3]),
        }
        del words[0]
    pairs = [word.split("=") for word in words]
    records = [
        Record(n, timestamp + n, key.encode() or None, value.encode() or None)
        for n, (key, value) in enumerate(pairs)
    ]
    return encode_batch(records, BatchOptions(**options))


def log_of(*texts: str, **options) -> list[LogBatch]:
    """Batches one after the other, as they stand in a log."""
    found, offset = [], 0
    for text in texts:
        placed = assign(batch(text, **options), offset, 4)
        header = read_header(placed)
        found.append(LogBatch(header, memoryview(placed)))
        offset = header.next_offset
    return found


def surveyed(batches, active_since_ms=0):
    rows = [
        SurveyedBatch(header, read_control_type(data) if header.is_control else None)
        for header, data in batches
    ]
    return survey(rows, active_since_ms=active_since_ms)


def compacted(batches, now_ms=5_000, first_dirty=0, bytes_max=1 << 20, active_since_ms=0):
    """The batches after one compaction of all of them."""
    found = surveyed(batches, active_since_ms)
    offset_map = OffsetMap(first_dirty, bytes_max)
    for one in batches:
        if not offset_map.is_full:
            offset_map.add(one, found)
    rules = Rules(offset_map, found, batches[-1].header.last_offset, now_ms, DAY_MS)
    return [kept for one in batches if (kept := rules.judge(one)) is not None]


def as_text(found: LogBatch) -> str:
    """`0-2: a=1@0 c=3@2`: first and last offset, and each record's."""
    header, data = found
    words = [_record_text(record, header.is_control) for record in decode_records(data)]
    writer = ""
    if header.producer_id >= 0 and not header.is_control:
        kind = "t" if header.is_transactional else "p"
        writer = f" {kind}{header.producer_id}#{header.base_sequence}"
    return f"{header.base_offset}-{header.last_offset}:{writer} {' '.join(words)}".rstrip()


def _record_text(record: Record, is_control: bool) -> str:
    if is_control:
        return control_record_type(record).name.lower()
    key, value = ((part or b"").decode() for part in (record.key, record.value))
    return f"{key}={value}@{record.offset}"
