"""What compaction makes of a v2 batch: fewer records, or none, under the same identity.

A rewritten batch keeps its offsets (the last one too, although its record may be gone), producer,
sequence, leader epoch, codec and flags, as Kafka's cleaner keeps them: consumers go on from the
offset behind it, and a producer's next sequence still follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from drumbeat.protocol.compression import Codec, compress
from drumbeat.protocol.record_batch import (
    CODEC_MASK,
    DELETE_HORIZON_FLAG,
    BatchHeader,
    seal,
)
from drumbeat.protocol.record_section import Row, encode_rows

_NO_TIMESTAMP: Final = -1


def retain_records(
    header: BatchHeader, rows: Sequence[Row], delete_horizon_ms: int | None
) -> bytes:
    """The batch with only these of its records.

    The delete horizon, from when on the batch's tombstones may go, takes the place of the base
    timestamp; that is where Kafka keeps it.
    """
    base_timestamp = rows[0][1] if delete_horizon_ms is None else delete_horizon_ms
    section = encode_rows(rows, header.base_offset, base_timestamp)
    if header.codec is not Codec.NONE:
        section = compress(header.codec, section)
    has_horizon = delete_horizon_ms is not None
    max_timestamp = header.max_timestamp
    if not header.is_log_append_time:  # then it is every record's, whatever the rows say
        max_timestamp = max(row[1] for row in rows)
    kept = header._replace(
        attributes=header.attributes & ~DELETE_HORIZON_FLAG | DELETE_HORIZON_FLAG * has_horizon,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        record_count=len(rows),
    )
    return seal(kept, section)


def empty_batch(header: BatchHeader) -> bytes:
    """The batch without records: all that is left to say which offsets and sequences were used."""
    emptied = header._replace(
        attributes=header.attributes & ~(CODEC_MASK | DELETE_HORIZON_FLAG),
        base_timestamp=_NO_TIMESTAMP,
        record_count=0,
    )
    return seal(emptied, b"")
