"""AlterConfigs: the request's configs replace all that the resource had."""

from drumbeat.protocol.apis.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)
from drumbeat.protocol.errors import ErrorCode
from drumbeat.runtime.broker import Broker
from drumbeat.runtime.config.alter import replace_broker, replace_topic
from drumbeat.runtime.config_resources import (
    NAMED_TWICE,
    Change,
    Refusal,
    Resource,
    alter,
    named_twice,
)
from drumbeat.runtime.requests import Request


async def handle(
    broker: Broker, request: Request, body: AlterConfigsRequest
) -> AlterConfigsResponse:
    twice = named_twice(Resource(r.resource_type, r.resource_name) for r in body.resources)
    results = []
    for resource in body.resources:
        if (resource.resource_type, resource.resource_name) in twice:
            refusal: Refusal | None = NAMED_TWICE
        else:
            refusal = await _alter(broker, resource, body.validate_only)
        results.append(
            AlterConfigsResourceResponse(
                error_code=refusal.error_code if refusal else ErrorCode.NONE,
                error_message=refusal.message if refusal else None,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
        )
    return AlterConfigsResponse(responses=tuple(results))


async def _alter(
    broker: Broker, resource: AlterConfigsResource, validate_only: bool
) -> Refusal | None:
    name = resource.resource_name
    if len({config.name for config in resource.configs}) < len(resource.configs):
        return Refusal(ErrorCode.INVALID_REQUEST, "each config is to be named once")
    configs = {config.name: config.value for config in resource.configs}
    change = Change(
        of_topic=lambda _: replace_topic(configs),
        of_broker=lambda config: replace_broker(config, configs, all_brokers=not name),
    )
    named = Resource(resource.resource_type, name)
    return await alter(broker, named, change, validate_only=validate_only)
