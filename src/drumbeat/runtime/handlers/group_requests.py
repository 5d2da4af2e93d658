"""Group APIs: to the shard of the group, or of each group, that the request is about.

What they mean is in `drumbeat.core.handlers`; a request about several groups is taken apart here
and its answers are put together again.
"""

from collections.abc import Callable, Sequence
from typing import Any

from drumbeat.protocol.apis.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from drumbeat.protocol.apis.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from drumbeat.protocol.apis.list_groups import ListGroupsRequest, ListGroupsResponse
from drumbeat.protocol.apis.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from drumbeat.protocol.errors import ErrorCode
from drumbeat.runtime.broker import Broker
from drumbeat.runtime.requests import Deferred, Request

SEVERAL_GROUPS_SINCE = 8  # OffsetFetch


def one_group(broker: Broker, request: Request, body: Any) -> Any:
    return broker.groups.submit(request, body, body.group_id)


def offset_fetch(broker: Broker, request: Request, body: OffsetFetchRequest) -> Any:
    if request.api_version < SEVERAL_GROUPS_SINCE:
        return broker.groups.submit(request, body, body.group_id)
    if len(body.groups) == 1:
        return broker.groups.submit(request, body, body.groups[0].group_id)
    parts = [
        broker.groups.submit(request, body._replace(groups=(group,)), group.group_id)
        for group in body.groups
    ]
    return gather(parts, lambda answers: OffsetFetchResponse(groups=_joined(answers, "groups")))


def describe_groups(broker: Broker, request: Request, body: DescribeGroupsRequest) -> Any:
    parts = [
        broker.groups.submit(request, body._replace(groups=(group_id,)), group_id)
        for group_id in body.groups
    ]
    return gather(parts, lambda answers: DescribeGroupsResponse(groups=_joined(answers, "groups")))


def delete_groups(broker: Broker, request: Request, body: DeleteGroupsRequest) -> Any:
    parts = [
        broker.groups.submit(request, DeleteGroupsRequest((group_id,)), group_id)
        for group_id in dict.fromkeys(body.groups_names)
    ]
    return gather(parts, lambda answers: DeleteGroupsResponse(results=_joined(answers, "results")))


def list_groups(broker: Broker, request: Request, body: ListGroupsRequest) -> Any:
    if broker.groups.is_loading:
        return ListGroupsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    parts = [shard.submit(request, body) for shard in broker.groups.active_shards()]
    return gather(parts, lambda answers: ListGroupsResponse(groups=_joined(answers, "groups")))


def _joined(answers: Sequence[Any], field: str) -> tuple[Any, ...]:
    return tuple(item for answer in answers for item in getattr(answer, field))


def gather(parts: Sequence[Any], combine: Callable[[Sequence[Any]], Any]) -> Any:
    """The combined response, now or once every part that is a Deferred has settled."""
    answers = list(parts)
    pending = [place for place, part in enumerate(parts) if isinstance(part, Deferred)]
    if not pending:
        return combine(answers)
    combined = Deferred(mutes=True)
    left = len(pending)

    def settle(place: int, response: Any, problem: Exception | None) -> None:
        nonlocal left
        if combined.is_settled:
            return
        if problem is not None:
            combined.fail(problem)
            return
        answers[place] = response
        left -= 1
        if not left:
            combined.resolve(combine(answers))

    for place in pending:
        answers[place].when_settled(
            lambda response, problem, place=place: settle(place, response, problem)
        )
    return combined
