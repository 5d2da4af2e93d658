"""A log through brokers is the log in the node's own folder, and lag knows where topics end."""

import socket
from collections import Counter

import pytest

from drumbeat.cli.main import main
from drumbeat.client import SyncConsumer, SyncProducer, TopicPartition
from drumbeat.pipeline.decode.batches import OffsetRange
from drumbeat.pipeline.decode.errors import SegmentGone
from drumbeat.pipeline.decode.table import PLAIN
from drumbeat.pipeline.deriving import DERIVED
from drumbeat.pipeline.errors import SourceError
from drumbeat.pipeline.job import open_stage_job
from drumbeat.pipeline.pass_over import run_pass
from drumbeat.pipeline.sources.cluster_log import BrokerRange, ClusterLog, Stretch
from drumbeat.pipeline.sources.folder_log import FolderLog
from drumbeat.pipeline.sources.open_log import is_brokers
from drumbeat.pipeline.warehouse import Warehouse
from drumbeat.testing import Cluster
from pipeline.spark.test_derive import rows_of

EVERYTHING = OffsetRange.of(None, None)
RECORDS = 20
NOT_OF_THE_LOG = {"lag_points", "lag_status", "findings"}  # they depend on when it was asked


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    data = tmp_path_factory.mktemp("node") / "data"
    with Cluster(data=data, topics={"orders": 2}) as cluster:
        cluster.data = data
        consume(cluster.bootstrap_servers, "billing")
        yield cluster


def produce(servers, count):
    with SyncProducer(bootstrap_servers=servers) as producer:
        for n in range(count):
            producer.send("orders", b"%d" % n, partition=n % 2)
        producer.flush()


def consume(servers, group_id, count=RECORDS):
    """Produce some, read all there are from the beginning, and commit."""
    produce(servers, count)
    options = {"group_id": group_id, "auto_offset_reset": "earliest", "enable_auto_commit": False}
    with SyncConsumer(bootstrap_servers=servers, **options) as consumer:
        consumer.subscribe(["orders"])
        partitions = [TopicPartition("orders", n) for n in range(2)]
        while not consumer.assignment():
            consumer.poll(100)
        ends = consumer.end_offsets(partitions)
        while any(consumer.position(tp) < ends[tp] for tp in partitions):
            consumer.poll(100)
        consumer.commit()


def run(spark, source, warehouse):
    with open_stage_job(str(source), str(warehouse)) as job:
        return run_pass(job, spark)


def decoded(log):
    return [
        row
        for source in log.sources()
        for part in log.ranges(source, EVERYTHING)
        for segment in part.segments
        for batch in part.decoded(segment, PLAIN)
        for row in batch.to_pylist()
    ]


def test_brokers_and_folder_have_the_same_log(cluster):
    through, folder = ClusterLog.open(cluster.bootstrap_servers), FolderLog.open(str(cluster.data))
    assert through.cluster_id == folder.cluster_id
    rows = decoded(through)
    assert rows == decoded(folder)
    assert {row["group_id"] for row in rows} == {"billing"}
    [source] = {source for source in folder.sources() if folder.log_end(source)}
    assert through.log_end(source) == folder.log_end(source) == len(rows)
    assert through.log_start(source) == 0


def test_what_was_read_is_not_read_again(cluster):
    log = ClusterLog.open(cluster.bootstrap_servers)
    [source] = {source for source in log.sources() if log.log_end(source)}
    read = [OffsetRange(1, 3)]
    parts = [tuple(s) for part in log.ranges(source, EVERYTHING, read) for s in part.segments]
    assert parts == [(0, 1), (3, log.log_end(source))]


def test_offsets_that_are_gone_are_to_be_listed_again(cluster):
    log = ClusterLog.open(cluster.bootstrap_servers)
    beyond = Stretch(1_000_000, 1_000_001)
    part = BrokerRange(log.sources()[0], log.brokers, (beyond,))
    with pytest.raises(SegmentGone):
        list(part.decoded(beyond, PLAIN))


def test_events_and_ends_are_asked_for(cluster):
    through, folder = ClusterLog.open(cluster.bootstrap_servers), FolderLog.open(str(cluster.data))
    partitions = folder.event_partitions()
    assert through.event_partitions() == partitions
    events = [
        [record for n in partitions for record in log.event_reader(n, 0).records()]
        for log in (through, folder)
    ]
    assert events[0] == events[1] != []
    ends = through.topic_ends(["orders", "gone"])
    assert {place: tuple(end) for place, end in ends.items()} == {
        ("orders", 0): (0, RECORDS // 2, RECORDS // 2),
        ("orders", 1): (0, RECORDS // 2, RECORDS // 2),
    }


def test_tables_are_those_of_the_folder(spark, cluster, tmp_path):
    for name, source in {"b": cluster.bootstrap_servers, "f": cluster.data}.items():
        report = run(spark, source, tmp_path / name)
        assert report.staged.damage == report.broken == ()
    for table in ("log_records", "group_events", *(set(DERIVED) - NOT_OF_THE_LOG)):
        rows = [Counter(map(repr, rows_of(tmp_path / name, table))) for name in "bf"]
        assert rows[0] == rows[1], table
    manifest = Warehouse(str(tmp_path / "b")).manifest()
    assert set(manifest.partitions.values()) == {50}
    assert set(manifest.topics.values()) == {("orders",)}


def test_runs_go_on_where_the_last_one_ended(spark, cluster, tmp_path):
    servers, warehouse = cluster.bootstrap_servers, tmp_path / "w"
    first = run(spark, servers, warehouse)
    assert first.staged.rows
    assert run(spark, servers, warehouse).staged.rows == 0
    produce(servers, 10)
    run(spark, servers, warehouse)
    newest = rows_of(warehouse, "watermarks")[-2:]
    assert [row["high_watermark"] for row in newest] == [row["lso"] for row in newest]
    assert {row["source"] for row in newest} == {"brokers"}
    lags = {row["partition"]: row["lag"] for row in rows_of(warehouse, "lag_points")}
    assert lags == {0: 5, 1: 5}


SOURCES = [
    ("localhost:9092", True),
    ("a:1,b.example.com:2", True),
    ("[::1]:9092", True),
    ("localhost", False),
    ("/var/lib/kafka", False),
    ("data:", False),
]


@pytest.mark.parametrize(("source", "expected"), SOURCES)
def test_an_address_is_told_from_a_directory(source, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert is_brokers(source) is expected
    if expected:
        (tmp_path / source).mkdir()
        assert not is_brokers(source)


def test_brokers_that_do_not_answer_are_named_at_once(capsys, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    with pytest.raises(SystemExit) as ended:
        main(["pipeline", "run", "--source", address, "--warehouse", str(tmp_path / "w")])
    assert ended.value.code == 3
    assert f"cannot read from brokers at {address}: " in capsys.readouterr().err
    assert not (tmp_path / "w").exists()


def test_a_broker_that_accepts_and_says_nothing_is_given_up():
    keys = ("request.timeout.ms", "default.api.timeout.ms", "socket.connection.setup.timeout.ms")
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(SourceError, match="cannot read from brokers at"):
            ClusterLog.open(address, **dict.fromkeys(keys, 300))


def test_a_cluster_that_never_had_a_group_says_so():
    with (
        Cluster() as cluster,
        pytest.raises(SourceError, match="has no topic __consumer_offsets yet"),
    ):
        ClusterLog.open(cluster.bootstrap_servers)
