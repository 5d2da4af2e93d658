"""Ctrl-C in scripts with our consumer: wherever they are, they leave their group at once."""

import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from groups.data_of_groups import Data
from groups.group_events import read_events
from groups.wire_clients import WireClients
from groups.wire_coordinator import WireCoordinator
from support.data_topics import fresh_name
from support.waiting import wait_until

pytestmark = pytest.mark.clients

EXIT_TIMEOUT_S = 10.0  # the session would last 45 seconds
HEAD = """
import os, signal
# Whoever starts the tests in the background has them, and their children, ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)
from drumbeat.client import RebalanceListener, SyncConsumer
from drumbeat.client.assignors.range import RangeAssignor

def ready():
    print("ready", flush=True)

class Slow(RebalanceListener):
    def on_partitions_assigned(self, partitions):
        ready()
        signal.pause()

class Heard(RebalanceListener):
    def on_partitions_assigned(self, partitions):
        print("assigned", flush=True)

    def on_partitions_revoked(self, partitions):
        print("revoked", flush=True)

class Interrupting(RangeAssignor):
    # On another thread, when the listener is about to be called.
    def on_assignment(self, partitions, generation_id):
        os.kill(os.getpid(), signal.SIGINT)
"""
# What a script does when Ctrl-C comes, which is after it has said that it is ready.
SCRIPTS = {
    "waits for records": """
        with SyncConsumer(options) as consumer:
            consumer.subscribe([topic])
            while not consumer.assignment():
                consumer.poll(100)
            consumer.seek_to_end()
            ready()
            for record in consumer:
                raise AssertionError(record)
    """,
    "deals with a record": """
        with SyncConsumer(options) as consumer:
            consumer.subscribe([topic])
            for record in consumer:
                ready()
                signal.pause()
    """,
    "reads and commits": """
        with SyncConsumer(options) as consumer:
            consumer.subscribe([topic])
            while True:
                consumer.seek_to_beginning()
                if consumer.poll(100):
                    consumer.commit()
                    ready()
    """,
    "is in a listener": """
        with SyncConsumer(options) as consumer:
            consumer.subscribe([topic], listener=Slow())
            while True:
                consumer.poll(100)
    """,
    "rebalances without end": """
        with SyncConsumer(options) as consumer:
            consumer.subscribe([topic], listener=RebalanceListener())
            while True:
                if consumer.poll(1):
                    ready()
                consumer.enforce_rebalance()
    """,
    "has no with-block": """
        consumer = SyncConsumer(options)
        consumer.start()
        consumer.subscribe([topic])
        while True:
            if consumer.poll(60_000):
                ready()
    """,
}


@contextmanager
def running(script: str, topic: str, group_id: str, servers: str) -> Iterator[subprocess.Popen]:
    options = {
        "bootstrap.servers": servers,
        "group.id": group_id,
        "auto.offset.reset": "earliest",
        "retry.backoff.ms": 20,
    }
    body = f"topic, options = {topic!r}, {options!r}\n{textwrap.dedent(script)}"
    command = [sys.executable, "-c", HEAD + body]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_the_group_is_empty_when_the_script_has_ended(servers, script):
    group_id = fresh_name("interrupted-")
    with Data(servers, 2) as data, running(script, data.name, group_id, servers) as process:
        data.write()
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=EXIT_TIMEOUT_S)
    with WireCoordinator(servers) as coordinator:
        assert WireClients(coordinator, group_id).state == "Empty"
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert "close() took longer" not in errors
    wait_until(lambda: left(servers, group_id), 5.0, "it is told that the member has left")


LISTENER_DUE = """
    with SyncConsumer(options, partition_assignment_strategy=[Interrupting()]) as consumer:
        consumer.subscribe([topic], listener=Heard())
        while True:
            consumer.poll(60_000)
"""


def test_a_listener_that_was_due_is_called_by_close(servers):
    group_id = fresh_name("interrupted-")
    with Data(servers, 1) as data, running(LISTENER_DUE, data.name, group_id, servers) as process:
        output, errors = process.communicate(timeout=EXIT_TIMEOUT_S)
    assert output.split() == ["assigned", "revoked"]
    assert errors.rstrip().endswith("KeyboardInterrupt")
    with WireCoordinator(servers) as coordinator:
        assert WireClients(coordinator, group_id).state == "Empty"


def left(servers: str, group_id: str) -> bool:
    """Whether the coordinator has heard a LeaveGroup, and no session had to end."""
    events = [event["type"] for event in read_events(servers, group_id)]
    assert "member_expired" not in events
    return "member_left" in events
