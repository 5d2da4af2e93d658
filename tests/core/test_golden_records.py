"""The very bytes that Apache Kafka 4.3.1 wrote, read and written again.

`tests/golden/records.json` holds scenes: what a client did, and the batches that this left in
`__consumer_offsets`, each record as hex and decoded.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from drumbeat.core import modern_records as modern
from drumbeat.core.control_records import ControlType, read_control_type
from drumbeat.core.modern_codec import read_modern_key, read_modern_value
from drumbeat.core.record_codec import decode, encode
from drumbeat.core.records import (
    GroupMetadataRecord,
    GroupMetadataTombstone,
    MemberMetadata,
    ModernGroupRecord,
    OffsetCommitRecord,
    OffsetCommitTombstone,
    RecordType,
)

GOLDEN = Path(__file__).parent.parent / "golden" / "records.json"
CONTROL_FLAG = 0x20


def golden_records(is_control: bool) -> list[Any]:
    return [
        pytest.param(record, id=f"{number}-{scene['kind']}")
        for number, scene in enumerate(json.loads(GOLDEN.read_text()))
        for batch in scene["batches"]
        if bool(batch["attributes"] & CONTROL_FLAG) == is_control
        for record in batch["records"]
    ]


DATA_RECORDS = golden_records(is_control=False)


@pytest.mark.parametrize("golden", DATA_RECORDS)
def test_every_record_is_written_back_byte_for_byte(golden):
    key, value = data(golden["key"]), data(golden["value"])
    assert encode(decode(key, value)) == (key, value)


@pytest.mark.parametrize("golden", DATA_RECORDS)
def test_every_record_is_read_as_kafka_reads_it(golden):
    record = decode(data(golden["key"]), data(golden["value"]))
    key, value = golden["key_decoded"], golden["value_decoded"]
    if isinstance(record, ModernGroupRecord):
        assert plain(read_modern_key(record.record_type, record.key)) == modern_key(key)
        if value is None:
            assert record.value is None
        else:
            assert plain(read_modern_value(record.record_type, record.value)) == modern_value(value)
    else:
        assert record == classic_record(key, value)


@pytest.mark.parametrize("golden", golden_records(is_control=True))
def test_transaction_markers(golden):
    assert read_control_type(data(golden["key"])) is ControlType[golden["key_decoded"]["type"]]


def test_scenes_cover_what_we_write():
    records = [decode(data(p.values[0]["key"]), data(p.values[0]["value"])) for p in DATA_RECORDS]
    kinds = {type(record) for record in records}
    assert kinds == {
        OffsetCommitRecord,
        OffsetCommitTombstone,
        GroupMetadataRecord,
        GroupMetadataTombstone,
        ModernGroupRecord,
    }


def data(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)


def classic_record(key: dict[str, Any], value: dict[str, Any] | None) -> Any:
    if key["type"] == RecordType.GROUP_METADATA:
        return GroupMetadataTombstone(key["group"]) if value is None else group(key, value)
    partition = (key["group"], key["topic"], key["partition"])
    if value is None:
        return OffsetCommitTombstone(*partition)
    return OffsetCommitRecord(
        *partition,
        committed_offset=value["offset"],
        leader_epoch=value.get("leaderEpoch", -1),
        metadata=value["metadata"],
        commit_timestamp_ms=value["commitTimestamp"],
        expire_timestamp_ms=value.get("expireTimestamp", -1),
        topic_id=data(value.get("topicId(tag 0)")) or bytes(16),
    )


def group(key: dict[str, Any], value: dict[str, Any]) -> GroupMetadataRecord:
    return GroupMetadataRecord(
        group_id=key["group"],
        protocol_type=value["protocolType"],
        generation_id=value["generation"],
        protocol_name=value["protocol"],
        leader=value["leader"],
        state_timestamp_ms=value["currentStateTimestamp"],
        members=tuple(
            MemberMetadata(
                member_id=member["memberId"],
                group_instance_id=member["groupInstanceId"],
                client_id=member["clientId"],
                client_host=member["clientHost"],
                rebalance_timeout_ms=member["rebalanceTimeout"],
                session_timeout_ms=member["sessionTimeout"],
                subscription=bytes.fromhex(member["subscription"]),
                assignment=bytes.fromhex(member["assignment"]),
            )
            for member in value["members"]
        ),
    )


# -- modern groups: both sides as plain dictionaries ----------------------------------------------

KEY_NAMES = {"group": "groupId", "member": "memberId", "regex": "regularExpression"}


def modern_key(key: dict[str, Any]) -> dict[str, Any]:
    return {KEY_NAMES[name]: value for name, value in key.items() if name != "type"}


def modern_value(value: Any) -> Any:
    """As the scenes give it, without their notes on how a field is stored."""
    if isinstance(value, dict):
        return {
            "version" if name == "version_field" else name.removesuffix("(tag 0)"): modern_value(
                item
            )
            for name, item in value.items()
            if name != "version"
        }
    return [modern_value(item) for item in value] if isinstance(value, list) else value


def plain(value: Any) -> Any:
    """As our reader gives it; tagged fields that a value leaves out are left out here too."""
    if isinstance(value, bytes):
        return value.hex()
    if not isinstance(value, tuple):
        return value
    if not hasattr(value, "_fields"):
        return [plain(item) for item in value]
    fields = {camel(name): plain(item) for name, item in value._asdict().items()}
    if isinstance(value, modern.ConsumerGroupMetadataValue):
        fields["metadataHash"] = f"{value.metadata_hash & (2**64 - 1):016x}"
    return {name: item for name, item in fields.items() if not is_left_out(value, name, item)}


def is_left_out(value: Any, name: str, item: Any) -> bool:
    if name == "metadataHash":
        return item == "0" * 16
    if name == "assignmentTimestamp":
        return item == 0
    return name == "assignmentEpochs" and item is None


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
