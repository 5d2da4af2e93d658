"""`drumbeat produce` and `drumbeat consume`, as programs with pipes."""

import base64
import json
import signal

import pytest

from drumbeat.client import TopicPartition
from support.data_topics import fresh_name
from support.waiting import wait_until

BINARY = b"\xff\x00\x80 and text"


@pytest.fixture
def topic(drumbeat):
    name = fresh_name("lines")
    drumbeat("topics", "create", name, "--partitions", "2")
    return name


def consumed(drumbeat, *arguments):
    """The records, as JSON has them."""
    ended = drumbeat.pipe("consume", *arguments, "--output", "json")
    assert ended.returncode == 0, ended
    return [json.loads(line) for line in ended.stdout.splitlines()]


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_lines_arrive_as_they_are(drumbeat, topic, codec):
    lines = b"k1:v1\nk2:\n" + b"k3:" + BINARY + b"\nk4:a:b\r\n"
    sent = drumbeat.pipe(
        *("produce", topic, "--key-separator", ":", "--codec", codec),
        *("--header", "a=1", "--header", "a=x=y", "--partition", "1"),
        stdin=lines,
    )
    assert (sent.returncode, sent.stdout) == (0, f"4 records to {topic}\n".encode())
    records = consumed(drumbeat, topic, "--from-beginning", "--max-messages", "4")
    encoded = {"base64": base64.b64encode(BINARY).decode()}
    assert [one["key"] for one in records] == ["k1", "k2", "k3", "k4"]
    assert [one["value"] for one in records] == ["v1", "", encoded, "a:b\r"]
    assert {one["partition"] for one in records} == {1}
    assert records[0]["headers"] == [["a", "1"], ["a", "x=y"]]
    raw = drumbeat.pipe("consume", topic, "--offset", "2", "--max-messages", "1", "--output", "raw")
    assert raw.stdout == BINARY + b"\n"


def test_a_file_is_read_to_its_end(drumbeat, topic, tmp_path):
    path = tmp_path / "lines"
    path.write_bytes(b"one\ntwo\nlast without a line feed")
    assert drumbeat.pipe("produce", topic, "--file", str(path)).returncode == 0
    records = consumed(drumbeat, topic, "--from-beginning", "--max-messages", "3")
    assert [one["value"] for one in records] == ["one", "two", "last without a line feed"]
    assert {one["key"] for one in records} == {None}


def test_a_line_without_a_separator_is_named(drumbeat, topic):
    ended = drumbeat.pipe("produce", topic, "--key-separator", ":", stdin=b"a:1\nb\nc:3\n")
    assert ended.returncode == 1
    assert b"line 2 has no ':' between key and value" in ended.stderr
    assert len(consumed(drumbeat, topic, "--from-beginning", "--max-messages", "1")) == 1


def test_a_record_that_is_refused_is_explained(drumbeat, topic):
    ended = drumbeat.pipe("produce", topic, stdin=b"x" * 2_000_000)
    assert ended.returncode == 1
    assert ended.stderr.count(b"\n") == 2
    assert b"0 records were stored before the first error" in ended.stderr


@pytest.mark.parametrize(
    ("options", "values"),
    [
        (("--from-beginning",), ["v0", "v1", "v2"]),
        (("--offset", "7"), ["v7", "v8", "v9"]),
        (("--offset", "-2"), ["v8", "v9"]),
        (("--offset", "earliest"), ["v0"]),
    ],
)
def test_where_to_begin(drumbeat, orders, options, values):
    place = (orders, "--partition", "1", "--max-messages", str(len(values)))
    assert [one["value"] for one in consumed(drumbeat, *place, *options)] == values


@pytest.mark.parametrize("offset", ["latest", "100"])
def test_at_the_end_there_is_nothing(drumbeat, orders, offset):
    assert consumed(drumbeat, orders, "--offset", offset, "--timeout", "0.5") == []


def test_too_few_records_are_a_failure(drumbeat, orders):
    ended = drumbeat.pipe(
        *("consume", orders, "--from-beginning", "--max-messages", "25", "--timeout", "3")
    )
    assert ended.returncode == 1
    assert ended.stderr == b"drumbeat: 20 of 25 records came in time\n"
    assert ended.stdout.count(b"\n") == 20


def test_lines_for_people_cannot_steer_a_terminal(drumbeat, topic):
    drumbeat.pipe("produce", topic, stdin=b"\x1b[2J\x07evil\xff\n")
    shown = drumbeat.pipe("consume", topic, "--from-beginning", "--max-messages", "1").stdout
    assert shown.split()[-1] == rb"\x1b[2J\x07evil\xff"


def test_a_group_goes_on_where_it_was_and_commits_only_what_was_written(drumbeat, orders, admin):
    group = fresh_name("readers")
    read = (orders, "--group", group, "--from-beginning", "--max-messages")
    first = consumed(drumbeat, *read, "7")
    committed = admin.list_group_offsets([group])[group]
    assert sum(offset.offset for offset in committed.values()) == 7
    rest = consumed(drumbeat, *read, "13")
    seen = {(one["partition"], one["offset"]) for one in first + rest}
    assert len(seen) == 20


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_member_that_is_stopped_says_nothing_and_leaves(drumbeat, orders, admin, number, code):
    group = fresh_name("stopped")
    member = drumbeat.start("consume", orders, "--group", group, "--from-beginning")
    tps = [TopicPartition(orders, 0), TopicPartition(orders, 1)]

    def has_read_all() -> bool:
        committed = admin.list_group_offsets([group])[group]
        return all(tp in committed and committed[tp].offset == 10 for tp in tps)

    wait_until(has_read_all, 30.0, "commits of the member")
    member.send_signal(number)
    _, stderr = member.communicate(timeout=30)
    assert (member.returncode, stderr) == (code, b"")
    assert drumbeat.json("groups", "describe", group)[0]["state"] == "Empty"


def test_a_reader_that_goes_away_ends_it_quietly(drumbeat, topic):
    drumbeat.pipe("produce", topic, stdin=b"line\n" * 20_000)
    reading = drumbeat.start("consume", topic, "--from-beginning")
    assert reading.stdout.readline()
    reading.stdout.close()
    assert reading.wait(30) == 1
    assert reading.stderr.read() == b""
    reading.stdin.close()
    reading.stderr.close()
