"""Apache Kafka itself, for comparison: its jars, its tools, and a broker of its own.

The jars are resolved once with Maven and kept in DRUMBEAT_CACHE (~/.cache/drumbeat), by version.
Where Java, Maven or the registry is missing, the tests that need them are skipped and say so.
"""

import base64
import os
import shutil
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from interop.availability import cache_dir, one_at_a_time, unavailable
from interop.class_archive import Options, archive_options, java_property
from support.ports import free_ports
from support.waiting import wait_until

KAFKA_VERSION = "4.3.1"
JAVA_VERSION_MIN = 17
RESOLVE_TIMEOUT_S = 300.0
TOOL_TIMEOUT_S = 60.0
START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 20.0

# What starts a broker, its tools, and a logger that writes to stderr.
ARTIFACTS = (
    ("org.apache.kafka", "kafka_2.13", KAFKA_VERSION),
    ("org.apache.kafka", "kafka-tools", KAFKA_VERSION),
    ("org.slf4j", "slf4j-simple", "1.7.36"),
)
BROKER_OPTIONS = ("-Xms256m", "-Xmx1g", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
SHORT_LIVED = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")

# One node with one copy of everything.
SETTINGS = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
}


def jars() -> Path:
    """The folder that holds Kafka's jars; the test that asks ends if they cannot be had."""
    found = _resolve()
    if isinstance(found, str):
        unavailable(found)
    return found


@cache
def short_lived() -> Options:
    """Options for a JVM that is to be up soon and not to stay for long."""
    return (*SHORT_LIVED, *archive_options(jars().name, _load_broker))


def _load_broker(options: Options) -> None:
    with tempfile.TemporaryDirectory() as folder, _broker(Path(folder), {}, options):
        pass


def tool_command(main_class: str, *arguments: str, more_classes: Path | None = None) -> list[str]:
    # An archive is for a class path that begins with the one it was made for.
    class_path = f"{jars()}/*" if more_classes is None else f"{jars()}/*:{more_classes}"
    return ["java", "-Xmx256m", *short_lived(), "-cp", class_path, main_class, *arguments]


def run_tool(main_class: str, *arguments: str) -> str:
    """What one of Kafka's tools prints; its failure is the test's."""
    return _run(tool_command(main_class, *arguments))


def _run(command: list[str]) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=TOOL_TIMEOUT_S
    )
    assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}{done.stderr}"
    return done.stdout


@contextmanager
def start_kafka(data_dir: Path, settings: Mapping[str, str] | None = None) -> Iterator[str]:
    """A broker on `data_dir` until the block ends; gives its bootstrap servers.

    A directory that a broker has used before is opened again, with all that is in it.
    """
    with _broker(data_dir, settings or {}, short_lived()) as servers:
        yield servers


@contextmanager
def _broker(data_dir: Path, settings: Mapping[str, str], options: Options) -> Iterator[str]:
    port, controller_port = free_ports(2)
    properties = data_dir / "server.properties"
    first_time = not properties.exists()
    data_dir.mkdir(parents=True, exist_ok=True)
    chosen = {**_settings(data_dir, port, controller_port), **settings}
    properties.write_text("".join(f"{key}={value}\n" for key, value in chosen.items()))
    java = ["java", *BROKER_OPTIONS, *options, "-cp", f"{jars()}/*"]
    if first_time:
        _run([*java, *format_command(properties)])
    with open(data_dir / "broker.log", "a") as log:
        command = [*java, "kafka.Kafka", str(properties)]
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    try:
        wait_until(lambda: _serves(process, port), START_TIMEOUT_S, f"Kafka on port {port}")
        yield f"127.0.0.1:{port}"
    finally:
        _stop(process)


def format_command(properties: Path) -> list[str]:
    """Kafka's tool that makes the folders of a new cluster, and its arguments."""
    cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    return [
        "kafka.tools.StorageTool",
        "format",
        f"--cluster-id={cluster_id}",
        "-c",
        str(properties),
    ]


def _settings(data_dir: Path, port: int, controller_port: int) -> dict[str, str]:
    client, controller = f"127.0.0.1:{port}", f"127.0.0.1:{controller_port}"
    return SETTINGS | {
        "controller.quorum.voters": f"1@{controller}",
        "listeners": f"PLAINTEXT://{client},CONTROLLER://{controller}",
        "advertised.listeners": f"PLAINTEXT://{client}",
        "log.dirs": str(data_dir / "logs"),
    }


def _serves(process: subprocess.Popen[bytes], port: int) -> bool:
    assert process.poll() is None, f"Kafka ended with code {process.returncode}"
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


# -- the jars ------------------------------------------------------------------------------------


@cache
def _resolve() -> Path | str:
    """The folder with the jars, or why there is none."""
    missing = [program for program in ("java", "mvn") if shutil.which(program) is None]
    if missing:
        return f"Apache Kafka needs {' and '.join(missing)}, which is not installed"
    version = int(java_property("java.specification.version").removeprefix("1."))
    if version < JAVA_VERSION_MIN:
        return f"Apache Kafka needs Java {JAVA_VERSION_MIN} or newer; this is {version}"
    folder = cache_dir() / f"kafka-{KAFKA_VERSION}"
    with one_at_a_time("kafka"):
        return folder if folder.is_dir() else _download(folder)


def _download(folder: Path) -> Path | str:
    # Copied aside and renamed, so that a download that was cut short is never taken for whole.
    unfinished = folder.with_name(f"{folder.name}.{os.getpid()}")
    unfinished.mkdir(parents=True, exist_ok=True)
    pom = unfinished / "pom.xml"
    pom.write_text(_pom())
    goal = ["dependency:copy-dependencies", f"-DoutputDirectory={unfinished}"]
    done = subprocess.run(
        ["mvn", "-q", "-B", "-f", str(pom), *goal],
        capture_output=True,
        text=True,
        check=False,
        timeout=RESOLVE_TIMEOUT_S,
    )
    if done.returncode:
        shutil.rmtree(unfinished)
        reason = next(iter((done.stdout + done.stderr).strip().splitlines()), "no output")
        return f"Maven could not resolve Apache Kafka {KAFKA_VERSION}: {reason}"
    try:
        unfinished.rename(folder)
    except OSError:  # somebody else has finished first
        shutil.rmtree(unfinished)
    return folder


def _pom() -> str:
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
        f"<version>{version}</version></dependency>"
        for group, artifact, version in ARTIFACTS
    )
    return (
        "<project><modelVersion>4.0.0</modelVersion><groupId>drumbeat</groupId>"
        "<artifactId>kafka-jars</artifactId><version>1</version><packaging>pom</packaging>"
        f"<dependencies>{dependencies}</dependencies></project>"
    )
