"""Error answers are well-formed in every version; errors stand where Kafka has them."""

import random
from itertools import count

import pytest

from drumbeat.protocol.apis import (
    APIS,
    delete_topics,
    fetch,
    find_coordinator,
    join_group,
    leave_group,
    list_offsets,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    produce,
)
from drumbeat.protocol.errors import ErrorCode
from drumbeat.runtime.handlers import HANDLERS
from drumbeat.testing.error_answers import error_answer
from support.messages import populated

EVERY_VERSION = [(APIS[key], version) for key in HANDLERS for version in APIS[key].versions]


def some_request(api, version):
    """One that names topics: null asks for all of them, and the answer cannot tell which."""
    for seed in count():
        body = populated(api.request, version, random.Random(seed))
        if "topics=None" not in repr(body):
            return body
    raise AssertionError


def crossed(api, version, answer):
    """As the client decodes it."""
    return api.decode_response(version)(bytes(api.encode_response(version)(answer)), 0)


def error_codes(message, path=""):
    """Every error code that is set, by where it stands."""
    if not hasattr(message, "_fields"):
        return {}
    found = {}
    for name, value in zip(message._fields, message, strict=True):
        place = f"{path}.{name}".lstrip(".")
        if name.endswith("error_code") and value:
            found[place] = value
        for item in value if isinstance(value, tuple) else ():
            found |= error_codes(item, place)
        found |= error_codes(value, place) if hasattr(value, "_fields") else {}
    return found


@pytest.mark.parametrize(
    ("api", "version"), EVERY_VERSION, ids=lambda x: getattr(x, "name", f"v{x}")
)
def test_every_version_can_say_it_is_not_coordinator(api, version):
    answer = error_answer(api, version, some_request(api, version), ErrorCode.NOT_COORDINATOR)
    places = error_codes(crossed(api, version, answer))
    assert set(places.values()) == {ErrorCode.NOT_COORDINATOR}


# api, version, error, where it stands
PLACES = [
    (offset_commit, 8, "REBALANCE_IN_PROGRESS", "topics.partitions.error_code"),
    (offset_fetch, 1, "NOT_COORDINATOR", "topics.partitions.error_code"),
    (offset_fetch, 5, "NOT_COORDINATOR", "error_code"),
    (offset_fetch, 8, "NOT_COORDINATOR", "groups.error_code"),
    (offset_fetch, 8, "UNSTABLE_OFFSET_COMMIT", "groups.topics.partitions.error_code"),
    (find_coordinator, 3, "COORDINATOR_NOT_AVAILABLE", "error_code"),
    (find_coordinator, 4, "COORDINATOR_NOT_AVAILABLE", "coordinators.error_code"),
    (leave_group, 2, "UNKNOWN_MEMBER_ID", "error_code"),
    (leave_group, 4, "UNKNOWN_MEMBER_ID", "members.error_code"),
    (leave_group, 4, "NOT_COORDINATOR", "error_code"),
    (offset_delete, 0, "GROUP_SUBSCRIBED_TO_TOPIC", "topics.partitions.error_code"),
    (offset_delete, 0, "GROUP_ID_NOT_FOUND", "error_code"),
    (fetch, 4, "NOT_LEADER_OR_FOLLOWER", "responses.partitions.error_code"),
    (fetch, 12, "NOT_LEADER_OR_FOLLOWER", "responses.partitions.error_code"),
    (fetch, 12, "FETCH_SESSION_ID_NOT_FOUND", "error_code"),
    (produce, 9, "NOT_ENOUGH_REPLICAS", "responses.partition_responses.error_code"),
    (list_offsets, 7, "OFFSET_NOT_AVAILABLE", "topics.partitions.error_code"),
    (delete_topics, 5, "TOPIC_DELETION_DISABLED", "responses.error_code"),
    (delete_topics, 6, "TOPIC_DELETION_DISABLED", "responses.error_code"),
    (metadata, 13, "LEADER_NOT_AVAILABLE", "topics.error_code"),
    (metadata, 13, "REBOOTSTRAP_REQUIRED", "error_code"),
]


@pytest.mark.parametrize(("module", "version", "error", "place"), PLACES)
def test_where_it_stands(module, version, error, place):
    api = module.API
    answer = error_answer(api, version, some_request(api, version), ErrorCode[error])
    assert error_codes(crossed(api, version, answer)) == {place: ErrorCode[error]}


def test_each_element_is_about_what_was_asked():
    body = offset_fetch.OffsetFetchRequest(
        groups=(
            offset_fetch.OffsetFetchRequestGroup(
                "g", topics=(offset_fetch.OffsetFetchRequestTopics("t", partition_indexes=(3, 5)),)
            ),
        )
    )
    error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    (group,) = error_answer(offset_fetch.API, 8, body, error).groups
    (topic,) = group.topics
    assert (group.group_id, topic.name) == ("g", "t")
    told = [(p.partition_index, p.committed_offset, p.error_code) for p in topic.partitions]
    assert told == [(3, -1, error), (5, -1, error)]


def test_an_error_of_partitions_stands_on_top_if_none_were_named():
    body = offset_fetch.OffsetFetchRequest(group_id="g", topics=None)
    answer = error_answer(offset_fetch.API, 5, body, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    assert answer.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED


@pytest.mark.parametrize(("version", "protocol_name"), [(6, ""), (7, None)])
def test_what_a_failed_answer_says_besides(version, protocol_name):
    body = join_group.JoinGroupRequest("g", member_id="m", protocol_type="consumer")
    answer = error_answer(join_group.API, version, body, ErrorCode.UNKNOWN_MEMBER_ID)
    answer = crossed(join_group.API, version, answer)
    assert (answer.member_id, answer.generation_id) == ("m", -1)
    assert answer.protocol_name == protocol_name
