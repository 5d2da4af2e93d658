"""Ways to read a segment, a partition's directory or a buffer, for the tests of the decoder."""

from drumbeat.pipeline.decode.batches import decode_batches
from drumbeat.pipeline.decode.errors import CorruptSegment
from drumbeat.pipeline.decode.listing import segments_of
from drumbeat.pipeline.decode.segments import decode_segment
from drumbeat.pipeline.schemas import LOG_RECORDS
from pipeline.decode.plain import CLUSTER, NAMES, PARTITION, Row, plain_rows

ORIGIN = {"cluster_id": CLUSTER, "log_partition": PARTITION}


def rows_of(batches) -> tuple[list[Row], CorruptSegment | None]:
    """All rows, and the damage that ended them."""
    rows: list[Row] = []
    try:
        for found in batches:
            assert found.schema == LOG_RECORDS.arrow_schema
            found.validate(full=True)
            rows += found.to_pylist()
    except CorruptSegment as error:
        return rows, error
    return rows, None


def read_buffer(data, **options):
    return rows_of(decode_batches(data, **ORIGIN, **options))


def check(data) -> list[Row]:
    """Rows and damage are those that the plain codecs find."""
    rows, damage = read_buffer(data)
    expected, position = plain_rows(data)
    assert (damage and damage.position) == position
    assert len(rows) == len(expected)
    for row, plain in zip(rows, expected, strict=True):
        assert row == plain, [name for name in NAMES if row[name] != plain[name]]
    return rows


def read_segment(segment, **options):
    return rows_of(decode_segment(segment, **ORIGIN, **options))


def read_partition(directory) -> list[Row]:
    """Everything that the directory still knows, in order of offsets."""
    rows = []
    for segment in segments_of(directory):
        found, damage = read_segment(segment)
        assert damage is None
        rows += found
    return rows


def offsets_of(rows) -> list[int]:
    return [row["log_offset"] for row in rows]
