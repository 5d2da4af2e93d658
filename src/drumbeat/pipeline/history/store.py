"""The newest state of a warehouse as a database: one view per table, over its Parquet files."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import duckdb
import pyarrow as pa

from drumbeat.pipeline.history.answer import Answer
from drumbeat.pipeline.history.errors import HistoryError, UnknownGroup
from drumbeat.pipeline.manifest import DataFile, LogPartition, Manifest
from drumbeat.pipeline.schemas import (
    GROUP_ACTIVITY_DAILY,
    GROUP_GENERATIONS,
    LOG_COVERAGE,
    LOG_RECORDS,
    TABLES,
    Table,
)
from drumbeat.pipeline.warehouse import MANIFESTS, Warehouse

_RUN: Final = "drumbeat pipeline run --source ... --warehouse"
_NO_EXTENSIONS: Final[
    dict[str, str | bool | int | float | list[str]]
] = {  # all that is needed is built in; nothing is fetched from the network
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}

# What one log partition does not know: the job derives each on its own.
_COMPUTED: Final = {
    GROUP_ACTIVITY_DAILY.name: (
        "bytes / greatest(sum(bytes) OVER (PARTITION BY cluster_id, day), 1) AS share_of_topic",
    )
}


class History:
    """Of one manifest: a job that publishes the next one meanwhile changes no answer."""

    def __init__(
        self, warehouse: Warehouse, manifest: Manifest, database: duckdb.DuckDBPyConnection
    ) -> None:
        self.manifest = manifest
        self._warehouse = warehouse
        self._database = database

    def query(
        self,
        sql: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        times: Collection[str] = (),
    ) -> Answer:
        """Rows of a statement; HistoryError if it is none, or if a file cannot be read."""
        with self._explained():
            cursor = self._database.execute(sql, parameters)
            columns = tuple(column[0] for column in cursor.description or ())
            return Answer(columns, cursor.fetchall(), times)

    def query_batches(self, sql: str, parameters: Mapping[str, Any]) -> list[pa.RecordBatch]:
        with self._explained():
            rows: pa.Table = self._database.sql(sql, params=parameters).to_arrow_table()
            return list(rows.to_batches())

    def is_derived(self, table: Table) -> bool:
        """Whether a job has made the table, with rows or without. Coverage always has rows."""
        return any(self.manifest.files(name) for name in (table.name, LOG_COVERAGE.name))

    def require(self, *tables: Table) -> None:
        missing = [table.name for table in tables if not self.is_derived(table)]
        if missing:
            raise HistoryError(
                f"{', '.join(missing)}: not derived yet, only the log is staged; "
                f"{_RUN} {self._warehouse.path} derives the tables"
            )

    def require_group(self, group_id: str) -> None:
        known = self.group_ids()
        if group_id not in known:
            raise UnknownGroup(group_id, known)

    def sources(self, cluster_id: str | None = None) -> list[LogPartition]:
        """All log partitions with records; HistoryError if the cluster has none."""
        sources = sorted({file.source for file in self.manifest.files(LOG_RECORDS.name)})
        found = [source for source in sources if cluster_id in (None, source.cluster_id)]
        if not found:
            clusters = ", ".join(sorted({source.cluster_id for source in sources}))
            raise HistoryError(f"the warehouse has no cluster {cluster_id!r}; it has {clusters}")
        return found

    def group_ids(self) -> frozenset[str]:
        """From the small tables if they are there, else from the log itself."""
        small = (GROUP_ACTIVITY_DAILY, GROUP_GENERATIONS)
        tables = small if all(map(self.is_derived, small)) else (LOG_RECORDS,)
        union = " UNION ".join(f"SELECT group_id FROM {table.name}" for table in tables)
        return frozenset(group_id for (group_id,) in self.query(union).rows if group_id is not None)

    def paths(self, files: Iterable[DataFile]) -> list[str]:
        return self._warehouse.paths(files)

    def create_views(self) -> None:
        """Of tables that were derived; empty where no file has rows."""
        for table in TABLES.values():
            files = self.manifest.files(table.name)
            if files:
                self._create_view(table, files_sql(self.paths(files)))
            elif self.is_derived(table):
                no_rows = f"no_{table.name}"
                self._database.register(no_rows, table.arrow_schema.empty_table())
                self._create_view(table, no_rows)

    def _create_view(self, table: Table, rows: str) -> None:
        columns = ", ".join(("*", *_COMPUTED.get(table.name, ())))
        with self._explained():
            self._database.execute(f"CREATE VIEW {table.name} AS SELECT {columns} FROM {rows}")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except duckdb.IOException as problem:
            raise HistoryError(f"a file of the warehouse cannot be read: {problem}") from problem
        except duckdb.CatalogException as problem:
            raise HistoryError(f"{problem}\n{self._tables_text()}") from problem
        except duckdb.Error as problem:
            raise HistoryError(str(problem)) from problem

    def _tables_text(self) -> str:
        names: dict[bool, list[str]] = {True: [], False: []}
        for table in TABLES.values():
            names[self.is_derived(table)].append(table.name)
        text = f"Tables: {', '.join(names[True])}"
        return f"{text}; not derived yet: {', '.join(names[False])}" if names[False] else text


def files_sql(paths: Iterable[str]) -> str:
    """The files as a table. Partitions are columns in them; directory names add nothing."""
    texts = ", ".join("'" + path.replace("'", "''") + "'" for path in paths)
    return f"read_parquet([{texts}], hive_partitioning = false)"


@contextmanager
def open_history(path: str) -> Iterator[History]:
    """The newest state of the warehouse at `path`."""
    if not os.path.isdir(os.path.join(path, MANIFESTS)):
        what = "is no warehouse" if os.path.exists(path) else "does not exist"
        raise HistoryError(f"{path} {what}; {_RUN} {path} makes one")
    warehouse = Warehouse(path)
    manifest = warehouse.manifest()
    if not manifest.rows(LOG_RECORDS.name):
        raise HistoryError(f"the warehouse {path} is empty; {_RUN} {path} fills it")
    with duckdb.connect(config=_NO_EXTENSIONS) as database:
        history = History(warehouse, manifest, database)
        history.create_views()
        yield history
