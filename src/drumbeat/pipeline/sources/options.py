"""Options of the data source `drumbeat`, by the names that Spark's own Kafka source has for them.

What starts with `kafka.` is configuration of the client. An option that does not exist is an error:
what somebody wanted with it would silently not happen.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final

from drumbeat.client.config.consumer import ConsumerConfig
from drumbeat.client.config.options import Config
from drumbeat.client.config.producer import ProducerConfig
from drumbeat.client.errors import ConfigError
from drumbeat.pipeline.errors import SourceError
from drumbeat.pipeline.sources.brokers import Brokers
from drumbeat.pipeline.sources.offsets_spec import (
    EARLIEST,
    LATEST,
    AtTimes,
    OffsetsSpec,
    parse_edge,
    parse_partitions,
)
from drumbeat.pipeline.sources.topic_choice import TopicChoice, parse_choice

PREFIX: Final = "kafka."
BOOTSTRAP: Final = "kafka.bootstrap.servers"
TOPIC: Final = "topic"
ENDING: Final = ("endingTimestamp", "endingOffsetsByTimestamp", "endingOffsets")
_STARTING: Final = ("startingTimestamp", "startingOffsetsByTimestamp", "startingOffsets")
_STRATEGY: Final = "startingOffsetsByTimestampStrategy"
_READING: Final = (
    "subscribe",
    "subscribePattern",
    "assign",
    *_STARTING,
    *ENDING,
    _STRATEGY,
    "maxOffsetsPerTrigger",
    "minPartitions",
    "failOnDataLoss",
    "includeHeaders",
)
# These may stand without the prefix as well.
_PLAIN: Final = ("bootstrap.servers", "group.id", "isolation.level")
# Options of Spark's own source about things that are done otherwise here.
_NEEDLESS: Final = (
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
    "groupIdPrefix",
    "kafkaConsumer.pollTimeoutMs",
    "maxRecordsPerPartition",
    "maxTriggerDelay",
    "minOffsetsPerTrigger",
)
# Options of a stream's sink that Spark keeps for itself, and hands on nevertheless.
_OF_SPARK: Final = frozenset({"checkpointlocation", "queryname"})
_BOOLEANS: Final = {"true": True, "false": False}
_STRATEGIES: Final = {"error": True, LATEST: False}
# Of the consumer's configuration, what is left when Spark does the rest.
_NOT_OF_READERS: Final = {
    "auto_offset_reset": "use startingOffsets",
    "enable_auto_commit": "with group.id, progress is committed after each batch",
    "auto_commit_interval_ms": "with group.id, progress is committed after each batch",
    "key_deserializer": "keys are bytes: cast them",
    "value_deserializer": "values are bytes: cast them",
    "allow_auto_create_topics": "reading creates no topic",
    "max_poll_records": "use maxOffsetsPerTrigger",
    "group_instance_id": "Spark assigns partitions, not the group",
    "partition_assignment_strategy": "Spark assigns partitions, not the group",
}
_NOT_OF_WRITERS: Final = {
    "key_serializer": "keys are written as they are: cast them to string or binary",
    "value_serializer": "values are written as they are: cast them to string or binary",
    "partitioner": "give rows a column partition",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    brokers: Brokers
    choice: TopicChoice
    start: OffsetsSpec
    end: OffsetsSpec
    max_offsets_per_trigger: int | None
    min_partitions: int | None
    fails_on_data_loss: bool
    includes_headers: bool
    group_id: str | None

    @classmethod
    def parse(cls, options: Mapping[str, str], *, is_stream: bool) -> ReadOptions:
        told = _Told(options, (*_READING, *_PLAIN))
        if is_stream and (useless := told.first(ENDING)) is not None:
            raise SourceError(f"{useless} has no meaning for a stream, which has no end")
        client = told.client(ConsumerConfig, _NOT_OF_READERS)
        return cls(
            brokers=Brokers(client),
            choice=parse_choice(told.values),
            start=_start(told, is_stream),
            end=_end(told),
            max_offsets_per_trigger=told.positive("maxOffsetsPerTrigger"),
            min_partitions=told.positive("minPartitions"),
            fails_on_data_loss=told.boolean("failOnDataLoss", True),
            includes_headers=told.boolean("includeHeaders", False),
            group_id=client.get("group.id"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    producer: Mapping[str, str]
    topic: str | None

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> WriteOptions:
        told = _Told(options, (TOPIC, "bootstrap.servers"))
        return cls(
            producer=told.client(ProducerConfig, _NOT_OF_WRITERS), topic=told.values.get(TOPIC)
        )


def includes_headers(options: Mapping[str, str]) -> bool:
    return _boolean("includeHeaders", options.get("includeHeaders", "false"))


def _start(told: _Told, is_stream: bool) -> OffsetsSpec:
    has_to_match = told.choice(_STRATEGY, _STRATEGIES, True)
    allowed = (EARLIEST, LATEST) if is_stream else (EARLIEST,)
    default = LATEST if is_stream else EARLIEST
    return _edge(told, _STARTING, has_to_match) or parse_edge(
        _STARTING[-1], told.values.get(_STARTING[-1], default), allowed
    )


def _end(told: _Told) -> OffsetsSpec:
    return _edge(told, ENDING, has_to_match=False) or parse_edge(
        ENDING[-1], told.values.get(ENDING[-1], LATEST), (LATEST,)
    )


def _edge(told: _Told, names: tuple[str, str, str], has_to_match: bool) -> OffsetsSpec | None:
    """By time, which goes before offsets; one time for all before those by partition."""
    for_all, by_partition, _ = names
    if (one := told.natural(for_all)) is not None:
        return AtTimes(option=for_all, times=one, has_to_match=has_to_match)
    if (text := told.values.get(by_partition)) is not None:
        times = parse_partitions(by_partition, text)
        return AtTimes(option=by_partition, times=times, has_to_match=has_to_match)
    return None


class _Told:
    """The options that were given, under their proper names: Spark hands them on in lower case."""

    def __init__(self, options: Mapping[str, str], known: Iterable[str]) -> None:
        names = {name.lower(): name for name in known}
        self._client: dict[str, str] = {}
        self.values: dict[str, str] = {}
        for name, value in options.items():
            if name.lower() in _OF_SPARK:
                continue
            proper = names.get(name.lower())
            if name.lower().startswith(PREFIX):
                self._client[name.lower().removeprefix(PREFIX)] = value
            elif proper in _PLAIN:
                self._client[proper] = value
            elif proper is not None:
                self.values[proper] = value
            else:
                raise SourceError(_unknown(name, names))

    def client(self, kind: type[Config], refused: Mapping[str, str]) -> Mapping[str, str]:
        """Configuration of a client, after its own judgement."""
        if not self._client.get("bootstrap.servers"):
            raise SourceError(f"the option {BOOTSTRAP} is missing: brokers such as localhost:9092")
        for name in self._client:
            if (instead := refused.get(name.replace(".", "_"))) is not None:
                raise SourceError(f"{PREFIX}{name} cannot be set here: {instead}")
        try:
            kind.of(self._client)
        except ConfigError as problem:
            raise SourceError(_explain(kind, self._client, problem)) from None
        return self._client

    def first(self, names: Iterable[str]) -> str | None:
        return next((name for name in names if name in self.values), None)

    def natural(self, name: str, minimum: int = 0) -> int | None:
        text = self.values.get(name)
        if text is None:
            return None
        if not text.strip().isdecimal() or int(text) < minimum:
            raise SourceError(f"{name} is {text!r}; it takes a number from {minimum} on")
        return int(text)

    def positive(self, name: str) -> int | None:
        return self.natural(name, minimum=1)

    def boolean(self, name: str, default: bool) -> bool:
        return self.choice(name, _BOOLEANS, default)

    def choice(self, name: str, meanings: Mapping[str, bool], default: bool) -> bool:
        text = self.values.get(name)
        return default if text is None else _meaning(name, text, meanings)


def _boolean(name: str, text: str) -> bool:
    return _meaning(name, text, _BOOLEANS)


def _meaning(name: str, text: str, meanings: Mapping[str, bool]) -> bool:
    try:
        return meanings[text.strip().lower()]
    except KeyError:
        raise SourceError(f"{name} is {text!r}; it may be {' or '.join(meanings)}") from None


def _unknown(name: str, names: Mapping[str, str]) -> str:
    if name.lower() == "path":
        return "topics are no path: name them with the option subscribe (to write, with topic)"
    needless = {each.lower(): each for each in _NEEDLESS}
    if name.lower() in needless:
        return f"{needless[name.lower()]} of Spark's own source is not needed here: leave it out"
    known = {**names, BOOTSTRAP: BOOTSTRAP}
    near = [known[each] for each in get_close_matches(name.lower(), known, n=3, cutoff=0.6)]
    hint = (
        f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(names.values())}"
    )
    return f"the data source drumbeat has no option {name}: {hint}"


def _explain(kind: type[Config], client: Mapping[str, str], problem: ConfigError) -> str:
    keys = [field.name.replace("_", ".") for field in dataclasses.fields(kind)]
    for name in _foreign(client, keys):
        near = get_close_matches(name, keys, n=3, cutoff=0.6)
        hint = f"; did you mean {PREFIX}{f' or {PREFIX}'.join(near)}?" if near else ""
        return f"the client has no configuration {PREFIX}{name}{hint}"
    return f"configuration of the client: {problem}"


def _foreign(client: Mapping[str, Any], keys: Iterable[str]) -> Iterator[str]:
    known = set(keys)
    return (name for name in client if name not in known)
