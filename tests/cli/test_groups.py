"""`drumbeat groups`: list, describe, watch, delete, forget offsets."""

import json
import os
import pty
import select
import signal

import pytest

from cli.running import TIMEOUT_S
from drumbeat.client import SyncConsumer, TopicPartition
from drumbeat.client.admin import NewTopic
from support.data_topics import fresh_name
from support.node_process import COMMAND
from support.waiting import wait_until


@pytest.fixture
def empty(admin, orders):
    """A group that was at 4 and 7 of 10 and has no members."""
    group = fresh_name("empty")
    admin.alter_group_offsets(group, {TopicPartition(orders, 0): 4, TopicPartition(orders, 1): 7})
    return group


@pytest.fixture
def stable(servers, orders):
    """A group with one static member, which owns both partitions and has committed 3 of one."""
    group = fresh_name("stable")
    options = {"group_instance_id": "i-1", "client_id": "reader", "enable_auto_commit": False}
    with SyncConsumer(bootstrap_servers=servers, group_id=group, **options) as consumer:
        consumer.subscribe([orders])
        wait_until(lambda: consumer.poll(50) or len(consumer.assignment()) == 2, 30, "assignment")
        yield group


def test_groups_are_listed_by_state_and_type(drumbeat, empty, stable):
    def listed(*filters):
        return {one["group"]: one["state"] for one in drumbeat.json("groups", "list", *filters)}

    assert listed()[empty] == "Empty"
    assert listed("--type", "classic")[stable] == "Stable"
    assert empty not in listed("--state", "Stable")
    assert empty in listed("--state", "empty", "--state", "Dead")
    assert listed("--type", "consumer") == {}
    assert [stable, "Stable", "classic", "consumer"] in drumbeat("groups", "list").rows


def test_an_empty_group_shows_its_lag(drumbeat, orders, empty):
    title, heading, *rows = drumbeat("groups", "describe", empty).stdout.splitlines()
    assert title.startswith(f"{empty}: Empty, classic group, coordinator 1 (127.0.0.1:")
    assert title.endswith("0 members, lag 9")
    assert heading.split() == ["topic", "partition", "committed", "log_end", "lag", "owner"]
    assert [row.split()[1:] for row in rows] == [
        ["0", "4", "10", "6", "-"],
        ["1", "7", "10", "3", "-"],
    ]


def test_a_group_shows_who_owns_what(drumbeat, orders, stable):
    (group,) = drumbeat.json("groups", "describe", stable)
    assert (group["state"], group["type"], group["protocol"]) == ("Stable", "classic", "range")
    (member,) = group["members"]
    assert (member["group_instance_id"], member["client_id"]) == ("i-1", "reader")
    assert member["subscription"] == [orders]
    assert member["assignment"] == [{"topic": orders, "partition": n} for n in (0, 1)]
    assert [one["owner"] for one in group["partitions"]] == [member["member_id"]] * 2
    assert [one["lag"] for one in group["partitions"]] == [None, None]
    table = drumbeat("groups", "describe", stable)
    assert table.rows[-1][-2:] == [orders, "0-1"]


def test_a_topic_that_is_gone_leaves_the_lag_open(drumbeat, admin):
    topic, group = fresh_name("gone"), fresh_name("g")
    admin.create_topics([NewTopic(name=topic, num_partitions=1)])
    admin.alter_group_offsets(group, {TopicPartition(topic, 0): 0})
    (described,) = drumbeat.json("groups", "describe", group)
    assert described["lag"] == 0
    admin.delete_topics([topic])
    ran = drumbeat.attempt("groups", "describe", group)
    assert ran.exit_code in (0, 1)  # a group that has lost its last offset may be gone too
    assert "Traceback" not in ran.stdout + ran.stderr


def test_watching_without_a_terminal_prints_one_table_after_the_other(drumbeat, empty):
    watch = ("groups", "describe", empty, "--watch", "--count", "3", "--interval", "0.1")
    shown = drumbeat(*watch).stdout
    assert shown.count(f"{empty}: Empty") == 3
    lines = drumbeat(*watch, "--output", "json").stdout.splitlines()
    assert [json.loads(line)[0]["lag"] for line in lines] == [9, 9, 9]


def test_watching_on_a_terminal_ends_with_q(drumbeat, empty):
    leader, follower = pty.openpty()
    process = os.posix_spawn(
        COMMAND[0],
        [*COMMAND, "groups", "describe", empty, "--watch", "--interval", "0.2"],
        {**os.environ, **drumbeat.env, "TERM": "xterm", "COLUMNS": "80", "LINES": "30"},
        file_actions=[(os.POSIX_SPAWN_DUP2, follower, fd) for fd in (0, 1, 2)],
    )
    os.close(follower)
    shown = b""
    while shown.count(b"q ends") < 2:  # it has drawn twice
        assert select.select([leader], [], [], TIMEOUT_S)[0], shown
        shown += os.read(leader, 65536)
    os.write(leader, b"q")
    wait_until(lambda: _drained(leader), TIMEOUT_S, "its end")
    _, status = os.waitpid(process, 0)
    os.close(leader)
    assert os.waitstatus_to_exitcode(status) == 0
    assert f"{empty}: Empty".encode() in shown


def test_ctrl_c_ends_watching_quietly(drumbeat, empty):
    watching = drumbeat.start("groups", "describe", empty, "--watch", "--interval", "0.1")
    for _ in range(8):  # two rounds
        assert watching.stdout.readline()
    watching.send_signal(signal.SIGINT)
    _, stderr = watching.communicate(timeout=TIMEOUT_S)
    assert (watching.returncode, stderr) == (130, b"")


def _drained(fd: int) -> bool:
    """Whether the other side has closed the terminal."""
    try:
        return select.select([fd], [], [], 0)[0] and not os.read(fd, 65536)
    except OSError:
        return True


def test_groups_are_deleted_unless_they_have_members(drumbeat, empty, stable):
    refused = drumbeat.attempt("groups", "delete", stable)
    assert (refused.exit_code, "stop its consumers first" in refused.stderr) == (1, True)
    assert drumbeat("groups", "delete", empty).stdout == f"deleted {empty}\n"
    assert drumbeat.attempt("groups", "describe", empty).exit_code == 1


def test_single_offsets_are_deleted(drumbeat, admin, orders, empty):
    drumbeat("groups", "offsets-delete", empty, "--topic", f"{orders}:0")
    assert list(admin.list_group_offsets([empty])[empty]) == [TopicPartition(orders, 1)]
    drumbeat("groups", "offsets-delete", empty, "--topic", orders)
    assert admin.list_group_offsets([empty])[empty] == {}
