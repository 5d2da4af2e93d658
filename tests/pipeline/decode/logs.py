"""Random logs of `__consumer_offsets`, made with the protocol's encoder: every record type and
version, every codec, transactions, and all kinds of records that no coordinator would write."""

from random import Random

from drumbeat.core.classic_records import OffsetCommitValue, OffsetKey
from drumbeat.core.modern_records import LAYOUTS
from drumbeat.core.record_codec import encode
from drumbeat.core.records import GroupMetadataRecord, GroupMetadataTombstone, MemberMetadata
from drumbeat.protocol.compiler import encoder
from drumbeat.protocol.compression import Codec
from drumbeat.protocol.record_batch import with_log_append_time
from drumbeat.protocol.records import (
    BatchOptions,
    ControlRecordType,
    Record,
    encode_batch,
    encode_control_batch,
)

Pair = tuple[bytes | None, bytes | None]
TIMESTAMP = 1_700_000_000_000
GROUPS = ("g", "", "payments", "größe-✓", "g" * 70, "g" * 300)
TOPICS = ("t", "orders.events.v1", "t" * 249)
METADATA = ("", "", "", "m", "é✓", "x" * 126, "x" * 127, "x" * 4096)
TOPIC_IDS = (bytes(16), bytes(range(16)), b"\xff" * 16)


def commit_key(random: Random, record_type: int) -> bytes:
    key = OffsetKey(random.choice(GROUPS), random.choice(TOPICS), random.randrange(-1, 50))
    return record_type.to_bytes(2, "big") + encoder(OffsetKey, 0, False)(key)


def commit_value(random: Random, version: int) -> bytes:
    value = OffsetCommitValue(
        offset=random.choice((0, -1, 42, 2**63 - 1, random.getrandbits(40))),
        leader_epoch=random.choice((-1, 0, 5, 2**31 - 1)),
        metadata=random.choice(METADATA),
        commit_timestamp=TIMESTAMP + random.randrange(10_000),
        expire_timestamp=random.choice((-1, TIMESTAMP + 86_400_000)),
        topic_id=random.choice(TOPIC_IDS),
    )
    return version.to_bytes(2, "big") + encoder(OffsetCommitValue, version, version >= 4)(value)


def commit(random: Random) -> Pair:
    return commit_key(random, 1), commit_value(random, random.randrange(5))


def newest_commit(random: Random) -> Pair:
    return commit_key(random, 1), commit_value(random, 4)


def legacy_commit(random: Random) -> Pair:
    return commit_key(random, 0), commit_value(random, random.choice((0, 0, 1, 3)))


def commit_tombstone(random: Random) -> Pair:
    return commit_key(random, random.randrange(2)), None


def classic_group(random: Random) -> Pair:
    group_id = random.choice(GROUPS)
    if random.random() < 0.2:
        return encode(GroupMetadataTombstone(group_id))
    member = MemberMetadata("m-1", None, "c", "/127.0.0.1", 300_000, 45_000, b"\0\1", b"\0\2")
    generation = random.randrange(1000)
    return encode(
        GroupMetadataRecord(
            group_id, "consumer", generation, "range", "m-1", TIMESTAMP, (member,) * 2
        )
    )


def modern_group(random: Random) -> Pair:
    record_type = random.choice(list(LAYOUTS))
    layout = LAYOUTS[record_type]
    key_body = encoder(layout.key, 0, False)(layout.key(random.choice(GROUPS)))
    value = b"\0\0" + encoder(layout.value, 0, True)(layout.value())
    key = record_type.to_bytes(2, "big") + key_body
    return key, random.choice((value, value, None))


def unknown(random: Random) -> Pair:
    record_type = random.choice((9, 18, 24, 99, 32_767, 65_535))
    return record_type.to_bytes(2, "big") + random.randbytes(6), random.randbytes(8)


def garbage(random: Random) -> Pair:
    return (
        random.choice((None, b"", b"\0", random.randbytes(random.randrange(40)))),
        random.choice((None, b"", b"\0", random.randbytes(random.randrange(40)))),
    )


def damaged_commit(random: Random) -> Pair:
    """A commit with a byte changed, cut off or added in its key or value."""
    key, value = commit(random)
    if random.random() < 0.3:
        key = damaged(random, key)
    return key, random.choice((value, None, damaged(random, value)))


def damaged(random: Random, data: bytes) -> bytes:
    place = random.randrange(len(data))
    changed = bytes([random.randrange(256)])
    return random.choice(
        (data[:place], data + changed, data[:place] + changed + data[place + 1 :], data + data)
    )


MAKERS = (
    *[commit] * 6,
    *[newest_commit] * 6,
    legacy_commit,
    commit_tombstone,
    classic_group,
    modern_group,
    unknown,
    garbage,
    *[damaged_commit] * 2,
)


def batch(random: Random, base_offset: int, pairs: list[Pair]) -> bytes:
    """One batch of these records, with gaps between their offsets now and then."""
    if not pairs:
        return control_batch(random, base_offset)
    offset, records = base_offset, []
    for key, value in pairs:
        headers = (("h", b"v"), ("", None)) if random.random() < 0.02 else ()
        timestamp = TIMESTAMP + random.choice((0, 0, 1, -5, 70_000))
        records.append(Record(offset, timestamp, key, value, headers))
        offset += random.choice((1, 1, 1, 1, 2, 200))
    is_transactional = random.random() < 0.2
    options = BatchOptions(
        codec=random.choice((*[Codec.NONE] * 8, *Codec)),
        base_offset=base_offset,
        partition_leader_epoch=random.randrange(-1, 9),
        producer_id=random.randrange(100) if is_transactional else -1,
        producer_epoch=0 if is_transactional else -1,
        is_transactional=is_transactional,
        is_control=random.random() < 0.02,
    )
    encoded = encode_batch(records, options)
    return with_log_append_time(encoded, TIMESTAMP + 7) if random.random() < 0.1 else encoded


def control_batch(random: Random, base_offset: int) -> bytes:
    return encode_control_batch(
        random.choice(list(ControlRecordType)),
        coordinator_epoch=3,
        producer_id=random.randrange(100),
        producer_epoch=1,
        timestamp=TIMESTAMP,
        base_offset=base_offset,
    )


def log(random: Random, batches: int, records_max: int, makers=MAKERS) -> list[bytes]:
    """Batches one after the other; one in twenty is a transaction marker."""
    found, offset = [], random.choice((0, 5, 2**40))
    for _ in range(batches):
        count = 0 if random.random() < 0.05 else random.randint(1, records_max)
        pairs = [random.choice(makers)(random) for _ in range(count)]
        found.append(batch(random, offset, pairs))
        last_offset_delta = int.from_bytes(found[-1][23:27], "big")
        offset += last_offset_delta + random.choice((1, 1, 1, 10))
    return found
