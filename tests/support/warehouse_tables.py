"""All that a warehouse says about a log, for comparing two of them."""

from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq

from drumbeat.pipeline.deriving import DERIVED
from drumbeat.pipeline.warehouse import STAGING, Warehouse


def table_rows(path: Path) -> dict[str, Counter[str]]:
    """Rows of the newest state, table by table, in no order."""
    warehouse = Warehouse(str(path))
    manifest = warehouse.manifest()
    found = {}
    for table in ("log_records", *DERIVED):
        rows: Counter[str] = Counter()
        for file in warehouse.paths(manifest.files(table)):
            rows.update(map(repr, pq.ParquetFile(file).read().to_pylist()))
        found[table] = rows
    return found


def is_writing(path: Path) -> bool:
    """Whether a task is at work whose rows are not published."""
    staging = path / STAGING
    return staging.exists() and any(any(run.iterdir()) for run in staging.iterdir())
