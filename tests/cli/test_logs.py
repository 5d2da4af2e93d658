"""Log lines: one per entry, whatever a client put into it."""

import io
import logging
import re

import pytest

from drumbeat.cli.logs import EscapingFormatter
from drumbeat.protocol.apis import create_topics, join_group, metadata
from drumbeat.protocol.apis.create_topics import CreatableTopic, CreateTopicsRequest
from drumbeat.protocol.apis.join_group import JoinGroupRequest
from drumbeat.protocol.apis.metadata import MetadataRequest, MetadataRequestTopic
from support.hostile import exchange
from support.node_process import NodeProcess
from support.wire import request_frame

ENTRY = re.compile(r"\d\d:\d\d:\d\d (DEBUG|INFO|WARNING|ERROR|CRITICAL) [^\x00-\x1f\x7f]*")
FORGED = "x\n12:00:00 INFO     all is well\r\x1b[2J\x07"


@pytest.fixture
def log():
    """A logger of its own, and what it has written."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    handler.setFormatter(EscapingFormatter("%(levelname)s %(message)s"))
    logger = logging.getLogger("drumbeat.test_logs")
    logger.addHandler(handler)
    logger.propagate = False
    yield logger, text
    logger.removeHandler(handler)


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
