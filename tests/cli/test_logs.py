"""Log lines: one per entry, whatever a client put into it; what they say of groups."""

import io
import json
import logging
import re
from contextlib import contextmanager

import pytest

from drumbeat.cli.json_logs import JsonFormatter
from drumbeat.cli.logs import EscapingFormatter
from drumbeat.protocol.apis import (
    create_topics,
    heartbeat,
    join_group,
    leave_group,
    metadata,
    offset_commit,
    sync_group,
)
from drumbeat.protocol.apis.create_topics import CreatableTopic, CreateTopicsRequest
from drumbeat.protocol.apis.heartbeat import HeartbeatRequest
from drumbeat.protocol.apis.join_group import JoinGroupRequest
from drumbeat.protocol.apis.leave_group import LeaveGroupRequest, MemberIdentity
from drumbeat.protocol.apis.metadata import MetadataRequest, MetadataRequestTopic
from drumbeat.protocol.apis.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from drumbeat.protocol.apis.sync_group import SyncGroupRequest
from support.data_topics import create_topic
from support.groups import join_request
from support.hostile import exchange
from support.node_process import NodeProcess, run
from support.waiting import wait_until
from support.wire import Wire, request_frame

ENTRY = re.compile(r"\d\d:\d\d:\d\d (DEBUG|INFO|WARNING|ERROR|CRITICAL) [^\x00-\x1f\x7f]*")
FORGED = "x\n12:00:00 INFO     all is well\r\x1b[2J\x07"


@contextmanager
def logger_with(formatter: logging.Formatter):
    """A logger of its own, and what it has written."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    handler.setFormatter(formatter)
    logger = logging.getLogger("drumbeat.test_logs")
    logger.addHandler(handler)
    logger.propagate = False
    yield logger, text
    logger.removeHandler(handler)


@pytest.fixture
def log():
    with logger_with(EscapingFormatter("%(levelname)s %(message)s")) as logger_and_text:
        yield logger_and_text


@pytest.mark.parametrize(
    ("words", "written"),
    [
        ("plain", "plain"),
        ("grüße 😀 日本", "grüße 😀 日本"),
        ("a\nb", r"a\nb"),
        ("a\r\nb", r"a\r\nb"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("\x9b31m", r"\x9b31m"),
        ("\x00\x7f", r"\x00\x7f"),
        ("\u2028\u202eevil", r"\u2028\u202eevil"),
    ],
)
def test_a_clients_words_stay_in_their_line(words, written, log):
    logger, text = log
    logger.warning("client %s", words)
    assert text.getvalue() == f"WARNING client {written}\n"


def test_a_traceback_cannot_forge_a_line(log):
    logger, text = log
    logger.error("failed", exc_info=ValueError(FORGED))
    first, *rest = text.getvalue().splitlines()
    assert first == "ERROR failed"
    assert rest
    assert all(line.startswith("    | ") for line in rest)
    assert "\x1b" not in text.getvalue()


def test_a_node_logs_one_line_per_entry_whatever_clients_call_themselves(tmp_path):
    requests = (
        (metadata.API, 1, MetadataRequest(topics=(MetadataRequestTopic(name=FORGED),))),
        (create_topics.API, 5, CreateTopicsRequest((CreatableTopic(FORGED, 1, 1),))),
        (join_group.API, 5, JoinGroupRequest(group_id=FORGED, member_id=FORGED)),
    )
    logs = tmp_path / "node.log"
    with NodeProcess("--memory", "--log-level", "debug", logs=logs) as node:
        for api, version, body in requests:
            good = request_frame(api, version, body, client_id=FORGED)
            cut_short = good[:-3]
            exchange(node.bootstrap_servers, good)
            exchange(
                node.bootstrap_servers, (len(cut_short) - 4).to_bytes(4, "big") + cut_short[4:]
            )
        node.stop()
    lines = logs.read_text().splitlines()
    assert len([line for line in lines if "closing the connection" in line]) == len(requests)
    assert not [line for line in lines if not ENTRY.fullmatch(line)]


# -- JSON ----------------------------------------------------------------------------------------


@pytest.fixture
def json_log():
    """A logger, and a function that reads what it has written."""
    with logger_with(JsonFormatter()) as (logger, text):
        yield logger, lambda: [json.loads(line) for line in text.getvalue().split("\n")[:-1]]


def test_an_entry_is_one_object_with_its_fields(json_log):
    logger, entries = json_log
    fields = {"group_id": "g", "generation_id": 3, "message": "forged", "level": "forged"}
    logger.warning("group %s", "g", extra={"fields": fields})
    (entry,) = entries()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", entry.pop("time"))
    assert entry == {
        "level": "warning",
        "logger": "drumbeat.test_logs",
        "message": "group g",
        "group_id": "g",
        "generation_id": 3,
    }


@pytest.mark.parametrize("words", [FORGED, "\u2028", "\x00", '"}', "grüße 😀"])
def test_no_words_end_an_object(words, json_log):
    logger, entries = json_log
    logger.warning("%s", words, extra={"fields": {"member_id": words, words: 1}})
    (entry,) = entries()
    assert (entry["message"], entry["member_id"], entry[words]) == (words, words, 1)


def test_a_traceback_is_a_field(json_log):
    logger, entries = json_log
    logger.error("failed", exc_info=ValueError(FORGED))
    (entry,) = entries()
    assert entry["message"] == "failed"
    assert entry["exception"].startswith(f"ValueError: {FORGED}")


# -- groups --------------------------------------------------------------------------------------


def _live_and_leave(wire: Wire) -> str:
    """A member's life: joins, commits, beats, leaves. Returns its id."""
    create_topic(wire, "t")
    joined = wire.call(join_group.API, 2, join_request("orders"))
    member = (joined.generation_id, joined.member_id)
    wire.call(sync_group.API, 2, SyncGroupRequest("orders", *member))
    topic = OffsetCommitRequestTopic(name="t", partitions=(OffsetCommitRequestPartition(0, 1),))
    commit = OffsetCommitRequest("orders", *member, topics=(topic,))
    for _ in range(50):
        wire.call(heartbeat.API, 2, HeartbeatRequest("orders", *member))
        wire.call(offset_commit.API, 7, commit)
    identity = MemberIdentity(joined.member_id, reason="end of day")
    wire.call(leave_group.API, 5, LeaveGroupRequest("orders", members=(identity,)))
    return joined.member_id


def _group_lines(node: NodeProcess) -> list[str]:
    def is_over() -> bool:
        return "empty since generation 2" in node.log_text

    wait_until(is_over, 10.0, "the group's end is logged")
    return [line for line in node.log_text.splitlines() if "group orders" in line]


OPTIONS = ("--memory", "--set", "group.initial.rebalance.delay.ms=0")


def test_a_groups_life_in_words(tmp_path):
    """Heartbeats and commits, of which there are many, say nothing."""
    with NodeProcess(*OPTIONS, logs=tmp_path / "node.log") as node:
        with Wire(node.bootstrap_servers) as wire:
            member_id = _live_and_leave(wire)
        lines = _group_lines(node)
    words = [re.sub(r"\d+ ms", "N ms", line).partition("group orders: ")[2] for line in lines]
    member = f"{member_id} (wire at /127.0.0.1)"
    took = "(joined in N ms, synced in N ms)"
    assert words == [
        f"member {member} joined",
        f"preparing to rebalance generation 0 (member_joined, {member_id})",
        f"stabilized generation 1 with 1 member, protocol range, leader {member_id} {took}",
        f"member {member} left; it says: end of day",
        f"preparing to rebalance generation 1 (member_left, {member_id}; it says: end of day)",
        "empty since generation 2",
    ]
    assert all(ENTRY.fullmatch(line) for line in lines)


@pytest.mark.parametrize("how", ["option", "key"])
def test_a_groups_life_for_machines(how, tmp_path):
    asked = {"option": ("--log-format", "json"), "key": ("--set", "logging.format=json")}[how]
    with NodeProcess(*OPTIONS, *asked, logs=tmp_path / "node.log") as node:
        with Wire(node.bootstrap_servers) as wire:
            member_id = _live_and_leave(wire)
        _group_lines(node)
        assert node.stop() == 0
        entries = [json.loads(line) for line in node.log_text.splitlines()]
    told = [entry for entry in entries if entry.get("group_id") == "orders"]
    assert [(entry["event"], entry["generation_id"]) for entry in told] == [
        ("member_joined", 0),
        ("rebalance_begun", 0),
        ("rebalance_completed", 1),
        ("member_left", 1),
        ("rebalance_begun", 1),
        ("rebalance_completed", 2),
    ]
    assert {entry["member_id"] for entry in told if "member_id" in entry} == {member_id}
    assert told[4]["reason"] == "member_left"
    assert told[4]["client_reason"] == "end of day"
    assert entries[-1]["message"] == "stopped"


def test_less_is_logged_if_so_asked(tmp_path):
    asked = ("--set", "logging.level=debug", "--log-level", "warning")  # the option wins
    with NodeProcess(*OPTIONS, *asked, logs=tmp_path / "node.log") as node:
        with Wire(node.bootstrap_servers) as wire:
            _live_and_leave(wire)
        assert node.stop() == 0
        assert node.log_text == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--log-format", "xml"], "'xml' is not one of 'text', 'json'"),
        (["--set", "logging.format=xml"], "--set: logging.format: expected a string: one of"),
        (["--set", "metrics.port=70000"], "--set: metrics.port: "),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    ended = run("up", *options)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert message in ended.stderr
