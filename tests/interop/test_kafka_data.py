"""A partition folder that Apache Kafka wrote is served as it is."""

import shutil

import pytest

from drumbeat.protocol.compression import Codec
from drumbeat.protocol.records import BatchOptions
from drumbeat.testing import Cluster
from interop.kafka_jars import start_kafka
from support.data_topics import (
    EARLIEST,
    batch,
    create_topic,
    fetch_from,
    offset_of,
    produce_to,
    records_in,
)
from support.topics import described
from support.wire import Wire

pytestmark = pytest.mark.interop

PER_BATCH = 10


def test_records_written_by_kafka(tmp_path):
    with start_kafka(tmp_path / "kafka") as servers, Wire(servers) as wire:
        topic = create_topic(wire, "from-kafka", partitions=2)
        for number, codec in enumerate(Codec):
            values = [b"%s %d" % (codec.name.encode(), i) for i in range(PER_BATCH)]
            written = batch(*values, options=BatchOptions(codec=codec))
            assert produce_to(wire, topic, written, partition=1).base_offset == number * PER_BATCH
        expected = records_in(fetch_from(wire, topic, partition=1).records)
    copy = tmp_path / "drumbeat"
    copy.mkdir()
    for folder in (tmp_path / "kafka" / "logs").glob("from-kafka-*"):
        shutil.copytree(folder, copy / folder.name)
    with Cluster(data=str(copy)) as cluster, Wire(cluster.bootstrap_servers) as wire:
        found = described(wire, "from-kafka")
        assert (found.topic_id, len(found.partitions)) == (topic.topic_id, 2)
        assert offset_of(wire, topic, EARLIEST, partition=1)[0] == 0
        assert records_in(fetch_from(wire, topic, partition=1).records) == expected
        more = produce_to(wire, topic, batch(b"more"), partition=1)
        assert more.base_offset == len(expected)
