"""`drumbeat groups reset`: every plan, what it refuses, and that it changes nothing unasked."""

import pytest

from drumbeat.cli.groups.plans import duration_ms
from drumbeat.client import SyncConsumer, TopicPartition
from support.data_topics import fresh_name
from support.waiting import wait_until


@pytest.fixture
def group(admin, orders):
    """At 4 and 7; both partitions hold 0 to 9, at the milliseconds 0, 100, 200 ..."""
    name = fresh_name("moved")
    admin.alter_group_offsets(name, {TopicPartition(orders, 0): 4, TopicPartition(orders, 1): 7})
    return name


def offsets(admin, group):
    return [one.offset for _, one in sorted(admin.list_group_offsets([group])[group].items())]


PLANS = [
    (("--to-earliest",), [0, 0], None),
    (("--to-latest",), [10, 10], None),
    (("--to-current",), [4, 7], None),
    (("--to-offset", "5"), [5, 5], None),
    (("--to-offset", "99"), [10, 10], "99 is beyond the end"),
    (("--shift-by", "2"), [6, 9], None),
    (("--shift-by", "-5"), [0, 2], "-1 is before the first offset"),
    (("--to-datetime", "1970-01-01T00:00:00.250"), [3, 3], None),
    (("--to-datetime", "1970-01-01T01:00:00.100+01:00"), [1, 1], None),
    (("--by-duration", "PT1H"), [10, 10], "no record is so late: the end"),
]


@pytest.mark.parametrize(("plan", "after", "note"), PLANS)
def test_plans(drumbeat, admin, group, plan, after, note):
    shown = drumbeat.json("groups", "reset", group, "--all-topics", *plan)
    assert shown["executed"] is False
    assert [one["before"] for one in shown["resets"]] == [4, 7]
    assert [one["after"] for one in shown["resets"]] == after
    assert shown["resets"][0]["note"] == note
    assert offsets(admin, group) == [4, 7]

    done = drumbeat.json("groups", "reset", group, "--all-topics", *plan, "--execute")
    assert done == shown | {"executed": True}
    assert offsets(admin, group) == after


def test_a_dry_run_says_so(drumbeat, orders, group):
    ran = drumbeat("groups", "reset", group, "--topic", f"{orders}:1", "--to-earliest")
    assert ran.stderr == "drumbeat: nothing was changed; --execute does it\n"
    title, heading, row = ran.stdout.splitlines()
    assert title == f"{group}: would move"
    assert heading.split() == ["topic", "partition", "before", "after", "note"]
    assert row.split() == [orders, "1", "7", "0", "-"]


def test_export_and_import(drumbeat, admin, orders, group, tmp_path):
    to_there = ("groups", "reset", group, "--topic", orders, "--to-offset", "2")
    exported = drumbeat(*to_there, "--export").stdout
    assert exported == f"{orders},0,2\n{orders},1,2\n"
    path = tmp_path / "offsets.csv"
    path.write_text(exported)
    drumbeat("groups", "reset", group, "--from-file", str(path), "--execute")
    assert offsets(admin, group) == [2, 2]
    path.write_text(f"other,{orders},0,9\n{group},{orders},0,3\n")
    drumbeat("groups", "reset", group, "--from-file", str(path), "--execute")
    assert offsets(admin, group) == [3, 2]


def test_a_group_follows_another(drumbeat, admin, group):
    follower = fresh_name("follower")
    drumbeat("groups", "reset", follower, "--from-group", group, "--all-topics", "--execute")
    assert offsets(admin, follower) == [4, 7]


def test_a_new_group_can_be_given_offsets(drumbeat, admin, orders):
    new = fresh_name("new")
    drumbeat("groups", "reset", new, "--topic", orders, "--to-latest", "--execute")
    assert offsets(admin, new) == [10, 10]


def test_a_group_with_members_is_refused_and_they_are_named(drumbeat, servers, orders):
    group = fresh_name("busy")
    options = {"group_id": group, "client_id": "worker-7", "enable_auto_commit": False}
    with SyncConsumer(bootstrap_servers=servers, **options) as consumer:
        consumer.subscribe([orders])
        wait_until(lambda: consumer.poll(50) or consumer.assignment(), 30, "assignment")
        ran = drumbeat.attempt("groups", "reset", group, "--topic", orders, "--to-earliest")
    assert ran.exit_code == 1
    assert f"group {group} is Stable with 1 members (worker-7 at /127.0.0.1)" in ran.stderr
    assert "stop them first" in ran.stderr


@pytest.mark.parametrize(
    ("text", "expected_ms"),
    [
        ("PT1H30M", 5_400_000),
        ("P7D", 604_800_000),
        ("P1DT2S", 86_402_000),
        ("pt0.5s", 500),
        ("-PT1M", -60_000),
        ("PT-1M", -60_000),
        ("90m", 5_400_000),
        ("2d", 172_800_000),
    ],
)
def test_durations(text, expected_ms):
    assert duration_ms(text) == expected_ms
