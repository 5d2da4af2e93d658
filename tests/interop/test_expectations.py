"""What tests expect of Drumbeat is what Apache Kafka does: on the wire, and to our clients."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from interop.kafka_jars import jars
from support.brokers import BROKER_VARIABLE

pytestmark = pytest.mark.interop

TESTS = Path(__file__).parent.parent
# All but test_own_choices.py, whose name says why.
RUNTIME = (
    "test_api_versions.py",
    "test_cluster.py",
    "test_concurrent_changes.py",
    "test_configs.py",
    "test_delete_records.py",
    "test_delete_topics.py",
    "test_fetch.py",
    "test_fetch_limits.py",
    "test_idempotence.py",
    "test_list_offsets.py",
    "test_metadata.py",
    "test_named_twice.py",
    "test_produce.py",
    "test_restart.py",
    "test_topics.py",
)
# Where our consumer takes part. Static members are told by an event log that Kafka does not have.
GROUPS = ("test_third_party.py", "test_killed_members.py")
OURS = "drumbeat or ours or all_libraries or twenty"
# What is run: arguments of pytest.
SUITES = {
    "runtime": [f"runtime/{name}" for name in RUNTIME],
    "admin": ["client/admin"],
    "producer": ["client/producer"],
    "consumer": ["client/consumer"],
    "groups": [*(f"groups/{name}" for name in GROUPS), "-k", OURS],
}
MINUTES_MAX = 10


@pytest.mark.timeout(MINUTES_MAX * 60)
@pytest.mark.parametrize("suite", SUITES)
def test_the_same_tests_pass_against_kafka(suite):
    jars()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *SUITES[suite]],
        cwd=TESTS,
        env={**os.environ, BROKER_VARIABLE: "kafka"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
