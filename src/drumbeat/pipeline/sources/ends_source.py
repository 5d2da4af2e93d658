"""Spark streaming source `drumbeat_log_ends`: how far an offsets log has grown, no record of it.

It is what a job that follows a log is woken by: one row per log partition that has new offsets. The
job reads them by itself, so that its tasks write tables without passing rows through the JVM.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader

from drumbeat.pipeline.sources.open_log import open_log
from drumbeat.pipeline.warehouse import Warehouse

NAME: Final = "drumbeat_log_ends"
_LOG: Final = "log"
_TOPICS: Final = "topics"
SCHEMA: Final = "log_partition int, start_offset bigint, end_offset bigint"


class EndsDataSource(DataSource):
    """Options: `source`, `cluster`, `warehouse`, and the client's as JSON in `client`."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        return SCHEMA

    def simpleStreamReader(self, schema: Any) -> EndsReader:  # noqa: N802 - Spark calls it so
        del schema  # it is always SCHEMA
        return EndsReader(dict(self.options))


class EndsReader(SimpleDataSourceStreamReader):
    def __init__(self, options: Mapping[str, str]) -> None:
        self._source, self._cluster_id = options["source"], options["cluster"]
        self._client = json.loads(options["client"])
        self._warehouse = options["warehouse"]

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        return {_LOG: {}, _TOPICS: 0}

    def read(self, start: dict[str, Any]) -> tuple[Iterator[tuple[Any, ...]], dict[str, Any]]:
        end = self._ends()
        return _grown(start, end), end

    def readBetweenOffsets(  # noqa: N802
        self, start: dict[str, Any], end: dict[str, Any]
    ) -> Iterator[tuple[Any, ...]]:
        return _grown(start, end)

    def _ends(self) -> dict[str, Any]:
        """Topics count too: a group that commits nothing any more falls behind as they grow."""
        log = open_log(self._source, self._cluster_id, self._client)
        topics = Warehouse(self._warehouse).manifest().topics.get(log.cluster_id, ())
        return {
            _LOG: {str(source.log_partition): log.log_end(source) or 0 for source in log.sources()},
            _TOPICS: sum(ends.log_end for ends in log.topic_ends(topics).values()),
        }


def _grown(start: dict[str, Any], end: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    before = start[_LOG]
    return iter(
        [
            (int(partition), before.get(partition, 0), offset)
            for partition, offset in end[_LOG].items()
            if offset > before.get(partition, 0)
        ]
    )
