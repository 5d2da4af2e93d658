"""A standalone Spark cluster on loopback: a master and workers, each a process of its own."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import pyspark

from drumbeat.pipeline.java import find_java, make_java_home
from support.ports import free_ports
from support.waiting import wait_until

_SPARK_CLASS = os.path.join(os.path.dirname(pyspark.__file__), "bin", "spark-class")
_DEPLOY = "org.apache.spark.deploy"
_TIMEOUT_S = 120.0


class SparkCluster(NamedTuple):
    master: str  # its URL
    workers: list[subprocess.Popen[bytes]]

    def kill_worker(self, number: int) -> None:
        """With its executors, and no goodbye."""
        os.killpg(self.workers[number].pid, signal.SIGKILL)
        self.workers[number].wait()


@contextmanager
def spark_cluster(directory: Path, workers: int = 2) -> Iterator[SparkCluster]:
    """Each worker has one core; all its output is in `directory`."""
    directory.mkdir(parents=True)
    home = make_java_home(find_java(os.environ), str(directory / "java"))
    environment = {**os.environ, "JAVA_HOME": home, "SPARK_LOCAL_IP": "127.0.0.1"}
    [port] = free_ports(1)
    url = f"spark://127.0.0.1:{port}"
    with ExitStack() as stack:
        log = directory / "master.log"
        address = ["--host", "127.0.0.1", "--webui-port", "0"]
        command = [f"{_DEPLOY}.master.Master", *address, "--port", str(port)]
        stack.enter_context(_started(command, environment, log))
        wait_until(lambda: b"Starting Spark master" in log.read_bytes(), _TIMEOUT_S, "a master")
        started = [
            stack.enter_context(
                _started(
                    [
                        *(f"{_DEPLOY}.worker.Worker", *address, "--cores", "1"),
                        *("--memory", "1g", "--work-dir", str(directory / f"work-{n}"), url),
                    ],
                    environment,
                    directory / f"worker-{n}.log",
                )
            )
            for n in range(workers)
        ]
        wait_until(
            lambda: log.read_bytes().count(b"Registering worker") == workers, _TIMEOUT_S, "workers"
        )
        yield SparkCluster(url, started)


@contextmanager
def _started(
    command: list[str], environment: dict[str, str], log: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """A session of its own, so that what it starts can be ended with it."""
    with (
        log.open("wb") as out,
        subprocess.Popen(
            [_SPARK_CLASS, *command],
            env=environment,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process,
    ):
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
