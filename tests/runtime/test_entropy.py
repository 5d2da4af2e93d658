"""Ids that are drawn."""

from uuid import RFC_4122, UUID

from drumbeat.runtime.entropy import new_member_uuid, new_topic_id


def test_member_ids_are_random_uuids_in_their_usual_form():
    drawn = {new_member_uuid() for _ in range(100)}
    assert len(drawn) == 100
    assert all(str(UUID(text)) == text for text in drawn)
    assert {(UUID(text).version, UUID(text).variant) for text in drawn} == {(4, RFC_4122)}


def test_topic_ids_are_random_uuids():
    drawn = {new_topic_id() for _ in range(100)}
    assert len(drawn) == 100
    assert {UUID(bytes=raw).version for raw in drawn} == {4}
