"""`drumbeat log`: what it shows of log files, and that it finds every kind of damage."""

import json
import struct
from pathlib import Path

import pytest

from drumbeat.cli.common import Output
from drumbeat.cli.log.dump import Contents, Dump
from drumbeat.cli.log.files import find_partitions
from drumbeat.cli.log.verify import verify_partition
from drumbeat.client import OffsetAndMetadata, SyncConsumer, TopicPartition
from drumbeat.client.admin import NewTopic, SyncAdmin
from drumbeat.log.names import segment_stem
from drumbeat.protocol.records import encode_batch
from drumbeat.testing import Cluster
from support.data_topics import fresh_name
from support.log_folders import append_commits, commit_batch, log_folder, segment_path

OFFSETS_PARTITION = "__consumer_offsets-0"


@pytest.fixture
def folder(tmp_path):
    """Two segments of commits, offsets 0 to 99 and 100 to 149, ten records in each batch."""
    made = log_folder(tmp_path / "data")
    append_commits(made, 0, 0, range(100))
    append_commits(made, 0, 100, range(100, 150))
    return made


@pytest.fixture
def problems(drumbeat):
    """The problems that verify finds: file name, position, words."""

    def verify(path) -> list[tuple[str, int, str]]:
        ran = drumbeat.attempt("log", "verify", str(path), "--output", "json")
        report = json.loads(ran.stdout)
        found = [one for partition in report["partitions"] for one in partition["problems"]]
        assert (ran.exit_code, report["is_sound"]) == ((1, False) if found else (0, True))
        return [(Path(one["file"]).name, one["position"], one["problem"]) for one in found]

    return verify


def overwrite(path: Path, position: int, data: bytes) -> None:
    content = bytearray(path.read_bytes())
    content[position : position + len(data)] = data
    path.write_bytes(content)


# -- dump ----------------------------------------------------------------------------------------


def test_records_of_the_offsets_log_are_decoded(drumbeat, folder):
    lines = drumbeat("log", "dump", str(folder), "--output", "json").stdout.splitlines()
    rows = [json.loads(line) for line in lines]
    assert [row["offset"] for row in rows] == list(range(150))
    assert (rows[8]["type"], rows[8]["group"]) == ("offset_commit", "group-1")
    fields = rows[8]["fields"]
    assert (fields["topic"], fields["partition"], fields["committed_offset"]) == ("orders", 2, 80)


def test_a_table_ends_at_its_limit_and_says_so(drumbeat, folder):
    shown = drumbeat("log", "dump", str(folder), "--from-offset", "42", "--limit", "3").stdout
    path, heading, *rows, more = shown.splitlines()
    assert path == str(segment_path(folder, 0, 0))
    assert heading.split() == ["offset", "timestamp", "type", "group", "fields"]
    assert [row.split()[0] for row in rows] == ["42", "43", "44"]
    assert rows[0].endswith("orders-0 at 420")
    assert more == "more; --limit 0 shows all"
    everything = drumbeat("log", "dump", str(folder), "--limit", "0").stdout
    assert everything.count("offset_commit") == 150


def test_batches_and_raw_records(drumbeat, folder):
    segment = str(segment_path(folder, 0, 100))
    lines = drumbeat("log", "dump", segment, "--show", "batches", "--output", "json")
    rows = [json.loads(line) for line in lines.stdout.splitlines()]
    assert [row["base_offset"] for row in rows] == [100, 110, 120, 130, 140]
    assert rows[1]["position"] == rows[0]["size"]
    table = drumbeat("log", "dump", segment, "--show", "batches").rows
    assert [row[1] for row in table[2:]] == ["100-109", "110-119", "120-129", "130-139", "140-149"]
    raw = drumbeat("log", "dump", segment, "--show", "records", "--output", "json").stdout
    assert "base64" in json.loads(raw.splitlines()[0])["value"]


def test_a_dump_shows_what_comes_before_damage_and_names_it(drumbeat, folder):
    path = segment_path(folder, 0, 0)
    size = len(commit_batch(range(10)))
    overwrite(path, 2 * size + 70, b"\xff\xff\xff")
    ran = drumbeat.attempt("log", "dump", str(path))
    assert ran.exit_code == 1
    assert ran.stdout.count("offset_commit") == 20
    assert f"{path}, byte {2 * size}: CRC-32C" in ran.stderr


def test_a_running_nodes_files(drumbeat, tmp_path):
    """A group's whole life, from the files of the node that served it."""
    with Cluster(data=str(tmp_path)) as cluster:
        topic = fresh_name("t")
        options = {"bootstrap_servers": cluster.bootstrap_servers, "group_id": "g"}
        with SyncConsumer(**options, auto_offset_reset="earliest") as consumer:
            _create(cluster.bootstrap_servers, topic)
            consumer.subscribe([topic])
            while not consumer.assignment():
                consumer.poll(50)
            consumer.commit({TopicPartition(topic, 0): OffsetAndMetadata(0)})
    lines = drumbeat("log", "dump", str(tmp_path), "--show", "auto", "--output", "json").stdout
    rows = [json.loads(line) for line in lines.splitlines()]
    facts = [row for row in rows if row.get("group") == "g"]
    assert {row["type"] for row in facts} == {"group_metadata", "offset_commit"}
    (member,) = next(row["fields"]["members"] for row in facts if row["fields"].get("members"))
    assert member["subscription"]["topics"] == [topic]
    assert member["assignment"]["assigned_partitions"] == [{"topic": topic, "partitions": [0]}]
    assert "all sound" in drumbeat("log", "verify", str(tmp_path)).stdout


def test_a_segment_that_a_node_deletes_meanwhile_is_passed_over(folder, capsys):
    partitions = find_partitions([str(folder)])
    segment_path(folder, 0, 0).unlink()
    (report,) = map(verify_partition, partitions)
    assert (report.segments, report.records, report.findings) == (1, 50, [])
    assert Dump(Contents.AUTO, 0, Output.JSON, 0).write(partitions) is None
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["offset"] for row in rows] == list(range(100, 150))


def _create(servers, topic):
    with SyncAdmin(bootstrap_servers=servers) as admin:
        admin.create_topics([NewTopic(name=topic, num_partitions=1)])


# -- verify --------------------------------------------------------------------------------------


def test_a_sound_log(drumbeat, folder, problems):
    assert problems(folder) == []
    heading, row, total = drumbeat("log", "verify", str(folder)).stdout.splitlines()
    assert heading.split()[0] == "partition"
    assert row.split() == [OFFSETS_PARTITION, "2", "15", "150", row.split()[4], "0", "150", "0"]
    assert total == "1 partitions, 150 records: all sound"


def test_damage_in_the_middle_is_named_and_what_follows_is_still_checked(folder, problems):
    path = segment_path(folder, 0, 0)
    size = len(commit_batch(range(10)))
    overwrite(path, 2 * size + 70, b"\xff\xff\xff")
    overwrite(path, 5 * size + 70, b"\xff\xff\xff")
    found = problems(folder)
    assert [(name, at) for name, at, _ in found] == [(path.name, 2 * size), (path.name, 5 * size)]
    assert "CRC-32C" in found[0][2]
    assert f"the next sound batch is at byte {3 * size}" in found[0][2]


def test_a_torn_end_is_told_from_damage(folder, problems):
    last, first = segment_path(folder, 0, 100), segment_path(folder, 0, 0)
    last.write_bytes(last.read_bytes()[:-7])
    ((name, _, words),) = problems(folder)
    assert name == last.name
    assert "a torn end of" in words
    assert "which a node cuts off when it starts" in words
    first.write_bytes(first.read_bytes()[:-7])
    assert "nothing in the last" in problems(folder)[0][2]


def test_offsets_out_of_order(folder, problems):
    path = segment_path(folder, 0, 100)
    with path.open("ab") as file:
        file.write(commit_batch(range(145, 155)))
    size = len(commit_batch(range(100, 110)))
    assert problems(folder) == [(path.name, 5 * size, "offset 145 follows 149")]


def test_segments_that_overlap(folder, problems):
    append_commits(folder, 0, 100, range(150, 160))
    segment_path(folder, 0, 0).rename(segment_path(folder, 0, 110))
    found = problems(folder)
    assert (f"{segment_stem(110)}.log", 0, "the segment before it ends at offset 159") in found


def test_a_record_that_no_coordinator_wrote(folder, problems):
    path = segment_path(folder, 0, 100)
    position = path.stat().st_size
    with path.open("ab") as file:
        file.write(encode_batch([(150, 0, b"\x00\x01nonsense", b"\x00\x04", ())]))
    ((name, at, words),) = problems(folder)
    assert (name, at) == (path.name, position)
    assert words.startswith("record at offset 150: ")


INDEX, TIME_INDEX = struct.Struct(">ii"), struct.Struct(">qi")
BATCH = len(commit_batch(range(10)))
START_MS = 1_700_000_000_000


INDEXES = [
    ("right", ".index", INDEX.pack(29, 2 * BATCH) + INDEX.pack(49, 4 * BATCH), None),
    ("between", ".index", INDEX.pack(29, 2 * BATCH + 1), f"byte {2 * BATCH + 1} of the log"),
    ("late", ".index", INDEX.pack(9, 4 * BATCH), "where a batch from 40 begins"),
    ("twice", ".index", INDEX.pack(29, 2 * BATCH) * 2, "does not follow the one before"),
    ("cut", ".index", INDEX.pack(29, 2 * BATCH)[:-1], "no whole entry of 8 bytes"),
    ("right", ".timeindex", TIME_INDEX.pack(START_MS + 29, 29), None),
    ("time", ".timeindex", TIME_INDEX.pack(START_MS + 30, 29), f"is of time {START_MS + 29}"),
    ("beyond", ".timeindex", TIME_INDEX.pack(START_MS + 29, 500), "which no batch holds"),
]


@pytest.mark.parametrize(
    ("suffix", "entries", "words"),
    [one[1:] for one in INDEXES],
    ids=[f"{one[0]}{one[1]}" for one in INDEXES],
)
def test_indexes_must_agree_with_the_log(folder, problems, suffix, entries, words):
    index = segment_path(folder, 0, 0).with_suffix(suffix)
    index.write_bytes(entries)
    found = problems(folder)
    if words is None:
        assert found == []
        return
    ((name, position, problem),) = found
    assert name == index.name
    assert words in problem
    assert position == (8 if len(entries) == 16 else 0)


def test_zeros_behind_the_entries_of_a_growing_segment_are_kafkas_way(folder, problems):
    index = segment_path(folder, 0, 100).with_suffix(".index")
    size = len(commit_batch(range(100, 110)))
    index.write_bytes(INDEX.pack(29, 2 * size) + bytes(8 * 1000))
    assert problems(folder) == []


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("leader-epoch-checkpoint", "0\n1\n3 900\n", "epoch 3 begins at 900"),
        ("leader-epoch-checkpoint", "0\n5\n3 9\n", "1 entries where the count says '5'"),
        ("log-start-offset-checkpoint", "0\n1\n__consumer_offsets 0 151\n", "beyond the end, 150"),
        ("partition.metadata", "version: 0\ntopic_id: short\n", "no 'topic_id: "),
    ],
)
def test_checkpoint_files_are_checked_too(folder, problems, name, text, words):
    (folder / OFFSETS_PARTITION / name).write_text(text)
    ((found, _, problem),) = problems(folder)
    assert found == name
    assert words in problem
