"""One member of a classic group: from a response it makes the next request.

All members of a group send the same but for their ids, so a request is encoded once and each
member puts its own id in: what is measured is the server, not how fast members encode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum, auto
from functools import partial
from typing import Any

from drumbeat.protocol.api import Api
from drumbeat.protocol.apis import heartbeat, join_group, sync_group
from drumbeat.protocol.apis.heartbeat import HeartbeatRequest
from drumbeat.protocol.apis.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from drumbeat.protocol.apis.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.header import read_response_header
from support.wire import request_frame

# The longest that both servers allow: nobody is to be timed out while others are measured.
SESSION_TIMEOUT_MS = 1_800_000
PROTOCOL_TYPE, PROTOCOL = "consumer", "range"
SUBSCRIPTION = b"\0\x01\0\0\0\x01\0\x05bench\xff\xff\xff\xff\0\0\0\0"
ASSIGNMENT = b"\0\x01\0\0\0\x01\0\x05bench\0\0\0\x01\0\0\0\0\xff\xff\xff\xff"


# Stands where an id of the usual length goes: the client's id, a dash and a UUID.
_ANY_ID = "wire-########-####-####-####-############"


class Phase(Enum):
    JOINING = auto()
    SYNCING = auto()
    SETTLED = auto()
    ASKING = auto()  # whether its generation still holds


# What the next response to a member answers.
ASKED: dict[Phase, tuple[Api, int]] = {
    Phase.JOINING: (join_group.API, 9),
    Phase.SYNCING: (sync_group.API, 5),
    Phase.ASKING: (heartbeat.API, 4),
}


class RefusedError(Exception):
    """The coordinator gave an answer that no member of a running benchmark should get."""

    def __init__(self, phase: Phase, error_code: ErrorCode) -> None:
        super().__init__(f"{phase.name}: {error_code.name}")
        self.error_code = error_code


class Member:
    """`size` is the number of members in its generation; only the leader is told."""

    def __init__(self, group_id: str, templates: dict[object, bytes] | None = None) -> None:
        self.group_id = group_id
        self._templates = {} if templates is None else templates  # of all members of the group
        self.member_id = ""
        self.generation_id = -1
        self.size: int | None = None
        self.phase = Phase.JOINING

    def join(self) -> bytes:
        self.size = None
        return self._ask(Phase.JOINING, self._join_request)

    def ask(self) -> bytes:
        return self._ask(Phase.ASKING, partial(HeartbeatRequest, self.group_id, self.generation_id))

    def answer(self, frame: bytes) -> bytes | None:
        """The next request, if there is one."""
        api, version = ASKED[self.phase]
        _, position = read_response_header(frame, api.response_header_version(version))
        response = api.decode_response(version)(frame, position)
        follow: Callable[[Member, Any], bytes | None] = _NEXT[
            self.phase, ErrorCode(response.error_code)
        ]
        return follow(self, response)

    def _ask(self, phase: Phase, request: Callable[[str], Any]) -> bytes:
        self.phase = phase
        api, version = ASKED[phase]
        any_id = _ANY_ID if len(self.member_id) == len(_ANY_ID) else self.member_id
        key = (phase, self.generation_id, any_id)
        template = self._templates.get(key)
        if template is None:
            template = self._templates[key] = request_frame(api, version, request(any_id))
        return template.replace(_ANY_ID.encode(), self.member_id.encode())

    def _join_request(self, member_id: str) -> JoinGroupRequest:
        return JoinGroupRequest(
            group_id=self.group_id,
            session_timeout_ms=SESSION_TIMEOUT_MS,
            rebalance_timeout_ms=SESSION_TIMEOUT_MS,
            member_id=member_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=(JoinGroupRequestProtocol(PROTOCOL, SUBSCRIPTION),),
        )

    def _sync_request(self, member_id: str, assigned: Iterable[str] = ()) -> SyncGroupRequest:
        return SyncGroupRequest(
            group_id=self.group_id,
            generation_id=self.generation_id,
            member_id=member_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=PROTOCOL,
            assignments=tuple(SyncGroupRequestAssignment(each, ASSIGNMENT) for each in assigned),
        )

    def on_joined(self, response: join_group.JoinGroupResponse) -> bytes:
        self.generation_id = response.generation_id
        self.size = len(response.members) or None
        if self.size is None:
            return self._ask(Phase.SYNCING, self._sync_request)
        self.phase = Phase.SYNCING
        members = (member.member_id for member in response.members)
        return request_frame(*ASKED[self.phase], self._sync_request(self.member_id, members))

    def on_named(self, response: join_group.JoinGroupResponse) -> bytes:
        self.member_id = response.member_id
        return self.join()

    def on_settled(self, _response: object) -> None:
        self.phase = Phase.SETTLED

    def on_rebalance(self, _response: object) -> bytes:
        return self.join()


class _Next(dict[tuple[Phase, ErrorCode], Any]):
    def __missing__(self, key: tuple[Phase, ErrorCode]) -> Any:
        raise RefusedError(*key)


_NEXT = _Next(
    {
        (Phase.JOINING, ErrorCode.MEMBER_ID_REQUIRED): Member.on_named,
        (Phase.JOINING, ErrorCode.NONE): Member.on_joined,
        (Phase.SYNCING, ErrorCode.NONE): Member.on_settled,
        (Phase.SYNCING, ErrorCode.REBALANCE_IN_PROGRESS): Member.on_rebalance,
        (Phase.ASKING, ErrorCode.NONE): Member.on_settled,
        (Phase.ASKING, ErrorCode.REBALANCE_IN_PROGRESS): Member.on_rebalance,
    }
)
