"""The golden log as a warehouse, once for all tests that only read it."""

import pyarrow as pa
import pytest

from drumbeat.pipeline.history.store import open_history
from drumbeat.pipeline.schemas import WATERMARKS
from pipeline.golden_log import SOURCE, golden_log
from pipeline.history.warehouses import write_warehouse


def watermarks():
    """Two partitions of the topic orders: each has 100 records at first, one more a second."""
    rows = [
        {
            "cluster_id": SOURCE.cluster_id,
            "topic": "orders",
            "partition": partition,
            "sampled_at": seconds * 1_000,
            "log_start": 12,
            "lso": None,
            "high_watermark": 100 + seconds,
            "max_ts": None,
            "source": "test",
        }
        for partition in (0, 1)
        for seconds in range(0, 121, 10)
    ]
    return pa.RecordBatch.from_pylist(rows, schema=WATERMARKS.arrow_schema)


@pytest.fixture(scope="session")
def golden(tmp_path_factory):
    path = tmp_path_factory.mktemp("golden") / "warehouse"
    write_warehouse(path, {tuple(SOURCE): [golden_log()]}, [watermarks()])
    return path


@pytest.fixture(scope="session")
def staged(tmp_path_factory):
    """The same with nothing but the staged log."""
    path = tmp_path_factory.mktemp("staged") / "warehouse"
    write_warehouse(path, {tuple(SOURCE): [golden_log()]}, is_derived=False)
    return path


@pytest.fixture
def history(golden):
    with open_history(str(golden)) as opened:
        yield opened
