"""The whole way through Spark: planning, executors, checkpoints, commits."""

import pytest
from pyspark.errors import PySparkException

from drumbeat.client.values import TopicPartition
from drumbeat.pipeline.session import register_sources
from pipeline.sources_broker.kit import new_topic, options_for, produce, read_rows
from support.data_topics import fresh_name
from support.ports import free_ports


@pytest.fixture
def session(spark):
    register_sources(spark)
    return spark


def test_a_batch_of_topics_with_and_without_records(session, servers, admin):
    topic, empty = new_topic(admin, partitions=2), new_topic(admin)
    for partition in range(2):
        produce(servers, topic, range(100), partition=partition, compression_type="zstd")
    options = options_for(servers, f"{topic},{empty}", includeHeaders="true", minPartitions="3")
    rows = session.read.format("drumbeat").options(**options).load()
    found = rows.selectExpr(
        "partition", "offset", "CAST(value AS STRING) AS v", "headers"
    ).collect()
    assert sorted(map(tuple, found)) == [
        (partition, number, str(number), None) for partition in range(2) for number in range(100)
    ]


def test_a_stream_goes_on_where_its_checkpoint_says(session, servers, admin, tmp_path):
    topic, group_id = new_topic(admin), fresh_name("spark")

    def run():
        options = options_for(
            servers, topic, startingOffsets="earliest", maxOffsetsPerTrigger=40
        ) | {"kafka.group.id": group_id}
        query = (
            session.readStream.format("drumbeat")
            .options(**options)
            .load()
            .writeStream.format("parquet")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start(str(tmp_path / "rows"))
        )
        query.awaitTermination(60)
        return [progress["numInputRows"] for progress in query.recentProgress]

    def written():
        rows = session.read.parquet(str(tmp_path / "rows")).select("offset", "value").collect()
        return sorted((row.offset, bytes(row.value)) for row in rows)

    def committed():
        return admin.list_group_offsets([group_id])[group_id][TopicPartition(topic, 0)].offset

    produce(servers, topic, range(100))
    assert [count for count in run() if count] == [40, 40, 20]
    assert committed() == 100
    produce(servers, topic, range(100, 130))
    assert [count for count in run() if count] == [30]
    assert written() == [(number, b"%d" % number) for number in range(130)]
    assert committed() == 130


def test_what_is_written_can_be_read(session, servers, admin):
    topic = new_topic(admin, partitions=2)
    rows = session.range(50).selectExpr(
        "CAST(id AS STRING) AS key",
        "CAST(id * id AS STRING) AS value",
        "CAST(id % 2 AS INT) AS partition",
        "array(named_struct('key', 'h', 'value', CAST('x' AS BINARY))) AS headers",
    )
    options = {"kafka.bootstrap.servers": servers, "topic": topic}
    rows.write.format("drumbeat").options(**options).mode("append").save()
    found = read_rows(options_for(servers, topic, includeHeaders="true"))
    assert sorted((int(row["key"]), int(row["value"]), row["partition"]) for row in found) == [
        (number, number * number, number % 2) for number in range(50)
    ]
    assert all(row["headers"] == [{"key": "h", "value": b"x"}] for row in found)


def test_a_stream_from_topic_to_topic(session, servers, admin, tmp_path):
    source, target = new_topic(admin), new_topic(admin)
    produce(servers, source, range(20))
    query = (
        session.readStream.format("drumbeat")
        .options(**options_for(servers, source, startingOffsets="earliest"))
        .load()
        .selectExpr("key", "concat(CAST(value AS STRING), '!') AS value")
        .writeStream.format("drumbeat")
        .options(**{"kafka.bootstrap.servers": servers, "topic": target})
        .option("checkpointLocation", str(tmp_path))
        .queryName("exclaim")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination(60)
    found = read_rows(options_for(servers, target))
    assert sorted(row["value"] for row in found) == sorted(b"%d!" % n for n in range(20))


def test_errors_say_what_is_wrong(session):
    (port,) = free_ports(1)
    options = options_for(f"127.0.0.1:{port}", "t")
    with pytest.raises(PySparkException, match=f"127.0.0.1:{port}: connection refused"):
        session.read.format("drumbeat").options(**options).load().count()
