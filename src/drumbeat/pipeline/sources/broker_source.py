"""Spark data source `drumbeat`: topics of any Kafka-compatible brokers, through our own client.

    register_sources(spark)  # of drumbeat.pipeline.session
    orders = spark.read.format("drumbeat").options(**{
        "kafka.bootstrap.servers": "localhost:9092", "subscribe": "orders"}).load()

Batch and streaming, reading and writing; options and columns are those of Spark's own Kafka source
(`options.py` has them all). A stream with `group.id` commits its progress as that group.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from drumbeat.pipeline.errors import SourceError
from drumbeat.pipeline.sources.broker_ranges import RangeInput, RangeReading, plan_inputs
from drumbeat.pipeline.sources.broker_records import SPARK_SCHEMA, SPARK_SCHEMA_WITH_HEADERS
from drumbeat.pipeline.sources.broker_stream import BrokerStreamReader
from drumbeat.pipeline.sources.broker_writer import BrokerStreamWriter, BrokerWriter, RowWriting
from drumbeat.pipeline.sources.brokers import ends_of
from drumbeat.pipeline.sources.offsets_spec import Ends, Offsets
from drumbeat.pipeline.sources.options import ReadOptions, WriteOptions, includes_headers

NAME: Final = "drumbeat"


class BrokerDataSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        return SPARK_SCHEMA_WITH_HEADERS if includes_headers(self.options) else SPARK_SCHEMA

    def reader(self, schema: StructType) -> BrokerReader:
        return BrokerReader(ReadOptions.parse(self.options, is_stream=False))

    def streamReader(self, schema: StructType) -> BrokerStreamReader:  # noqa: N802 - Spark's name
        return BrokerStreamReader(ReadOptions.parse(self.options, is_stream=True))

    def writer(self, schema: StructType, overwrite: bool) -> BrokerWriter:
        if overwrite:
            raise SourceError('topics are only added to: write with mode("append")')
        return BrokerWriter(RowWriting.of(WriteOptions.parse(self.options), schema))

    def streamWriter(  # noqa: N802 - Spark's name
        self, schema: StructType, overwrite: bool
    ) -> BrokerStreamWriter:
        return BrokerStreamWriter(RowWriting.of(WriteOptions.parse(self.options), schema))


class BrokerReader(DataSourceReader):
    """What there is between two ends that are looked up once, when the query is planned."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._reading = RangeReading.of(options)

    def partitions(self) -> list[RangeInput]:
        options = self._options
        with options.brokers.admin() as admin:
            partitions = options.choice.partitions(admin)
            available = ends_of(admin, partitions, options.brokers.isolation_level)
            starts = options.start.resolve(admin, available)
            ends = options.end.resolve(admin, available)
        if options.fails_on_data_loss:
            _check_available(starts, ends, available)
        else:
            starts = {tp: max(at, available[tp].log_start) for tp, at in starts.items()}
            ends = {tp: min(at, available[tp].end) for tp, at in ends.items()}
        return plan_inputs(starts, ends, options.min_partitions)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._reading.rows(partition)


def _check_available(starts: Offsets, ends: Offsets, available: Ends) -> None:
    for tp, (log_start, log_end) in available.items():
        if starts[tp] < log_start or max(starts[tp], ends[tp]) > log_end:
            raise SourceError(
                f"{tp} should be read from offset {starts[tp]} up to {ends[tp]}, but has "
                f"{log_start} up to {log_end}: choose other offsets, or read what is there with "
                "the option failOnDataLoss=false"
            )
