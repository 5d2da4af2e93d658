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
from drumbeat.runtime.config_resources import Change, Refusal, Resource, alter, alter_each
from drumbeat.runtime.requests import Request


async def handle(
    broker: Broker, request: Request, body: AlterConfigsRequest
) -> AlterConfigsResponse:
    answers = await alter_each(
        body.resources, lambda resource: _alter(broker, resource, body.validate_only)
    )
    return AlterConfigsResponse(
        responses=tuple(AlterConfigsResourceResponse(*answer) for answer in answers)
    )


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
