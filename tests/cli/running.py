"""`drumbeat` as a test runs it: in this process, or as a program of its own."""

import json
import os
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from typer.testing import CliRunner

from drumbeat.cli.verbs import app
from drumbeat.client import SyncProducer
from drumbeat.client.admin import NewTopic, SyncAdmin
from support.data_topics import fresh_name
from support.node_process import COMMAND

TIMEOUT_S = 60.0


class Ran(NamedTuple):
    exit_code: int
    stdout: str
    stderr: str

    @property
    def rows(self) -> list[list[str]]:
        """The words of each line."""
        return [line.split() for line in self.stdout.splitlines()]


class Drumbeat:
    """The command line against one cluster."""

    def __init__(self, servers: str) -> None:
        self.servers = servers
        self.env = {"DRUMBEAT_BOOTSTRAP_SERVERS": servers}

    def __call__(self, *arguments: str) -> Ran:
        """Run it to its end, which must be a good one."""
        ran = self.attempt(*arguments)
        assert ran.exit_code == 0, ran
        return ran

    def json(self, *arguments: str) -> Any:
        return json.loads(self(*arguments, "--output", "json").stdout)

    def attempt(self, *arguments: str) -> Ran:
        result = CliRunner().invoke(app, arguments, env=self.env, prog_name="drumbeat")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Ran(result.exit_code, result.stdout, result.stderr)

    def start(self, *arguments: str) -> "subprocess.Popen[bytes]":
        """As a process of its own, with pipes."""
        pipe = subprocess.PIPE
        return subprocess.Popen(
            (*COMMAND, *arguments),
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            env={**os.environ, **self.env},
        )

    def pipe(self, *arguments: str, stdin: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
        return subprocess.run(
            (*COMMAND, *arguments),
            input=stdin,
            capture_output=True,
            check=False,
            timeout=TIMEOUT_S,
            env={**os.environ, **self.env},
        )

    def producer(self) -> SyncProducer:
        return SyncProducer(bootstrap_servers=self.servers)


def filled_topic(
    admin: SyncAdmin, producer: Callable[[], AbstractContextManager[SyncProducer]]
) -> str:
    name = fresh_name("orders")
    admin.create_topics([NewTopic(name=name, num_partitions=2)])
    with producer() as producing:
        for number in range(20):
            producing.send(
                name,
                b"v%d" % (number // 2),
                key=b"k%d" % number,
                partition=number % 2,
                timestamp_ms=number // 2 * 100,
            )
    return name
