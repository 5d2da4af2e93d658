"""kcat, the command-line client on librdkafka as Debian packages it."""

import json
import os
import shutil
import subprocess
from functools import cache

import pytest

from drumbeat.testing import Cluster
from interop.availability import unavailable
from support.data_topics import BASE_TIMESTAMP, Topic, create_topic, produce_to
from support.data_topics import batch as record_batch
from support.wire import Wire

pytestmark = pytest.mark.interop

INSTALL_TIMEOUT_S = 180.0
TIMEOUT_S = 30.0
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
RECORDS = 10_000


@cache
def problem_with_kcat() -> str | None:
    """Why there is no kcat, after trying to install it."""
    if shutil.which("kcat"):
        return None
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return "kcat is not installed; only root on a Debian system can have it installed here"
    commands = ["apt-get update -qq", "apt-get install -qq -y --no-install-recommends kcat"]
    done = subprocess.run(
        ["sh", "-c", " && ".join(commands)],
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        capture_output=True,
        text=True,
        check=False,
        timeout=INSTALL_TIMEOUT_S,
    )
    last_line = (done.stdout + done.stderr).strip().rpartition("\n")[2]
    return None if done.returncode == 0 else f"kcat could not be installed: {last_line}"


@pytest.fixture(scope="module")
def bootstrap_servers(tmp_path_factory):
    if (problem := problem_with_kcat()) is not None:
        unavailable(problem)
    with Cluster(data=str(tmp_path_factory.mktemp("cluster"))) as cluster:
        yield cluster.bootstrap_servers


@pytest.fixture
def kcat(bootstrap_servers):
    """Runs kcat and gives what it prints."""

    def run(*arguments: str, stdin: str = "") -> str:
        done = subprocess.run(
            ["kcat", "-b", bootstrap_servers, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT_S,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture
def topic(bootstrap_servers) -> Topic:
    """Ten records whose timestamps are a second apart."""
    with Wire(bootstrap_servers) as wire:
        created = create_topic(wire)
        for i in range(10):
            written = record_batch(b"value %d" % i, timestamp=BASE_TIMESTAMP + 1000 * i)
            produce_to(wire, created, written)
    return created


def test_metadata(kcat, topic, bootstrap_servers):
    told = json.loads(kcat("-L", "-J"))
    assert told["brokers"] == [{"id": 1, "name": bootstrap_servers}]
    assert told["controllerid"] == 1
    found = {t["topic"]: t["partitions"] for t in told["topics"]}
    assert found[topic.name] == [
        {"partition": 0, "leader": 1, "replicas": [{"id": 1}], "isrs": [{"id": 1}]}
    ]


@pytest.mark.parametrize("codec", CODECS)
def test_produce_and_consume(kcat, codec):
    topic = f"kcat-{codec}"
    lines = "".join(f"key-{i}:value {i}\n" for i in range(RECORDS))
    kcat("-P", "-t", topic, "-K", ":", "-z", codec, stdin=lines)
    consumed = kcat("-C", "-t", topic, "-o", "beginning", "-e", "-q", "-K", ":")
    assert consumed == lines


@pytest.mark.parametrize(
    ("start", "values"),
    [
        ("beginning", range(10)),
        ("6", range(6, 10)),
        ("-3", range(7, 10)),
        (f"s@{BASE_TIMESTAMP + 4000}", range(4, 10)),
        (f"s@{BASE_TIMESTAMP + 4001}", range(5, 10)),
    ],
)
def test_where_to_start(kcat, topic, start, values):
    consumed = kcat("-C", "-t", topic.name, "-o", start, "-e", "-q")
    assert consumed.splitlines() == [f"value {i}" for i in values]


def test_where_to_stop(kcat, topic):
    first, last = BASE_TIMESTAMP + 2000, BASE_TIMESTAMP + 5000
    consumed = kcat("-C", "-t", topic.name, "-o", f"s@{first}", "-o", f"e@{last}", "-q")
    assert consumed.splitlines() == [f"value {i}" for i in range(2, 5)]


@pytest.mark.parametrize(
    ("timestamp", "offset"),
    [(-1, 10), (-2, 0), (BASE_TIMESTAMP, 0), (BASE_TIMESTAMP + 8500, 9)],
)
def test_offsets(kcat, topic, timestamp, offset):
    told = kcat("-Q", "-t", f"{topic.name}:0:{timestamp}")
    assert told.strip() == f"{topic.name} [0] offset {offset}"


def test_headers_and_timestamps(kcat):
    kcat("-P", "-t", "kcat-headers", "-H", "a=1", "-H", "b=2", stdin="value\n")
    (record,) = kcat("-C", "-t", "kcat-headers", "-o", "beginning", "-e", "-J").splitlines()
    told = json.loads(record)
    assert (told["payload"], told["headers"]) == ("value", ["a", "1", "b", "2"])
    assert told["ts"] > BASE_TIMESTAMP
