"""One member of a classic group as it has joined, and the requests that wait for an answer."""

from __future__ import annotations

from typing import NamedTuple

from drumbeat.core.deadline_keys import DeadlineKey, DeadlineKind
from drumbeat.core.java_hash import java_hash
from drumbeat.protocol.apis.join_group import JoinGroupRequestProtocol


class ParkedRequest(NamedTuple):
    """A JoinGroup or SyncGroup that will be answered by a later decision."""

    request_id: int
    api_version: int


class JoinedMember(NamedTuple):
    """What a member said when it last joined: all its protocols, not only the chosen one."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: tuple[JoinGroupRequestProtocol, ...]
    # Derived once per join, because heartbeats and elections need them over and over.
    session_key: DeadlineKey
    id_hash: int

    def metadata(self, protocol_name: str | None) -> bytes:
        for protocol in self.protocols:
            if protocol.name == protocol_name:
                return protocol.metadata
        return b""


def session_key(group_id: str, member_id: str) -> DeadlineKey:
    return DeadlineKey(DeadlineKind.SESSION, group_id, member_id)


def id_hash(member_id: str) -> int:
    return java_hash(member_id)
