"""Ids that are drawn."""

import os
from uuid import RFC_4122, UUID

from drumbeat.runtime.entropy import new_member_uuid, new_topic_id


def test_member_ids_are_random_uuids_in_their_usual_form():
    drawn = {new_member_uuid() for _ in range(1000)}
    assert len(drawn) == 1000
    assert all(str(UUID(text)) == text for text in drawn)
    assert {(UUID(text).version, UUID(text).variant) for text in drawn} == {(4, RFC_4122)}


def test_a_forked_process_draws_member_ids_of_its_own():
    new_member_uuid()  # more than one is drawn at a time
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.write(writing, new_member_uuid().encode())
        os._exit(0)
    os.waitpid(child, 0)
    drawn_there = os.read(reading, 100).decode()
    os.close(reading)
    os.close(writing)
    assert UUID(drawn_there).version == 4
    assert drawn_there not in {new_member_uuid() for _ in range(1000)}


def test_topic_ids_are_random_uuids():
    drawn = {new_topic_id() for _ in range(100)}
    assert len(drawn) == 100
    assert {UUID(bytes=raw).version for raw in drawn} == {4}
