"""Rows to topics: each task sends its own, and is done when brokers have stored them all.

Columns are those of Spark's own Kafka sink: `value`, and if there are such `key`, `topic`,
`partition`, `headers`; a `timestamp` is kept as well. A task that Spark tries again sends its rows
again: like that sink, this one delivers at least once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from drumbeat.client.errors import DrumbeatError
from drumbeat.client.loop_thread import LoopThread
from drumbeat.client.producer import Producer
from drumbeat.client.producer.delivery import DeliveryFuture
from drumbeat.pipeline.errors import SourceError
from drumbeat.pipeline.sources.options import TOPIC, WriteOptions

_BYTES: Final = ("string", "binary")
_TYPES: Final[Mapping[str, tuple[str, ...]]] = {
    "topic": ("string",),
    "key": _BYTES,
    "value": _BYTES,
    "partition": ("int",),
    "timestamp": ("timestamp",),
    "headers": ("array<struct<key:string,value:binary>>",),
}
# What rows that were read have too, and no record can be given.
_PASSED_OVER: Final = frozenset({"offset", "timestamptype"})
# A task has many records, and nobody who waits for one of them.
_DEFAULTS: Final = {"batch.size": str(256 << 10), "linger.ms": "20"}


@dataclass(frozen=True, slots=True)
class Written(WriterCommitMessage):
    rows: int


class _Row(NamedTuple):
    topic: str | None
    key: bytes | None
    value: bytes | None
    partition: int | None
    timestamp_ms: int | None
    headers: list[dict[str, Any]] | None


_Deliveries: TypeAlias = list[tuple[str, DeliveryFuture]]


@dataclass(frozen=True, slots=True)
class RowWriting:
    """All that executors have to know."""

    producer: Mapping[str, str]
    topic: str | None
    columns: Mapping[str, str]  # what they are called in the rows

    @classmethod
    def of(cls, options: WriteOptions, schema: StructType) -> RowWriting:
        return cls({**_DEFAULTS, **options.producer}, options.topic, _columns(options, schema))

    def write(self, batches: Iterator[pa.RecordBatch]) -> Written:
        thread = LoopThread("writer")
        thread.start()
        sending = _Sending(self.producer)
        try:
            try:
                thread.run(sending.start())
                for batch in batches:
                    thread.run(sending.send(self._rows(batch)))
                rows = thread.run(sending.finish())
            except BaseException:
                thread.run(sending.abandon())
                raise
        finally:
            thread.stop()
        return Written(rows)

    def _rows(self, batch: pa.RecordBatch) -> Iterator[_Row]:
        count = batch.num_rows
        columns = {name: batch.column(found) for name, found in self.columns.items()}
        if self.topic is not None:
            columns["topic"] = pa.repeat(pa.scalar(self.topic), count)
        nothing = [None] * count
        return map(
            _Row._make,
            zip(
                *(
                    _values(name, columns[name]) if name in columns else nothing
                    for name in ("topic", "key", "value", "partition", "timestamp", "headers")
                ),
                strict=True,
            ),
        )


class BrokerWriter(DataSourceArrowWriter):
    def __init__(self, writing: RowWriting) -> None:
        self._writing = writing

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return self._writing.write(iterator)


class BrokerStreamWriter(DataSourceStreamArrowWriter):
    def __init__(self, writing: RowWriting) -> None:
        self._writing = writing

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return self._writing.write(iterator)


class _Sending:
    """A producer on an event loop; the rows of one batch are sent while those before arrive."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._producer = Producer(options)
        self._under_way: _Deliveries = []
        self._rows = 0

    async def start(self) -> None:
        await self._producer.start()

    async def send(self, rows: Iterator[_Row]) -> None:
        before, self._under_way = self._under_way, []
        for row in rows:
            if row.topic is None:
                raise SourceError(
                    "a row has no topic: fill the column topic, or name one topic for all rows "
                    "with the option topic"
                )
            self._under_way.append((row.topic, await self._sent(row.topic, row)))
        await self._arrived(before)

    async def finish(self) -> int:
        """How many rows are in the log; all that were sent, or it raises."""
        try:
            await self._producer.flush()
            await self._arrived(self._under_way)
        finally:
            await self._producer.close()
        return self._rows

    async def abandon(self) -> None:
        await self._producer.close(timeout_ms=0)

    async def _sent(self, topic: str, row: _Row) -> DeliveryFuture:
        headers = tuple((one["key"], one["value"]) for one in row.headers or ())
        try:
            return await self._producer.send(
                topic,
                row.value,
                key=row.key,
                partition=row.partition,
                headers=headers,
                timestamp_ms=row.timestamp_ms,
            )
        except DrumbeatError as problem:
            raise _refused(topic, problem) from problem

    async def _arrived(self, deliveries: _Deliveries) -> None:
        for topic, delivery in deliveries:
            try:
                await delivery
            except DrumbeatError as problem:
                raise _refused(topic, problem) from problem
        self._rows += len(deliveries)


def _refused(topic: str, problem: DrumbeatError) -> SourceError:
    return SourceError(f"a record could not be written to topic {topic}: {problem}")


def _values(name: str, column: pa.Array) -> list[Any]:
    if name in ("key", "value"):
        column = column.cast(pa.binary())
    if name == "timestamp":
        column = pc.floor_temporal(column, unit="millisecond").cast(pa.timestamp("ms", "UTC"))
        column = column.cast(pa.int64())
    values: list[Any] = column.to_pylist()
    return values


def _columns(options: WriteOptions, schema: StructType) -> Mapping[str, str]:
    columns: dict[str, str] = {}
    for field in schema.fields:
        name, kind = field.name.lower(), field.dataType.simpleString()
        if name in _PASSED_OVER:
            continue
        if name not in _TYPES:
            raise SourceError(
                f"column {field.name} has no place in a record, which has {', '.join(_TYPES)}: "
                "drop it, or put it into the value"
            )
        if kind not in _TYPES[name]:
            raise SourceError(
                f"column {field.name} is of type {kind}; cast it to {' or '.join(_TYPES[name])}"
            )
        columns[name] = field.name
    if "value" not in columns:
        raise SourceError("there is no column value, which becomes the value of records")
    if options.topic is None and TOPIC not in columns:
        raise SourceError("no topic to write to: set the option topic, or add a column topic")
    return columns
