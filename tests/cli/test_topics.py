"""`drumbeat topics`: the life of a topic."""

from support.data_topics import fresh_name


def test_a_topic_from_creation_to_deletion(drumbeat):
    name = fresh_name("life")
    made = drumbeat("topics", "create", name, "--partitions", "2", "--config", "retention.ms=5000")
    assert made.stdout == f"created {name} with 2 partitions\n"
    assert [name, "2", "1", "no"] in drumbeat("topics", "list").rows

    (described,) = drumbeat.json("topics", "describe", name)
    assert described["configs"] == {"retention.ms": "5000"}
    assert [one["partition"] for one in described["partitions"]] == [0, 1]
    assert len(described["topic_id"]) == 22

    drumbeat("topics", "alter", name, "--partitions", "3", "--config", "max.message.bytes=2000")
    drumbeat("topics", "alter", name, "--delete-config", "retention.ms")
    title, heading, *rows = drumbeat("topics", "describe", name).stdout.splitlines()
    assert title.startswith(f"{name}: 3 partitions, id {described['topic_id']}")
    assert title.endswith(", max.message.bytes=2000")
    assert heading.split()[:2] == ["partition", "leader"]
    assert [row.split()[0] for row in rows] == ["0", "1", "2"]

    assert drumbeat("topics", "delete", name).stdout == f"deleted {name}\n"
    assert name not in drumbeat("topics", "list").stdout


def test_a_topic_that_is_there_is_left_alone_if_asked(drumbeat):
    name = fresh_name("again")
    drumbeat("topics", "create", name)
    again = drumbeat.attempt("topics", "create", name)
    assert (again.exit_code, "already exists" in again.stderr) == (1, True)
    assert drumbeat("topics", "create", name, "--if-not-exists").stdout == ""


def test_internal_topics_are_listed_on_request(drumbeat, orders, admin):
    admin.alter_group_offsets(fresh_name("g"), {(orders, 0): 1})
    internal = "__consumer_offsets"
    assert internal not in drumbeat("topics", "list").stdout
    listed = drumbeat.json("topics", "list", "--internal")
    assert [one["is_internal"] for one in listed if one["topic"] == internal] == [True]


def test_what_was_produced_shows_in_the_offsets(drumbeat, orders):
    (described,) = drumbeat.json("topics", "describe", orders)
    assert [one["log_end_offset"] for one in described["partitions"]] == [10, 10]
