"""What the clients raise. Every error that has a Kafka error code is a KafkaError.

A class of its own exists where users catch it by name; all others are plain KafkaErrors with their
code. `error_for` is the one way from a code in a response to an exception.
"""

from __future__ import annotations

from typing import ClassVar, Final, Self

from drumbeat.protocol.errors import ErrorCode

# As Kafka's client has it: the exceptions that extend RetriableException.
RETRIABLE: Final = frozenset(
    {
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.LISTENER_NOT_FOUND,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
        ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
        ErrorCode.ELECTION_NOT_NEEDED,
        ErrorCode.UNSTABLE_OFFSET_COMMIT,
        ErrorCode.THROTTLING_QUOTA_EXCEEDED,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
    }
)


class DrumbeatError(Exception):
    """The parent of everything that the clients raise on purpose."""


class ConfigError(DrumbeatError, ValueError):
    """A configuration key that does not exist, or a value that it does not take."""


class IllegalStateError(DrumbeatError):
    """A call that does not fit what the client is doing; the message says what to do instead."""


class ConsumerClosedError(IllegalStateError):
    """The consumer was closed; make a new one."""


class ProducerClosedError(IllegalStateError):
    """The producer was closed; make a new one."""


class WakeupError(DrumbeatError):
    """`wakeup()` was called while, or before, the consumer waited. The consumer stays usable."""


class SerializationError(DrumbeatError):
    """A serialiser or deserialiser raised; the cause is attached."""


class NoBrokersAvailable(DrumbeatError):  # noqa: N818 - what happened, as kafka-python calls it
    """No bootstrap server answered; the message names each address and why."""


class KafkaError(DrumbeatError):
    """An error with a Kafka error code: a broker's answer, or what the network did."""

    def __init__(self, code: int, message: str | None = None) -> None:
        self.code: ErrorCode = known_code(code)
        self.message = message or ADVICE.get(self.code) or "the broker gave no details"
        super().__init__(code, message)

    def __str__(self) -> str:
        return f"{self.code.name} ({int(self.code)}): {self.message}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"

    @property
    def retriable(self) -> bool:
        """Whether the same request may succeed if it is sent again."""
        return self.code in RETRIABLE

    def saying(self, message: str) -> Self:
        """The same error in other words, for who knows more of what was being done."""
        # Not by calling the class: those made elsewhere take other arguments.
        other = type(self).__new__(type(self), *self.args)
        other.__dict__.update(self.__dict__, message=message)
        return other


class NamedKafkaError(KafkaError):
    """A KafkaError whose class says the code."""

    CODE: ClassVar[ErrorCode] = ErrorCode.UNKNOWN_SERVER_ERROR

    def __init__(self, message: str | None = None) -> None:
        super().__init__(self.CODE, message)
        self.args = (message,)


class NodeDisconnected(NamedKafkaError):  # noqa: N818 - what happened
    """A connection that could not be made, or was lost before the answer came."""

    CODE = ErrorCode.NETWORK_EXCEPTION


class RequestTimedOut(NamedKafkaError):  # noqa: N818 - what happened
    """No answer within the request's timeout, ours or the broker's."""

    CODE = ErrorCode.REQUEST_TIMED_OUT


class UnsupportedVersionError(NamedKafkaError):
    """The broker does not speak a version of the request that this client speaks."""

    CODE = ErrorCode.UNSUPPORTED_VERSION


class UnknownTopicOrPartitionError(NamedKafkaError):
    CODE = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class InvalidTopicError(NamedKafkaError):
    CODE = ErrorCode.INVALID_TOPIC_EXCEPTION


class TopicAuthorizationError(NamedKafkaError):
    CODE = ErrorCode.TOPIC_AUTHORIZATION_FAILED


class GroupAuthorizationError(NamedKafkaError):
    CODE = ErrorCode.GROUP_AUTHORIZATION_FAILED


class TopicExistsError(NamedKafkaError):
    CODE = ErrorCode.TOPIC_ALREADY_EXISTS


class GroupIdNotFoundError(NamedKafkaError):
    CODE = ErrorCode.GROUP_ID_NOT_FOUND


class GroupNotEmptyError(NamedKafkaError):
    CODE = ErrorCode.NON_EMPTY_GROUP


class OffsetOutOfRangeError(NamedKafkaError):
    CODE = ErrorCode.OFFSET_OUT_OF_RANGE


class NoOffsetForPartitionError(NamedKafkaError):
    """No committed offset, and auto_offset_reset says not to choose one."""

    CODE = ErrorCode.OFFSET_OUT_OF_RANGE


class CorruptRecordError(NamedKafkaError):
    """A batch whose checksum or structure is wrong."""

    CODE = ErrorCode.CORRUPT_MESSAGE


class RecordTooLargeError(NamedKafkaError):
    CODE = ErrorCode.MESSAGE_TOO_LARGE


class RebalanceInProgressError(NamedKafkaError):
    CODE = ErrorCode.REBALANCE_IN_PROGRESS


class FencedInstanceIdError(NamedKafkaError):
    CODE = ErrorCode.FENCED_INSTANCE_ID


class UnknownMemberIdError(NamedKafkaError):
    CODE = ErrorCode.UNKNOWN_MEMBER_ID


class IllegalGenerationError(NamedKafkaError):
    CODE = ErrorCode.ILLEGAL_GENERATION


class OutOfOrderSequenceError(NamedKafkaError):
    CODE = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


class ProducerFencedError(NamedKafkaError):
    CODE = ErrorCode.PRODUCER_FENCED


class CommitFailedError(NamedKafkaError):
    """The group has gone on without this member: its partitions may belong to others by now."""

    CODE = ErrorCode.UNKNOWN_MEMBER_ID

    DEFAULT_MESSAGE: ClassVar[str] = (
        "the commit was refused because the group has rebalanced and gave this consumer's "
        "partitions to others. Usually the time between two calls of poll() was longer than "
        "max_poll_interval_ms, because processing took long: raise max_poll_interval_ms, or have "
        "poll() return fewer records with max_poll_records. Call poll() to join again"
    )

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or self.DEFAULT_MESSAGE)


# What to do, for the codes that need more than their name.
ADVICE: Final[dict[ErrorCode, str]] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: (
        "the topic or partition does not exist: create it first, or check its name"
    ),
    ErrorCode.INVALID_TOPIC_EXCEPTION: (
        "the topic name is not allowed: use at most 249 of the characters a-z A-Z 0-9 . _ -"
    ),
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "this client may not use the topic: ask for an ACL",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "this client may not use the group: ask for an ACL",
    ErrorCode.FENCED_INSTANCE_ID: (
        "another consumer joined with the same group_instance_id: give each consumer its own"
    ),
    ErrorCode.INCONSISTENT_GROUP_PROTOCOL: (
        "the members of the group share no assignor: check partition_assignment_strategy, and that "
        "all members of the group are consumers"
    ),
    ErrorCode.INVALID_SESSION_TIMEOUT: (
        "session_timeout_ms is outside the broker's group.min.session.timeout.ms and "
        "group.max.session.timeout.ms"
    ),
    ErrorCode.INVALID_GROUP_ID: "group_id must not be empty",
    ErrorCode.GROUP_MAX_SIZE_REACHED: "the group has group.max.size members already",
    ErrorCode.REBALANCE_IN_PROGRESS: (
        "the group is rebalancing: call poll() to take part, then commit again"
    ),
    ErrorCode.MESSAGE_TOO_LARGE: (
        "the record is larger than the topic takes: raise max.message.bytes of the topic"
    ),
    ErrorCode.OFFSET_METADATA_TOO_LARGE: (
        "the commit's metadata is longer than the broker's offset.metadata.max.bytes"
    ),
    ErrorCode.NON_EMPTY_GROUP: "the group has members: stop its consumers first",
    ErrorCode.UNKNOWN_MEMBER_ID: "the group does not know this member (any more)",
    ErrorCode.ILLEGAL_GENERATION: "the group has moved on to another generation",
    ErrorCode.LEADER_NOT_AVAILABLE: (
        "the partition has no leader at the moment: are all brokers with a replica of it up?"
    ),
    ErrorCode.COORDINATOR_NOT_AVAILABLE: (
        "the coordinator is not available at the moment: are all brokers up?"
    ),
    ErrorCode.NOT_COORDINATOR: "the broker does not coordinate the group (any more)",
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: "the coordinator is loading the group's state",
    ErrorCode.NETWORK_EXCEPTION: "the connection to the broker was lost",
    ErrorCode.REQUEST_TIMED_OUT: "no answer in time",
}

_CLASSES: Final[dict[ErrorCode, type[NamedKafkaError]]] = {
    named.CODE: named
    for named in (
        NodeDisconnected,
        RequestTimedOut,
        UnsupportedVersionError,
        UnknownTopicOrPartitionError,
        InvalidTopicError,
        TopicAuthorizationError,
        GroupAuthorizationError,
        TopicExistsError,
        GroupIdNotFoundError,
        GroupNotEmptyError,
        OffsetOutOfRangeError,
        CorruptRecordError,
        RecordTooLargeError,
        RebalanceInProgressError,
        FencedInstanceIdError,
        UnknownMemberIdError,
        IllegalGenerationError,
        OutOfOrderSequenceError,
        ProducerFencedError,
    )
}


def known_code(code: int) -> ErrorCode:
    """The code, or UNKNOWN_SERVER_ERROR for one that a newer broker made up."""
    try:
        return ErrorCode(code)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR


def error_for(code: int, message: str | None = None) -> KafkaError:
    """The exception for an error code of a response, with the broker's words if it has some."""
    if code not in ErrorCode.__members__.values():
        message = f"error code {code}, which this client does not know; {message or 'no details'}"
    named = _CLASSES.get(known_code(code))
    return named(message) if named is not None else KafkaError(code, message)
