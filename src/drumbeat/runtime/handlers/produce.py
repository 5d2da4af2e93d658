"""Produce: validate, append, answer once everything the request appended is synced."""

from typing import Final, NamedTuple, TypeAlias

from drumbeat.log.errors import BatchTooLarge, LogError
from drumbeat.protocol.apis.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from drumbeat.protocol.errors import ErrorCode, ProtocolError
from drumbeat.protocol.record_batch import BatchHeader
from drumbeat.runtime.broker import Broker
from drumbeat.runtime.entropy import uuid_text
from drumbeat.runtime.handlers.named_once import named_once
from drumbeat.runtime.handlers.opening import when_open
from drumbeat.runtime.partition import Partition
from drumbeat.runtime.record_validation import (
    RefusedBatch,
    check_request,
    is_transactional,
    validate,
)
from drumbeat.runtime.requests import NO_RESPONSE, Deferred, Request
from drumbeat.runtime.topic_names import NAME_LENGTH_MAX
from drumbeat.runtime.topics import Topic

NO_ACKS: Final = 0
LEADER_ACK: Final = 1
ALL_ACKS: Final = -1
IDS_SINCE: Final = 13
WITHOUT_LOG_START = (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.CORRUPT_MESSAGE)
ADMIN_CLIENT_ID: Final = "__admin_client"  # Kafka lets this client id alone write internal topics


class Appended(NamedTuple):
    """One partition's answer, and what has to be synced before it is true."""

    response: PartitionProduceResponse
    partition: Partition | None = None
    wait_for_offset: int = -1


_TRANSACTIONAL: Final = RefusedBatch(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "")
_Target: TypeAlias = tuple[Topic | None, int, Partition | None]  # None: unknown, or not open
_new: Final = tuple.__new__  # a NamedTuple's constructor takes longer
# What every answer is made of; in compiled code a global that is not Final is looked up each time.
_Appended: Final = Appended
_PartitionResponse: Final = PartitionProduceResponse
_TopicResponse: Final = TopicProduceResponse
_Response: Final = ProduceResponse
_NONE: Final = ErrorCode.NONE
_NO_LEADER: Final = LeaderIdAndEpoch()


def handle(broker: Broker, request: Request, body: ProduceRequest) -> object:
    topics = named_once(body.topic_data)
    if topics is not body.topic_data:
        body = body._replace(topic_data=topics)
    if refusal := _refusal_of_all(body):
        return _refuse_all(body, refusal)
    targets = _targets(broker, body)
    if unopened := _unopened(targets):
        return when_open(
            broker, unopened, lambda: _append_all(broker, request, body, _targets(broker, body))
        )
    return _append_all(broker, request, body, targets)


def _refusal_of_all(body: ProduceRequest) -> RefusedBatch | None:
    """What Kafka looks at before it knows which topics there are."""
    try:
        is_refused = body.transactional_id is not None or any(
            is_transactional(data.records)
            for topic in body.topic_data
            for data in topic.partition_data
        )
    except RefusedBatch as problem:
        return problem
    return _TRANSACTIONAL if is_refused else None


def _targets(broker: Broker, body: ProduceRequest) -> list[list[_Target]]:
    return [_targets_of(broker, asked) for asked in body.topic_data]


def _targets_of(broker: Broker, asked: TopicProduceData) -> list[_Target]:
    topic = broker.find_topic(asked.name, asked.topic_id)
    if topic is None:
        return [(None, data.partition_index, None) for data in asked.partition_data]
    get, name = broker.partitions.get, topic.name
    return [(topic, index, get(name, index)) for index, _ in asked.partition_data]


def _unopened(targets: list[list[_Target]]) -> list[tuple[Topic, int]]:
    return [
        (topic, index)
        for of_topic in targets
        for topic, index, partition in of_topic
        if partition is None and topic is not None and 0 <= index < topic.partition_count
    ]


def _append_all(
    broker: Broker, request: Request, body: ProduceRequest, targets: list[list[_Target]]
) -> object:
    acks, now_ms = body.acks, broker.clock.now_ms()
    appended = [
        [
            _append(request, target, data.records, acks, now_ms)
            for target, data in zip(of_topic, asked.partition_data, strict=True)
        ]
        for of_topic, asked in zip(targets, body.topic_data, strict=True)
    ]
    if acks == NO_ACKS:
        return _without_response(body, appended)
    return _Answer(body, appended).when_synced()


def _append(
    request: Request, target: _Target, records: bytes | None, acks: int, now_ms: int
) -> Appended:
    topic, index, partition = target
    if topic is None:
        return _refused(index, _unknown(request))
    if not 0 <= index < topic.partition_count:
        return _refused(index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    try:
        header = check_request(records, request.api_version)
    except RefusedBatch as problem:
        return _refused(index, problem.error_code, str(problem))
    if acks not in (NO_ACKS, LEADER_ACK, ALL_ACKS):
        return _refused(index, ErrorCode.INVALID_REQUIRED_ACKS)
    if topic.is_internal and request.client_id != ADMIN_CLIENT_ID:
        return _refused(index, ErrorCode.INVALID_TOPIC_EXCEPTION)
    if partition is None:
        return _refused(index, ErrorCode.KAFKA_STORAGE_ERROR)
    batch = records or b""
    if header.size < len(batch):
        batch = batch[: header.size]  # what is cut off behind it is dropped
    return _append_to(partition, index, batch, header, now_ms)


def _append_to(
    partition: Partition, index: int, records: bytes, header: BatchHeader, now_ms: int
) -> Appended:
    try:
        appended = partition.append(validate(records, header, partition.config, now_ms))
    except RefusedBatch as problem:
        return _refused_by_log(partition, index, problem)
    except BatchTooLarge as problem:
        return _refused(index, ErrorCode.MESSAGE_TOO_LARGE, str(problem))
    except LogError as problem:
        return _refused(index, ErrorCode.KAFKA_STORAGE_ERROR, str(problem))
    base_offset, end_offset, append_time_ms = appended
    start_offset = partition.log.start_offset
    # What the answer has for errors is empty: of records, a message, a leader.
    fields = (index, _NONE, base_offset, append_time_ms, start_offset, (), None, _NO_LEADER)
    return _new(_Appended, (_new(_PartitionResponse, fields), partition, end_offset))


def _unknown(request: Request) -> ErrorCode:
    by_id = request.api_version >= IDS_SINCE
    return ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _refused(index: int, error_code: ErrorCode, message: str | None = None) -> Appended:
    return Appended(
        PartitionProduceResponse(
            partition_index=index, error_code=error_code, base_offset=-1, error_message=message
        )
    )


def _refused_by_log(partition: Partition, index: int, problem: RefusedBatch) -> Appended:
    """With the log's start, from which a producer can tell whether its records were deleted."""
    refused = _refused(index, problem.error_code, str(problem)).response
    if problem.error_code in WITHOUT_LOG_START:
        return Appended(refused)
    return Appended(
        refused._replace(
            log_start_offset=partition.log.start_offset,
            record_errors=tuple(
                BatchIndexAndErrorMessage(*error) for error in problem.record_errors
            ),
        )
    )


def _without_response(body: ProduceRequest, appended: list[list[Appended]]) -> object:
    """Close the connection if anything was refused: the only way to tell, and Kafka's."""
    refused = []
    for topic, answers in zip(body.topic_data, appended, strict=True):
        for one in answers:
            if one.partition is not None:
                one.partition.log.request_sync()
            else:
                refused.append((topic.name or uuid_text(topic.topic_id), one.response))
    if refused:
        name, response = refused[0]
        raise ProtocolError(
            f"Produce with acks=0 to {name[:NAME_LENGTH_MAX]!r}, partition "
            f"{response.partition_index}: {ErrorCode(response.error_code).name}"
        )
    return NO_RESPONSE


def _refuse_all(body: ProduceRequest, refusal: RefusedBatch) -> object:
    error_code, message = refusal.error_code, str(refusal) or None
    refused = [
        [_refused(data.partition_index, error_code, message) for data in topic.partition_data]
        for topic in body.topic_data
    ]
    if body.acks == NO_ACKS:
        return _without_response(body, refused)
    return _Answer(body, refused).response()


class _Answer:
    """Collects the partitions' syncs into one response."""

    def __init__(self, body: ProduceRequest, appended: list[list[Appended]]) -> None:
        self._body = body
        self._appended = appended
        self._waiting = 0
        self._deferred = Deferred(mutes=False)

    def when_synced(self) -> object:
        self._waiting = 1  # this loop itself: nothing is answered before all have been asked
        for topic in self._appended:
            for place, one in enumerate(topic):
                if one.partition is not None:
                    self._waiting += 1
                    one.partition.when_synced(one.wait_for_offset, _Synced(self, topic, place))
        self._waiting -= 1
        return self.response() if not self._waiting else self._deferred

    def synced(self, problem: Exception | None, topic: list[Appended], place: int) -> None:
        if problem is not None:
            index = topic[place].response.partition_index
            topic[place] = _refused(index, ErrorCode.KAFKA_STORAGE_ERROR, str(problem))
        self._waiting -= 1
        if not self._waiting:
            self._deferred.resolve(self.response())

    def response(self) -> ProduceResponse:
        responses = []
        for asked, topic in zip(self._body.topic_data, self._appended, strict=True):
            answers = tuple([one.response for one in topic])
            responses.append(_new(_TopicResponse, (asked.name, asked.topic_id, answers)))
        return _new(_Response, (tuple(responses), 0, ()))


class _Synced:
    """Tells an answer of one of its partitions."""

    __slots__ = ("_answer", "_place", "_topic")

    def __init__(self, answer: _Answer, topic: list[Appended], place: int) -> None:
        self._answer = answer
        self._topic = topic
        self._place = place

    def __call__(self, problem: Exception | None) -> None:
        self._answer.synced(problem, self._topic, self._place)
