"""drumbeat demo, played as a newcomer would: without a terminal, to the end, and interrupted."""

import os
import re
import signal
import subprocess
import sys

import psutil
import pytest

from drumbeat.client import SyncAdmin

DRUMBEAT = [sys.executable, "-m", "drumbeat.cli.main"]
PNG = b"\x89PNG\r\n\x1a\n"
END_WAIT_S = 30


def start_demo(folder, *options) -> subprocess.Popen:
    return subprocess.Popen(
        [*DRUMBEAT, "demo", "--dir", str(folder), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def read_until(demo: subprocess.Popen, words: str) -> str:
    told = ""
    for line in demo.stdout:
        told += line
        if words in line:
            return told
    pytest.fail(f"the demo ended without {words!r}:\n{told}")


def end_by(demo: subprocess.Popen, how: signal.Signals) -> list[psutil.Process]:
    """The processes that it had started, all of which must be gone."""
    started = psutil.Process(demo.pid).children(recursive=True)
    demo.send_signal(how)
    demo.stdout.read()
    demo.wait(END_WAIT_S)
    _, alive = psutil.wait_procs(started, END_WAIT_S)
    assert alive == []
    return started


@pytest.mark.timeout(300)
def test_the_whole_story(tmp_path):
    with start_demo(tmp_path, "--keep") as demo:
        told = read_until(demo, "Ctrl-C stops everything")
        servers = re.search(r"any Kafka client: (\S+)", told)[1]
        with SyncAdmin(bootstrap_servers=servers) as admin:
            states = {group.group_id: group.state for group in admin.list_groups()}
        assert states == {"billing": "Stable", "audit": "Stable"}
        assert len(end_by(demo, signal.SIGTERM)) == 4  # the node, two of billing, one of audit
    assert demo.returncode == 0

    assert "audit: audit-1 has [0, 1, 2, 3]" in told
    assert "both groups commit again" in told
    for cause in ("JOIN", "SESSION_TIMEOUT", "LEAVE"):
        assert re.search(rf"\b{cause}\b", told), cause
    assert told.count("replay equals the live coordinator") == 2
    (place,) = os.listdir(tmp_path)
    for group in ("billing", "audit"):
        assert (tmp_path / place / f"{group}.png").read_bytes().startswith(PNG)


def test_interrupted_it_leaves_nothing_running(tmp_path):
    with start_demo(tmp_path) as demo:
        read_until(demo, "Two consumer groups")
        end_by(demo, signal.SIGINT)
    assert demo.returncode == 130
