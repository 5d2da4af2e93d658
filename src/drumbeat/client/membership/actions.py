"""What the membership asks its caller to do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from drumbeat.client.errors import KafkaError
from drumbeat.client.membership.values import Coordinator
from drumbeat.client.values import TopicPartition
from drumbeat.protocol.api import Api

Partitions = tuple[TopicPartition, ...]


class CallbackKind(Enum):
    COMMIT_BEFORE_JOIN = "commit_before_join"
    REVOKED = "revoked"
    LOST = "lost"
    ASSIGNED = "assigned"

    @property
    def is_listener(self) -> bool:
        return self is not CallbackKind.COMMIT_BEFORE_JOIN


@dataclass(frozen=True, slots=True, kw_only=True)
class SendRequest:
    id: int
    api: Api
    request: Any
    destination: Coordinator | None  # None: the least loaded broker
    timeout_ms: int | None = None  # None: request_timeout_ms
    versions: range | None = None  # None: all that both sides speak


@dataclass(frozen=True, slots=True, kw_only=True)
class Callback:
    id: int
    kind: CallbackKind
    partitions: Partitions


@dataclass(frozen=True, slots=True, kw_only=True)
class Connect:
    coordinator: Coordinator


@dataclass(frozen=True, slots=True, kw_only=True)
class Disconnect:
    coordinator: Coordinator
    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkPendingRevocation:
    partitions: Partitions


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentChanged:
    partitions: Partitions
    added: Partitions = ()
    removed: Partitions = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshMetadata:
    id: int
    topics: frozenset[str] | None  # None: all of the cluster


@dataclass(frozen=True, slots=True, kw_only=True)
class Raise:
    error: Exception


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    error: Exception | None = None  # what the last callback raised
    refusal: KafkaError | None = None  # why LeaveGroup failed: the session will have to run out


Action = (
    SendRequest
    | Callback
    | Connect
    | Disconnect
    | MarkPendingRevocation
    | AssignmentChanged
    | RefreshMetadata
    | Raise
    | Left
)
