"""`drumbeat up` as people meet it: what it prints, what it refuses and why, how it ends."""

import os
import re
import signal
import socket
import time
from contextlib import ExitStack

import psutil
import pytest

from drumbeat.protocol.apis import create_topics, fetch
from drumbeat.protocol.apis.create_topics import CreatableTopic, CreateTopicsRequest
from drumbeat.protocol.errors import ErrorCode
from support.data_topics import (
    batch,
    create_topic,
    fetch_from,
    fetch_request,
    produce_to,
    values_in,
)
from support.hostile import assert_served
from support.node_process import LOOPS, NodeProcess, after, run
from support.wire import Wire

EXIT_OK, EXIT_CONFIG, EXIT_START = 0, 2, 3

# Root may write anywhere unless it gives that up: PR_CAPBSET_DROP of the two CAP_DAC capabilities.
WITHOUT_ROOTS_WAY = after(
    "import ctypes; [ctypes.CDLL(None).prctl(24, c, 0, 0, 0) for c in (1, 2)]"
)

# What a Kafka node of today has in its file: a controller, a quorum, things we have no use for.
SERVER_PROPERTIES = """\
process.roles=broker,controller
node.id=4
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:9093
advertised.listeners=PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
num.network.threads=3
num.io.threads=8
socket.receive.buffer.bytes=102400
log.dirs={data}
num.partitions=2
offsets.topic.replication.factor=1
"""


@pytest.fixture
def start(tmp_path):
    """Start a node; it is gone when the test ends."""
    with ExitStack() as stack:

        def start_node(*options: str, **how) -> NodeProcess:
            logs = tmp_path / "node.log"
            return stack.enter_context(NodeProcess(*options, logs=logs, **how))

        yield start_node


# -- starting ------------------------------------------------------------------------------------


def test_it_says_where_to_connect_where_the_data_is_and_how_to_stop(start, tmp_path):
    began = time.monotonic()
    node = start("--data", str(tmp_path / "data"))
    took = time.monotonic() - began
    ready, data, stop = node.ready
    assert re.fullmatch(r"ready 127\.0\.0\.1:\d+", ready)
    assert data == f"data: {tmp_path / 'data'}"
    assert "Ctrl-C" in stop
    assert "SIGTERM" in stop
    with Wire(node.bootstrap_servers) as wire:
        assert_served(wire)
    assert took < 10
    print(f"ready after {took:.2f} s")


def test_without_options_the_data_is_in_the_working_directory(tmp_path):
    run_in_place = after(f"os.chdir({str(tmp_path)!r})")
    with NodeProcess(logs=tmp_path / "node.log", prefix=run_in_place) as node:
        assert node.ready[1] == f"data: {tmp_path / 'drumbeat-data'}"
        assert (tmp_path / "drumbeat-data" / "meta.properties").exists()


def test_in_memory_nothing_is_written(tmp_path):
    place = tmp_path / "place"
    place.mkdir()
    run_in_place = after(f"os.chdir({str(place)!r})")
    with NodeProcess("--memory", logs=tmp_path / "node.log", prefix=run_in_place) as node:
        assert node.ready[1].startswith("data: in memory")
        with Wire(node.bootstrap_servers) as wire:
            produce_to(wire, create_topic(wire), batch(b"v"))
        assert node.stop() == EXIT_OK
    assert not list(place.iterdir())


def test_it_listens_on_this_machine_only(start):
    node = start("--memory")
    listening = [
        connection.laddr
        for connection in psutil.Process(node.pid).net_connections()
        if connection.status == psutil.CONN_LISTEN
    ]
    host, port = node.bootstrap_servers.split(":")
    assert listening == [(host, int(port))]
    assert host == "127.0.0.1"


def test_it_listens_elsewhere_if_told(start):
    node = start("--memory", "--set", "listeners=PLAINTEXT://127.0.0.2:0")
    assert node.bootstrap_servers.startswith("127.0.0.2:")
    with Wire(node.bootstrap_servers) as wire:
        assert_served(wire)


def test_whoever_waits_for_the_ready_line_may_go_then(start):
    """`drumbeat up | head -1` and the like: a closed stdout ends nothing."""
    node = start("--memory")
    node.process.stdout.close()
    with Wire(node.bootstrap_servers) as wire:
        assert_served(wire)
    assert node.stop() == EXIT_OK


# -- configuration -------------------------------------------------------------------------------


def test_kafkas_own_file_works(start, tmp_path):
    properties = tmp_path / "server.properties"
    properties.write_text(SERVER_PROPERTIES.format(data=tmp_path / "data"))
    node = start("--config", str(properties))
    assert node.ready[1] == f"data: {tmp_path / 'data'}"
    with Wire(node.bootstrap_servers) as wire:
        assert partitions_by_default(wire) == 2
    log = node.log_text
    assert log.count("known to Kafka, without effect here") == 1
    for key in ("num.network.threads", "process.roles", "socket.receive.buffer.bytes"):
        assert log.count(key) == 1
    assert "CONTROLLER" in log
    assert "num.partitions" not in log


def test_set_wins_over_the_file_and_options_over_both(start, tmp_path):
    properties = tmp_path / "server.properties"
    properties.write_text("num.partitions=2\nlog.dirs=/nonexistent/file\n")
    override = ("--set", "num.partitions=5", "--set", "log.dirs=/nonexistent/set")
    node = start("--config", str(properties), *override, "--data", str(tmp_path / "data"))
    assert node.ready[1] == f"data: {tmp_path / 'data'}"
    with Wire(node.bootstrap_servers) as wire:
        assert partitions_by_default(wire) == 5


def partitions_by_default(wire: Wire) -> int:
    asked = CreatableTopic(name="t", num_partitions=-1, replication_factor=-1)
    (created,) = wire.call(create_topics.API, 7, CreateTopicsRequest((asked,))).topics
    return created.num_partitions


# options -> what standard error has to say
REFUSED_OPTIONS = {
    "a key nobody knows": (
        ["--set", "num.partitons=3"],
        "--set: unknown key 'num.partitons'; did you mean 'num.partitions'?",
    ),
    "a value that is none": (["--set", "num.partitions=many"], "--set: num.partitions: "),
    "a value out of range": (["--set", "num.partitions=0"], "--set: num.partitions: "),
    "no value": (["--set", "num.partitions"], "--set: expected key=value, got 'num.partitions'"),
    "no file": (["--config", "/nonexistent"], "--config: No such file or directory: /nonexistent"),
    "both places": (["--memory", "--data", "x"], "--memory and --data exclude each other"),
    "no port": (["--port", "70000"], "Invalid value for '--port'"),
    "no number": (["--port", "http"], "Invalid value for '--port'"),
    "no level": (["--log-level", "loud"], "'loud' is not one of 'debug', 'info'"),
    "no option": (["--frobnicate"], "No such option: --frobnicate"),
}


@pytest.mark.parametrize("what", REFUSED_OPTIONS)
def test_what_cannot_be_is_refused_by_name(what):
    options, message = REFUSED_OPTIONS[what]
    ended = run("up", *options)
    assert (ended.exit_code, ended.stdout) == (EXIT_CONFIG, "")
    assert message in ended.stderr
    assert "Traceback" not in ended.stderr


def test_everything_wrong_in_a_file_is_told_at_once_with_its_line(tmp_path):
    properties = tmp_path / "mine.properties"
    properties.write_text("# mine\nlog.retention.hour=3\n\nnum.partitions=x\n")
    ended = run("up", "--config", str(properties))
    assert ended.exit_code == EXIT_CONFIG
    assert f"{properties}:2: unknown key 'log.retention.hour'" in ended.stderr
    assert "'log.retention.hours'" in ended.stderr
    assert f"{properties}:4: num.partitions: " in ended.stderr


# -- what stands in the way ----------------------------------------------------------------------


def test_a_port_in_use_is_named():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = run("up", "--memory", "--port", port)
    assert (ended.exit_code, ended.stdout) == (EXIT_START, "")
    message = f"cannot listen on 127.0.0.1, port {port}: another process does"
    assert ended.stderr.startswith(f"drumbeat up: {message}")


def test_a_second_start_names_the_process_that_has_the_data(start, tmp_path):
    data = str(tmp_path / "data")
    node = start("--data", data)
    ended = run("up", "--port", "0", "--data", data)
    assert (ended.exit_code, ended.stdout) == (EXIT_START, "")
    assert ended.stderr.startswith(f"drumbeat up: {data} is held by process {node.pid};")
    with Wire(node.bootstrap_servers) as wire:
        assert_served(wire)


def test_a_killed_node_holds_nothing(start, tmp_path):
    data = str(tmp_path / "data")
    start("--data", data).kill()
    with Wire(start("--data", data).bootstrap_servers) as wire:
        assert_served(wire)


def test_a_directory_that_may_not_be_written_is_named(tmp_path):
    tmp_path.chmod(0o500)
    data = str(tmp_path / "data")
    try:
        ended = run("up", "--port", "0", "--data", data, prefix=WITHOUT_ROOTS_WAY)
    finally:
        tmp_path.chmod(0o700)
    assert (ended.exit_code, ended.stdout) == (EXIT_START, "")
    expected = f"drumbeat up: cannot keep data in {data}: Permission denied; choose another"
    assert ended.stderr.startswith(expected)


def test_a_file_where_the_directory_should_be_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    data = str(tmp_path / "file" / "data")
    ended = run("up", "--port", "0", "--data", data)
    assert ended.exit_code == EXIT_START
    assert ended.stderr.startswith(f"drumbeat up: cannot keep data in {data}: ")
    assert "Traceback" not in ended.stderr


OWN_FILES = [
    ".lock",
    ".drumbeat-journal",
    ".kafka_cleanshutdown",
    "meta.properties",
    "producer-ids",
    "broker-configs.json",
    "topics/orders.json",
]


@pytest.mark.parametrize("name", OWN_FILES)
def test_a_folder_where_a_file_should_be_is_named(name, tmp_path):
    (tmp_path / name).mkdir(parents=True)
    ended = run("up", "--port", "0", "--data", str(tmp_path))
    assert (ended.exit_code, ended.stdout) == (EXIT_START, "")
    expected = f"drumbeat up: cannot use {tmp_path / name}: Is a directory; move it away, choose"
    assert ended.stderr.startswith(expected)


def test_a_file_where_a_folder_should_be_is_named(tmp_path):
    (tmp_path / "topics").write_text("mine")
    ended = run("up", "--port", "0", "--data", str(tmp_path))
    expected = f"drumbeat up: cannot use {tmp_path / 'topics'}: Not a directory; move it away"
    assert ended.stderr.startswith(expected)
    assert ended.exit_code == EXIT_START


def test_a_file_that_may_not_be_written_is_named(tmp_path):
    lock = tmp_path / ".lock"
    lock.touch(mode=0)
    ended = run("up", "--port", "0", "--data", str(tmp_path), prefix=WITHOUT_ROOTS_WAY)
    expected = f"drumbeat up: cannot use {lock}: Permission denied; let this user write it"
    assert ended.stderr.startswith(expected)
    assert ended.exit_code == EXIT_START


@pytest.mark.parametrize("is_described", [True, False])
def test_a_partition_that_may_not_be_read_is_named_and_holds_nobody_up(
    is_described, start, tmp_path
):
    data = tmp_path / "data"
    node = start("--data", str(data))
    with Wire(node.bootstrap_servers) as wire:
        topics = [create_topic(wire, name) for name in ("shut", "open")]
        for topic in topics:
            produce_to(wire, topic, batch(b"v"))
    node.stop()
    if not is_described:
        (data / "topics" / "shut.json").unlink()
    folder = data / "shut-0"
    folder.chmod(0)
    try:
        node = start("--data", str(data), prefix=WITHOUT_ROOTS_WAY)
        with Wire(node.bootstrap_servers) as wire:
            shut, served = [fetch_from(wire, topic) for topic in topics]
            assert values_in(served.records) == [b"v"]
            refused = "KAFKA_STORAGE_ERROR" if is_described else "UNKNOWN_TOPIC_ID"
            assert ErrorCode(shut.error_code).name == refused
        assert f"Permission denied: '{folder}" in node.log_text
        node.stop()
    finally:
        folder.chmod(0o700)
    with Wire(start("--data", str(data)).bootstrap_servers) as wire:
        assert values_in(fetch_from(wire, topics[0]).records) == [b"v"]


def test_another_nodes_data_is_refused(start, tmp_path):
    data = str(tmp_path / "data")
    start("--data", data, "--set", "node.id=7").stop()
    ended = run("up", "--port", "0", "--data", data)
    assert ended.exit_code == EXIT_START
    assert "this is the data of node 7; start with --set node.id=7" in ended.stderr


# -- stopping ------------------------------------------------------------------------------------


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda n: n.name)
def test_a_signal_ends_it_in_order(number, loop, start, tmp_path):
    data = tmp_path / "data"
    node = start("--data", str(data), loop=loop)
    with Wire(node.bootstrap_servers) as wire, Wire(node.bootstrap_servers) as parked:
        topic = create_topic(wire, "kept")
        produce_to(wire, topic, batch(b"v"))
        parked.send(fetch.API, 12, fetch_request(topic, max_wait_ms=60_000, min_bytes=1 << 20))
        assert node.stop(number) == EXIT_OK
        assert wire.is_closed()
    assert (data / ".kafka_cleanshutdown").exists()
    assert "Traceback" not in node.log_text
    again = start("--data", str(data), loop=loop)
    with Wire(again.bootstrap_servers) as wire:
        assert values_in(fetch_from(wire, topic).records) == [b"v"]


def test_more_than_one_signal_is_one(start):
    node = start("--memory")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGINT):
        os.kill(node.pid, number)
    assert node.stop() == EXIT_OK
    assert node.log_text.count("stopping") == 1


# -- help ----------------------------------------------------------------------------------------


def test_help_names_every_option():
    ended = run("up", "--help")
    assert ended.exit_code == EXIT_OK
    options = ("--port", "--data", "--memory", "--config", "--set", "--metrics-port")
    for option in (*options, "--log-level", "--log-format"):
        assert re.search(rf"^  {option} ", ended.stdout, re.MULTILINE), option
    assert "ready" in ended.stdout


def test_the_overview_names_the_verbs():
    ended = run("--help")
    assert ended.exit_code == EXIT_OK
    assert re.search(r"^  up +Start a node", ended.stdout, re.MULTILINE)


def test_a_verb_that_is_none_is_named():
    ended = run("upp")
    assert ended.exit_code == EXIT_CONFIG
    assert "upp" in ended.stderr
