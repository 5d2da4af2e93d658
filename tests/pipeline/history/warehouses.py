"""Warehouses for questions: tables built in process, written as the pipeline writes them."""

import os
from collections import defaultdict

import pyarrow as pa
import pyarrow.parquet as pq

from drumbeat.pipeline.decode.batches import OffsetRange
from drumbeat.pipeline.findings.marts import PartitionMarts
from drumbeat.pipeline.lag.watermarks import Watermarks
from drumbeat.pipeline.manifest import DataFile, LogPartition
from drumbeat.pipeline.schemas import LOG_RECORDS, TABLES, WATERMARKS
from drumbeat.pipeline.tables.builder import LogPartition as TablesOf
from drumbeat.pipeline.tables.partition_tables import PartitionTables
from drumbeat.pipeline.warehouse import StagedFile, Warehouse


def derived_tables(source, records, watermarks):
    """All rows of one log partition, by table."""
    tables = defaultdict(list)
    builder = PartitionTables(source, snapshot_interval_ms=30_000)
    marts = PartitionMarts(source, Watermarks(watermarks))
    out = []
    for batch in records:
        out += marts.feed(LOG_RECORDS.name, batch)
        for derived in builder.feed(batch):
            out += [derived, *marts.feed(*derived)]
    still_open = list(builder.finish())
    out += [*still_open, *marts.finished(still_open, None)]
    for table, batch in out:
        tables[table].append(batch)
    return tables


def write_warehouse(path, logs, watermarks=(), *, is_derived=True, run_id="test"):
    """`logs`: record batches of `log_records` by (cluster id, log partition)."""
    with Warehouse(str(path)).writer(run_id) as writer:
        manifest = writer.manifest
        for number, (place, batches) in enumerate(logs.items()):
            source = LogPartition(*place)
            tables = {LOG_RECORDS.name: batches}
            if is_derived:
                tables |= derived_tables(TablesOf(*source), batches, watermarks)
            if is_derived and watermarks and number == 0:
                tables[WATERMARKS.name] = list(watermarks)
            offsets = pa.Table.from_batches(batches).column("log_offset").to_pylist()
            staged = [stage(writer, source, name, tables[name], offsets) for name in tables]
            for one, file in zip(staged, writer.move_in(staged), strict=True):
                manifest = manifest.with_files(one.table, [file])
            read = [(source, OffsetRange(offsets[0], offsets[-1] + 1))]
            manifest = manifest.with_covered(read)
        return writer.publish(manifest, now_ms=1)


def stage(writer, source, table, batches, offsets):
    name = f"{table}-{source.log_partition}.parquet"
    path = os.path.join(writer.staging, name)
    rows = pa.Table.from_batches(batches, schema=TABLES[table].arrow_schema)
    pq.write_table(rows, path)
    file = DataFile(
        path="",
        cluster_id=source.cluster_id,
        log_partition=source.log_partition,
        first_offset=offsets[0],
        last_offset=offsets[-1],
        rows=len(rows),
        bytes=os.stat(path).st_size,
    )
    return StagedFile(table=table, name=name, file=file)
