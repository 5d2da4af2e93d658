"""Following a log: one pass for every micro-batch of a Structured Streaming query.

The query only says that the log has grown. What was read is for the manifest to say, so a job that
was killed at any moment, with whatever Spark remembers of it, goes on as one that was not.
"""

from __future__ import annotations

import json
import os
import re
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import quote

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from drumbeat.pipeline.errors import PipelineError
from drumbeat.pipeline.job import StageJob
from drumbeat.pipeline.session import SPARK_ERRORS, cause
from drumbeat.pipeline.sources import ends_source
from drumbeat.pipeline.sources.ends_source import EndsDataSource
from drumbeat.pipeline.warehouse import FOLLOW

_POLL_SECONDS: Final = 0.25
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_RAISED = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*: ")


class Follower:
    """Calls `make_pass`, which brings the tables up to date, for every micro-batch."""

    def __init__(self, job: StageJob, spark: SparkSession, make_pass: Callable[[], None]) -> None:
        self._job, self._spark, self._make_pass = job, spark, make_pass
        self._at_work = threading.Lock()
        self._problem: BaseException | None = None

    def run(self, source: str, client: Mapping[str, Any], interval_ms: int) -> None:
        """Until SIGINT or SIGTERM, which let the pass end that is being made."""
        self._spark.dataSource.register(EndsDataSource)
        try:
            with _stopped_by_signals() as is_stopped:
                query = self._start(source, client, interval_ms)
                while query.isActive and not is_stopped.wait(_POLL_SECONDS):
                    pass
                self._stop(query)
        except SPARK_ERRORS as problem:
            raise PipelineError(f"the stream failed: {_in_short(problem)}") from problem

    def _start(self, source: str, client: Mapping[str, Any], interval_ms: int) -> StreamingQuery:
        writer, log = self._job.writer, self._job.log
        checkpoint = os.path.join(writer.path, FOLLOW, quote(log.cluster_id, safe=""))
        grown = (
            self._spark.readStream.format(ends_source.NAME)
            .option("source", source)
            .option("cluster", log.cluster_id)
            .option("client", json.dumps(dict(client)))
            .option("warehouse", writer.path)
            .load()
        )
        return (
            grown.writeStream.foreachBatch(self._batch)
            .option("checkpointLocation", checkpoint)
            .trigger(processingTime=f"{interval_ms} milliseconds")
            .start()
        )

    def _batch(self, grown: DataFrame, _batch_id: int) -> None:
        """Whatever the micro-batch says, all that is there is read: the next one has less."""
        with self._at_work:
            try:
                grown.collect()
                self._make_pass()
            except PipelineError as problem:
                self._problem = problem  # the query would wrap it beyond recognition
                raise

    def _stop(self, query: StreamingQuery) -> None:
        with self._at_work:
            query.stop()
        if self._problem is not None:
            raise self._problem
        problem = query.exception()
        if problem is not None:
            raise problem


def _in_short(problem: Exception) -> str:
    """What was raised last in the process that looks at the log, if it was raised there."""
    text = cause(problem).partition("\n=== Streaming Query ===")[0]
    raised = [line for line in text.splitlines() if _RAISED.match(line)]
    return raised[-1] if raised else text


@contextmanager
def _stopped_by_signals() -> Iterator[threading.Event]:
    """Set by the first signal; a second one has its usual effect."""
    stopped = threading.Event()
    before = {number: signal.getsignal(number) for number in _SIGNALS}

    def stop(_number: int, _frame: object) -> None:
        stopped.set()
        restore()

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    for number in _SIGNALS:
        signal.signal(number, stop)
    try:
        yield stopped
    finally:
        restore()
