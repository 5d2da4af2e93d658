"""Staged records come back in the order of the log, however they were spread over files."""

import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.pipeline import staged_records
from drumbeat.pipeline.staged_records import RecordFile, read_in_order

FILES_MAX = 4


def write(path, offsets):
    pq.write_table(pa.table({"log_offset": pa.array(offsets, pa.int64())}), path)
    return RecordFile(offsets[0], offsets[-1], str(path))


@given(owners=st.lists(st.integers(0, FILES_MAX), max_size=40), rows_max=st.integers(1, 50))
def test_records_are_read_in_the_order_of_the_log(owners, rows_max):
    """Each offset is in the file that owns it; those of the last owner are missing."""
    kept = [offset for offset, owner in enumerate(owners) if owner < FILES_MAX]
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(staged_records, "ROWS_MAX", rows_max)
        files = [
            write(Path(name) / str(owner), [n for n in kept if owners[n] == owner])
            for owner in sorted({owners[n] for n in kept}, reverse=True)
        ]
        batches = list(read_in_order(files))
    assert [n for batch in batches for n in batch.column("log_offset").to_pylist()] == kept
    assert all(len(batch) for batch in batches)
