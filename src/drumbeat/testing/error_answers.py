"""The answer to any request that says nothing but an error, in the shape of its version.

Made from the declarations of the messages. An error stands at the outermost place that the version
has for it, as in Kafka, and the arrays of the request come back with what each element is about.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from drumbeat.protocol.api import Api
from drumbeat.protocol.apis import (
    delete_records,
    fetch,
    find_coordinator,
    init_producer_id,
    join_group,
    leave_group,
    metadata,
    offset_delete,
    offset_fetch,
    produce,
)
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.schema import Field, fields_in

_ERROR_CODES = frozenset({"error_code", "partition_error_code"})

# What an element of an array is about; everything else of the request is not repeated.
_IDENTITY = (
    "name",
    "topic",
    "topic_id",
    "partition_index",
    "partition",
    "group_id",
    "member_id",
    "group_instance_id",
    "key",
    "resource_type",
    "resource_name",
)
_ALIASES = {"partition_index": "partition"}  # Fetch asks with the one and answers with the other

# Under which names the array that an array of the answer goes back to may be found.
_COUNTERPARTS: Mapping[str, tuple[str, ...]] = {
    "coordinators": ("coordinator_keys",),
    "partition_responses": ("partition_data",),
    "partitions": ("partitions", "partition_indexes"),
    "responses": ("topics", "topic_data", "topic_names", "resources"),
    "results": ("groups_names", "topics", "resources"),
}

# What a failed answer says where the default is what a good one would.
_FAILED: Mapping[type[Any], Mapping[str, Any]] = {
    delete_records.DeleteRecordsPartitionResult: {"low_watermark": -1},
    fetch.PartitionData: {"high_watermark": -1, "records": b""},
    find_coordinator.Coordinator: {"node_id": -1, "port": -1},
    find_coordinator.FindCoordinatorResponse: {"node_id": -1, "port": -1},
    init_producer_id.InitProducerIdResponse: {"producer_epoch": -1},
    join_group.JoinGroupResponse: {"protocol_name": None},
    offset_fetch.OffsetFetchResponsePartition: {"committed_offset": -1},
    offset_fetch.OffsetFetchResponsePartitions: {"committed_offset": -1},
    produce.PartitionProduceResponse: {"base_offset": -1},
}

_ALL = frozenset(ErrorCode)
_OF_FETCH_SESSIONS = frozenset(
    {
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
    }
)
_OF_MEMBERS = frozenset({ErrorCode.FENCED_INSTANCE_ID, ErrorCode.UNKNOWN_MEMBER_ID})
_OF_PARTITIONS = frozenset(
    {
        ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNSTABLE_OFFSET_COMMIT,
    }
)

# Errors that are said further inside although the message has a place for them.
_INSIDE: Mapping[type[Any], frozenset[ErrorCode]] = {
    fetch.FetchResponse: _ALL - _OF_FETCH_SESSIONS,
    leave_group.LeaveGroupResponse: _OF_MEMBERS,
    metadata.MetadataResponse: _ALL - {ErrorCode.REBOOTSTRAP_REQUIRED},
    offset_delete.OffsetDeleteResponse: _OF_PARTITIONS,
    offset_fetch.OffsetFetchResponse: _OF_PARTITIONS,
    offset_fetch.OffsetFetchResponseGroup: _OF_PARTITIONS,
}


def error_answer(api: Api, version: int, body: Any, error_code: ErrorCode) -> Any:
    """What `version` of `api` answers to `body` if all of it fails with `error_code`."""
    return _ErrorAnswer(version, error_code).of(api.response, body)


class _ErrorAnswer:
    def __init__(self, version: int, error_code: ErrorCode) -> None:
        self._version = version
        self._error_code = error_code

    def of(self, message: type[Any], source: Any) -> Any:
        """A `message` with the error in it; `source` is the part of the request it is about."""
        fields = tuple(fields_in(message, self._version))
        values = self._plain_values(message, fields, source)
        said_here = self._error_values(fields)
        if said_here and self._error_code not in _INSIDE.get(message, ()):
            return message(**values, **said_here)
        arrays = {f.name: self._array(f, source) for f in fields if _is_array_of_structs(f)}
        if any(arrays.values()):
            return message(**values, **arrays)
        return message(**values, **said_here)

    def _plain_values(
        self, message: type[Any], fields: Iterable[Field], source: Any
    ) -> dict[str, Any]:
        values = {}
        failed = _FAILED.get(message, {})
        for field in fields:
            if field.name in _IDENTITY:
                value = _identity(source, field.name)
            elif field.name in failed:
                value = failed[field.name]
            else:
                continue
            if value is not None or field.may_be_null(self._version):
                values[field.name] = value
        return values

    def _error_values(self, fields: Iterable[Field]) -> dict[str, Any]:
        names = {field.name for field in fields}
        values: dict[str, Any] = dict.fromkeys(names & _ERROR_CODES, self._error_code)
        if values and "error_message" in names:
            values["error_message"] = f"{self._error_code.name}, as the test asked for"
        return values

    def _array(self, field: Field, source: Any) -> tuple[Any, ...]:
        element = field.type.element
        assert element is not None
        assert element.struct is not None
        return tuple(self.of(element.struct, item) for item in _counterpart(source, field.name))


def _is_array_of_structs(field: Field) -> bool:
    element = field.type.element
    return element is not None and element.struct is not None


def _counterpart(source: Any, name: str) -> tuple[Any, ...]:
    """The array of the request that array `name` of the answer goes back to."""
    for candidate in _COUNTERPARTS.get(name, (name,)):
        if found := getattr(source, candidate, None):
            return tuple(found)
    return ()


def _identity(source: Any, name: str) -> Any:
    if isinstance(source, str | int):  # an array of names, ids or indexes: it is what it is about
        return source
    return getattr(source, name, getattr(source, _ALIASES.get(name, name), None))
