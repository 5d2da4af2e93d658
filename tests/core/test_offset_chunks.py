"""Reading commits many at a time finds what reading them one by one finds, or leaves them alone."""

from collections.abc import Sequence
from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drumbeat.core.offset_chunks import read_offset_chunk
from drumbeat.core.offset_codec import encode_offset_key
from drumbeat.core.record_codec import decode, encode
from drumbeat.core.records import (
    GroupMetadataTombstone,
    OffsetCommitRecord,
    OffsetCommitTombstone,
    RecordError,
)
from drumbeat.core.records import Record as Fact
from drumbeat.core.reducer import apply, apply_offsets
from drumbeat.core.state import State
from drumbeat.protocol.compression import Codec
from drumbeat.protocol.record_batch import (
    HEADER_BYTES,
    TRANSACTIONAL_FLAG,
    CorruptBatch,
    iter_headers,
    read_header,
    seal,
)
from drumbeat.protocol.records import BatchOptions, Record, decode_rows, encode_batch
from drumbeat.protocol.schema import NULL_UUID

AT_MS = 1_700_000_000_000
TOPIC_ID = bytes(range(16))


def commits(count: int, first: int = 0, **fields: object) -> list[OffsetCommitRecord]:
    record = OffsetCommitRecord("group", "orders", 0, 41, 3, "", AT_MS, topic_id=TOPIC_ID)
    return [
        record._replace(partition=partition, committed_offset=partition * 1_000, **fields)
        for partition in range(first, first + count)
    ]


def records_of(facts: Sequence[Fact], gaps: Sequence[int] = (), headers: int = 0) -> list[Record]:
    """As they stand in a batch; compaction leaves gaps between their offsets."""
    offsets = accumulate(gaps or [1] * len(facts))
    some = (("h", b"v"),) * headers
    return [
        Record(offset, AT_MS, *encode(fact), some)
        for offset, fact in zip(offsets, facts, strict=True)
    ]


def lone(facts: Sequence[Fact], **options: object) -> bytes:
    """A batch for each."""
    return b"".join(
        encode_batch([Record(offset, AT_MS, *encode(fact))], BatchOptions(**options))
        for offset, fact in enumerate(facts)
    )


def version_3(group_id: str, topic: str, offset: int, metadata: bytes = b"") -> Record:
    """A commit as Kafka wrote it before there were topic ids."""
    parts = (b"\0\3", offset.to_bytes(8, "big"), b"\0\0\0\2", len(metadata).to_bytes(2, "big"))
    value = b"".join((*parts, metadata, AT_MS.to_bytes(8, "big")))
    return Record(offset, AT_MS, encode_offset_key(group_id, topic, 7), value)


def one_by_one(chunk: bytes) -> State | None:
    """None if a batch cannot be read."""
    state = State()
    try:
        for position, header in iter_headers(chunk):
            apply_plainly(state, chunk[position : position + header.size])
    except (CorruptBatch, RecordError):
        return None
    return state


def apply_plainly(state: State, batch: bytes) -> None:
    for log_offset, _, key, value, _ in decode_rows(batch, read_header(batch)):
        apply(state, decode(key, value), log_offset)


def many_at_a_time(chunk: bytes) -> State | None:
    """As a load does it: what is not read in this way is read one by one."""
    state, position = State(), 0
    while position < len(chunk):
        by_group, _, position = read_offset_chunk(chunk, position)
        for group_id, offsets in by_group.items():
            apply_offsets(state, group_id, offsets)
        if position < len(chunk):
            end = position + read_header(chunk, position).size
            try:
                apply_plainly(state, chunk[position:end])
            except (CorruptBatch, RecordError):
                return None
            position = end
    return state


# -- which batches are read so ---------------------------------------------------------------------

READ = {
    "a commit": encode_batch(records_of(commits(1))),
    "a commit of two partitions": encode_batch(records_of(commits(2))),
    "offsets of one byte and of two": encode_batch(records_of(commits(8_192))),
    "many commits": lone(commits(70)),
    "metadata and an epoch": lone(commits(5, metadata="x" * 126, leader_epoch=9)),
    "no topic id": lone(commits(5, topic_id=NULL_UUID, metadata="where I was")),
    "a short record": lone(commits(5, topic_id=NULL_UUID, group_id="g", topic="t")),
    "the shortest names": lone(commits(2, group_id="", topic="")),
    "long names": lone(commits(5, group_id="g" * 250, topic="t" * 249)),
    "names that are not ASCII": lone(commits(4, group_id="größe", topic="表")),
    "groups in turns": lone(commits(5) + commits(9, group_id="h") + commits(5, 3)),
    "several groups in a batch": encode_batch(records_of(commits(3) + commits(2, group_id="h"))),
    "names of other lengths in turns": lone(
        [fact for name in ("g", "group", "g", "a-group") for fact in commits(2, group_id=name)]
    ),
    "two requests in a batch": encode_batch(
        records_of(
            [
                *commits(3, metadata="a"),
                *commits(3, metadata="b"),
                *commits(3, commit_timestamp_ms=AT_MS + 1, leader_epoch=4),
                *commits(3, topic_id=bytes(16 * [7])),
            ]
        )
    ),
    "metadata as long as a topic id": encode_batch(
        records_of([*commits(2), *commits(2, topic_id=NULL_UUID, metadata="x" * 18), *commits(2)])
    ),
    "a short one last": encode_batch(records_of([*commits(2, topic="t" * 200), *commits(1)])),
    "the same partitions again": lone(commits(5) + commits(5, commit_timestamp_ms=AT_MS + 1)),
    "one left by compaction": encode_batch(
        records_of(commits(1), [9]), BatchOptions(base_offset=2)
    ),
    "none left by compaction": seal(read_header(lone(commits(1)))._replace(record_count=0), b""),
    "version 3": encode_batch([version_3("group", "orders", n, b"m" * 40) for n in range(9)]),
    "version 3, short": encode_batch([version_3("g", "t", 1)]),
    "all forms in a batch": encode_batch(
        [
            *records_of([*commits(2), *commits(2, topic_id=NULL_UUID)]),
            version_3("g", "t", 8),
            version_3("g", "t" * 60, 9),
        ]
    ),
}
NOT_READ = {
    "an expiry of its own": encode_batch(records_of(commits(1, expire_timestamp_ms=AT_MS + 9))),
    "long metadata": lone(commits(1, metadata="x" * 127)),
    "a long group id": lone(commits(1, group_id="g" * 600)),
    "a tombstone": encode_batch(records_of([OffsetCommitTombstone("g", "orders", 1)])),
    "the end of a group": encode_batch(records_of([GroupMetadataTombstone("g")])),
    "headers": encode_batch(records_of(commits(9), headers=1)),
    "compressed": encode_batch(records_of(commits(9)), BatchOptions(codec=Codec.GZIP)),
    "a time from another day": encode_batch(
        [Record(0, AT_MS, *encode(commits(1)[0])), Record(1, AT_MS - 99, *encode(commits(2)[1]))]
    ),
    "part of a transaction": lone(commits(1), is_transactional=True, producer_id=7),
    "too many": encode_batch(records_of(commits(8_200))),
}


@pytest.mark.parametrize("chunk", READ.values(), ids=READ)
def test_it_says_what_the_records_say(chunk):
    by_group, records, end = read_offset_chunk(chunk, 0)
    assert end == len(chunk)
    assert records == sum(header.record_count for _, header in iter_headers(chunk))
    assert by_group == one_by_one(chunk).offsets
    assert many_at_a_time(chunk) == one_by_one(chunk)


@pytest.mark.parametrize("chunk", NOT_READ.values(), ids=NOT_READ)
def test_anything_else_is_left_to_the_plain_reader(chunk):
    usual = lone(commits(3))
    found = read_offset_chunk(usual + chunk + usual, 0)
    assert (found.records, found.end) == (3, len(usual))
    assert read_offset_chunk(chunk + usual, len(chunk)).end == len(chunk + usual)
    assert many_at_a_time(chunk + usual) == one_by_one(chunk + usual) is not None


def test_batches_of_a_transaction_are_read_on_request():
    batch = lone(commits(1), is_transactional=True, producer_id=7)
    found = read_offset_chunk(batch + lone(commits(2)), 0, TRANSACTIONAL_FLAG)
    assert (found.records, found.end) == (1, len(batch))
    assert found.offsets == one_by_one(batch).offsets


def test_groups_keep_the_order_in_which_the_log_names_them():
    chunk = lone(commits(3, group_id="h") + commits(2) + commits(1, group_id="a"))
    read, plain = many_at_a_time(chunk), one_by_one(chunk)
    assert list(read.groups) == list(plain.groups) == ["h", "group", "a"]
    assert [list(offsets) for offsets in read.offsets.values()] == [
        list(offsets) for offsets in plain.offsets.values()
    ]


def test_groups_share_the_names_of_partitions_and_topics():
    offsets = read_offset_chunk(lone(commits(5) + commits(5, group_id="h")), 0).offsets
    for mine, other in zip(offsets["group"], offsets["h"], strict=True):
        assert mine is other
        assert offsets["group"][mine].topic_id is offsets["h"][other].topic_id


# -- whatever a chunk holds ------------------------------------------------------------------------

_FACTS = st.lists(
    st.builds(
        commits,
        st.integers(1, 4),
        st.integers(0, 2),
        group_id=st.sampled_from(["g", "group", "ü"]),
        topic=st.sampled_from(["t", "topic", "a-topic-with-a-longer-name"]),
        metadata=st.sampled_from(["", "m", "ä" * 40]),
        topic_id=st.sampled_from([TOPIC_ID, NULL_UUID]),
        commit_timestamp_ms=st.sampled_from([AT_MS, AT_MS + 1]),
    )
    | st.just([OffsetCommitTombstone("g", "t", 1)]),
    min_size=1,
    max_size=3,
).map(lambda parts: [fact for part in parts for fact in part])


@st.composite
def _batches(draw: st.DrawFn) -> bytes:
    facts = draw(_FACTS)
    gaps = draw(st.lists(st.integers(1, 90), min_size=len(facts), max_size=len(facts)))
    return encode_batch(records_of(facts, gaps), BatchOptions(base_offset=draw(st.integers(0, 1))))


_CHUNKS = st.lists(_batches(), min_size=1, max_size=4)


@given(_CHUNKS)
def test_any_chunk_reads_the_same(batches):
    chunk = b"".join(batches)
    assert many_at_a_time(chunk) == one_by_one(chunk) is not None


@settings(max_examples=300)
@given(st.data(), _CHUNKS)
def test_a_changed_chunk_is_never_read_as_something_else(data, batches):
    """Bytes that no checksum would let through: the plain reader decides what they mean."""
    changed = bytearray(data.draw(st.sampled_from(batches)))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(HEADER_BYTES, len(changed) - 1))
        changed[place] = data.draw(st.integers(0, 255))
    chunk = bytes(changed).join((batches[0], batches[-1]))
    assert many_at_a_time(chunk) == one_by_one(chunk)


@pytest.mark.parametrize("records", [1, 3])
def test_whatever_one_byte_of_a_commit_becomes_it_is_read_the_same(records):
    batch = encode_batch(records_of(commits(records, group_id="g", topic="t")))
    after = lone(commits(1, group_id="h"))
    for place in range(HEADER_BYTES, len(batch)):
        for bit in range(8):
            changed = bytearray(batch)
            changed[place] ^= 1 << bit
            chunk = bytes(changed) + after
            assert many_at_a_time(chunk) == one_by_one(chunk), (place, bit)


@pytest.mark.parametrize("field", ["record_count", "last_offset_delta"])
@pytest.mark.parametrize("change", [-1, 1])
@pytest.mark.parametrize("records", [1, 9])
def test_a_header_that_does_not_fit_is_for_the_plain_reader_to_refuse(records, field, change):
    batch = encode_batch(records_of(commits(records)), BatchOptions(base_offset=1))
    header = read_header(batch)
    changed = seal(
        header._replace(**{field: getattr(header, field) + change}), batch[HEADER_BYTES:]
    )
    readable = field == "last_offset_delta" and change > 0
    assert (read_offset_chunk(changed + batch, 0).end > 0) is readable
