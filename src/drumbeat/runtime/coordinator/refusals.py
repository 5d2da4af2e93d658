"""What a group API answers when its shard cannot: still loading, not here, or its log failed."""

from collections.abc import Callable
from typing import Any

from drumbeat.core.classic.replies import join_error, sync_error
from drumbeat.protocol.apis import (
    delete_groups,
    describe_groups,
    heartbeat,
    join_group,
    leave_group,
    list_groups,
    offset_commit,
    offset_delete,
    offset_fetch,
    sync_group,
)
from drumbeat.protocol.errors import ErrorCode
from drumbeat.runtime.requests import Request

_LOADING = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
PER_GROUP_ERRORS_SINCE = 8
TOP_LEVEL_ERRORS_SINCE = 2


def refuse(request: Request, body: Any, error_code: ErrorCode) -> Any:
    """The answer to `body` that says `error_code`, in the shape its API has for that."""
    return _REFUSALS[type(body)](request, body, error_code)


def _heartbeat(_request: Request, _body: Any, error_code: ErrorCode) -> Any:
    # Members go on while their coordinator loads; there is nothing they could do about it.
    return heartbeat.HeartbeatResponse(
        error_code=ErrorCode.NONE if error_code is _LOADING else error_code
    )


def _sync_group(_request: Request, _body: Any, error_code: ErrorCode) -> Any:
    # The Java consumer does not survive LOAD_IN_PROGRESS here; brokers before 4.0 softened it
    # in the same way.
    return sync_error(ErrorCode.REBALANCE_IN_PROGRESS if error_code is _LOADING else error_code)


def _offset_commit(_request: Request, body: Any, error_code: ErrorCode) -> Any:
    return offset_commit.OffsetCommitResponse(
        topics=tuple(
            offset_commit.OffsetCommitResponseTopic(
                topic.name,
                topic.topic_id,
                tuple(
                    offset_commit.OffsetCommitResponsePartition(p.partition_index, error_code)
                    for p in topic.partitions
                ),
            )
            for topic in body.topics
        )
    )


def _offset_fetch(request: Request, body: Any, error_code: ErrorCode) -> Any:
    if request.api_version >= PER_GROUP_ERRORS_SINCE:
        groups = tuple(
            offset_fetch.OffsetFetchResponseGroup(group_id=group.group_id, error_code=error_code)
            for group in body.groups
        )
        return offset_fetch.OffsetFetchResponse(groups=groups)
    if request.api_version >= TOP_LEVEL_ERRORS_SINCE:
        return offset_fetch.OffsetFetchResponse(error_code=error_code)
    return offset_fetch.OffsetFetchResponse(
        topics=tuple(
            offset_fetch.OffsetFetchResponseTopic(
                name=topic.name,
                partitions=tuple(
                    offset_fetch.OffsetFetchResponsePartition(
                        partition_index=index, committed_offset=-1, error_code=error_code
                    )
                    for index in topic.partition_indexes
                ),
            )
            for topic in body.topics or ()
        )
    )


def _describe_groups(_request: Request, body: Any, error_code: ErrorCode) -> Any:
    return describe_groups.DescribeGroupsResponse(
        groups=tuple(
            describe_groups.DescribedGroup(error_code=error_code, group_id=group_id)
            for group_id in body.groups
        )
    )


def _delete_groups(_request: Request, body: Any, error_code: ErrorCode) -> Any:
    return delete_groups.DeleteGroupsResponse(
        results=tuple(
            delete_groups.DeletableGroupResult(group_id=group_id, error_code=error_code)
            for group_id in body.groups_names
        )
    )


def _join_group(request: Request, body: Any, error_code: ErrorCode) -> Any:
    return join_error(request.api_version, error_code, body.member_id)


def _leave_group(_request: Request, _body: Any, error_code: ErrorCode) -> Any:
    return leave_group.LeaveGroupResponse(error_code=error_code)


def _offset_delete(_request: Request, _body: Any, error_code: ErrorCode) -> Any:
    return offset_delete.OffsetDeleteResponse(error_code=error_code)


def _list_groups(_request: Request, _body: Any, error_code: ErrorCode) -> Any:
    return list_groups.ListGroupsResponse(error_code=error_code)


_REFUSALS: dict[type[Any], Callable[[Request, Any, ErrorCode], Any]] = {
    join_group.JoinGroupRequest: _join_group,
    sync_group.SyncGroupRequest: _sync_group,
    heartbeat.HeartbeatRequest: _heartbeat,
    leave_group.LeaveGroupRequest: _leave_group,
    offset_commit.OffsetCommitRequest: _offset_commit,
    offset_fetch.OffsetFetchRequest: _offset_fetch,
    offset_delete.OffsetDeleteRequest: _offset_delete,
    describe_groups.DescribeGroupsRequest: _describe_groups,
    list_groups.ListGroupsRequest: _list_groups,
    delete_groups.DeleteGroupsRequest: _delete_groups,
}
