"""DescribeConfigs: of topics and of this broker."""

from drumbeat.protocol.apis.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from drumbeat.protocol.errors import ErrorCode
from drumbeat.runtime.broker import Broker
from drumbeat.runtime.config.describe import (
    ConfigEntry,
    describe_broker,
    describe_broker_defaults,
    describe_topic,
)
from drumbeat.runtime.config_resources import (
    BROKER,
    RESOURCE_TYPES,
    TOPIC,
    Refusal,
    broker_problem,
    topic_problem,
)
from drumbeat.runtime.requests import Request


def handle(
    broker: Broker, request: Request, body: DescribeConfigsRequest
) -> DescribeConfigsResponse:
    unknown = [r for r in body.resources if r.resource_type not in RESOURCE_TYPES]
    if unknown:  # Kafka refuses the others with it
        text = f"there are no resources of type {unknown[0].resource_type}"
        refusal = Refusal(ErrorCode.INVALID_REQUEST, text)
        return DescribeConfigsResponse(results=tuple(_refused(r, refusal) for r in body.resources))
    return DescribeConfigsResponse(
        results=tuple(_result(broker, resource, body) for resource in body.resources)
    )


def _refused(resource: DescribeConfigsResource, refusal: Refusal) -> DescribeConfigsResult:
    return DescribeConfigsResult(
        refusal.error_code, refusal.message, resource.resource_type, resource.resource_name
    )


def _result(
    broker: Broker, resource: DescribeConfigsResource, body: DescribeConfigsRequest
) -> DescribeConfigsResult:
    entries = _entries(broker, resource)
    if isinstance(entries, Refusal):
        return _refused(resource, entries)
    return DescribeConfigsResult(
        error_message="",
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        configs=tuple(_config(entry, body) for entry in entries),
    )


def _entries(broker: Broker, resource: DescribeConfigsResource) -> list[ConfigEntry] | Refusal:
    names, keys = resource.resource_name, resource.configuration_keys or ()
    if resource.resource_type == TOPIC:
        if refusal := topic_problem(broker, names):
            return refusal
        topic = broker.topics.get(names)
        assert topic is not None
        return describe_topic(topic.configs, broker.config, keys)
    if resource.resource_type == BROKER:
        if refusal := broker_problem(broker, names):
            return refusal
        describe = describe_broker if names else describe_broker_defaults
        return describe(broker.config, keys)
    return Refusal(
        ErrorCode.INVALID_REQUEST,
        f"resources of type {resource.resource_type} have no configs here",
    )


def _config(entry: ConfigEntry, body: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    synonyms = entry.synonyms if body.include_synonyms else ()
    return DescribeConfigsResourceResult(
        name=entry.name,
        value=entry.value,
        read_only=entry.is_read_only,
        config_source=entry.source,
        is_sensitive=entry.is_sensitive,
        synonyms=tuple(DescribeConfigsSynonym(*synonym) for synonym in synonyms),
        config_type=entry.type,
        documentation=entry.documentation if body.include_documentation else None,
    )
