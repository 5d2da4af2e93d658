"""What the wire-level tests expect of Drumbeat is what Apache Kafka answers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from interop.kafka_jars import jars
from support.brokers import BROKER_VARIABLE

pytestmark = pytest.mark.interop

RUNTIME = Path(__file__).parent.parent / "runtime"
# All but test_own_choices.py, whose name says why.
FILES = (
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
    "test_produce.py",
    "test_restart.py",
    "test_topics.py",
)
MINUTES_MAX = 10


@pytest.mark.timeout(MINUTES_MAX * 60)
def test_the_same_tests_pass_against_kafka():
    jars()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *(str(RUNTIME / name) for name in FILES)],
        env={**os.environ, BROKER_VARIABLE: "kafka"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
