"""One member of a classic group as it has joined, and the requests that wait for an answer."""

from __future__ import annotations

from typing import Final, NamedTuple

from drumbeat.core.deadline_keys import DeadlineKey, DeadlineKind
from drumbeat.core.records import MemberMetadata
from drumbeat.protocol.apis.join_group import JoinGroupRequestProtocol
from drumbeat.protocol.java_hash import java_hash

_new: Final = tuple.__new__  # constructors take longer
_SESSION: Final = DeadlineKind.SESSION


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
    # Derived once, because every heartbeat needs the one and every election the other.
    session_key: DeadlineKey
    id_hash: int

    def metadata(self, protocol_name: str | None) -> bytes:
        """What the member said under the chosen protocol, which every member knows."""
        for name, metadata in self.protocols:
            if name == protocol_name:
                return metadata
        raise KeyError(protocol_name)


def session_key(group_id: str, member_id: str) -> DeadlineKey:
    return _new(DeadlineKey, (_SESSION, group_id, member_id))


def restored_member(group_id: str, metadata: MemberMetadata, protocol_name: str) -> JoinedMember:
    """A member as the log knows it: with the one protocol that was chosen."""
    return JoinedMember(
        member_id=metadata.member_id,
        group_instance_id=metadata.group_instance_id,
        client_id=metadata.client_id,
        client_host=metadata.client_host,
        session_timeout_ms=metadata.session_timeout_ms,
        rebalance_timeout_ms=metadata.rebalance_timeout_ms,
        protocols=(JoinGroupRequestProtocol(protocol_name, metadata.subscription),),
        session_key=session_key(group_id, metadata.member_id),
        id_hash=java_hash(metadata.member_id),
    )
