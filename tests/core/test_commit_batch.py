"""The short way to the bytes of a commit leads where the long one does."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from drumbeat.core.commit_batch import encode_facts
from drumbeat.core.offset_codec import KEY_CACHED_BYTES_MAX
from drumbeat.core.record_codec import encode
from drumbeat.core.records import (
    NO_EXPIRE_TIMESTAMP,
    GroupMetadataRecord,
    OffsetCommitRecord,
    OffsetCommitTombstone,
)
from drumbeat.protocol.compression import Codec
from drumbeat.protocol.records import BatchOptions, Envelope, encode_batch
from drumbeat.protocol.schema import NULL_UUID

TOPIC_ID = bytes(range(16))
names = st.text(max_size=12) | st.just("n" * KEY_CACHED_BYTES_MAX)
int64s = st.integers(-(2**63), 2**63 - 1)
commits = st.builds(
    OffsetCommitRecord,
    group_id=names,
    topic=names,
    partition=st.integers(-(2**31), 2**31 - 1),
    committed_offset=int64s,
    leader_epoch=st.integers(-(2**31), 2**31 - 1),
    metadata=st.text(max_size=140),
    commit_timestamp_ms=int64s,
    expire_timestamp_ms=st.just(NO_EXPIRE_TIMESTAMP) | int64s,
    topic_id=st.just(TOPIC_ID) | st.just(NULL_UUID),
)
ordinary = commits.map(
    lambda commit: commit._replace(expire_timestamp_ms=NO_EXPIRE_TIMESTAMP, topic_id=TOPIC_ID)
)
others = st.builds(OffsetCommitTombstone, names, names, st.integers(0, 10)) | st.just(
    GroupMetadataRecord("group", "consumer", 1, "range", "leader", 7, ())
)
COMMIT = OffsetCommitRecord("group", "topic", 0, 1, -1, "", 5, topic_id=TOPIC_ID)


def the_long_way(facts, options, base_offset, timestamp):
    rows = [(base_offset + n, timestamp, *encode(fact), ()) for n, fact in enumerate(facts)]
    return encode_batch(rows, options)


@given(
    st.lists(ordinary, min_size=1, max_size=5) | st.lists(commits | others, min_size=1, max_size=5),
    st.sampled_from(Codec),
    st.integers(0, 2**62),
    st.integers(0, 2**62),
)
@example([COMMIT._replace(partition=n) for n in range(300)], Codec.NONE, 0, 0)
def test_both_ways_lead_to_the_same_bytes(facts, codec, base_offset, timestamp):
    options = BatchOptions(codec=codec, base_sequence=0, partition_leader_epoch=3)
    encoded = encode_facts(facts, Envelope(options), base_offset, timestamp)
    assert encoded == the_long_way(facts, options, base_offset, timestamp)


@pytest.mark.parametrize("metadata_bytes", [0, 1, 21, 22, 63, 64, 127, 128])
def test_metadata_of_every_size(metadata_bytes):
    facts = [COMMIT, COMMIT._replace(metadata="m" * metadata_bytes), COMMIT]
    options = BatchOptions()
    encoded = encode_facts(facts, Envelope(options), 10, 20)
    assert encoded == the_long_way(facts, options, 10, 20)
