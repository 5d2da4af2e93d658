"""IncrementalAlterConfigs: single configs are set, deleted, appended to or subtracted from."""

from drumbeat.protocol.apis.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from drumbeat.runtime.broker import Broker
from drumbeat.runtime.config.alter import AlterOperation, alter_broker, alter_topic
from drumbeat.runtime.config_resources import Change, Refusal, Resource, alter, alter_each
from drumbeat.runtime.requests import Request


async def handle(
    broker: Broker, request: Request, body: IncrementalAlterConfigsRequest
) -> IncrementalAlterConfigsResponse:
    answers = await alter_each(
        body.resources, lambda resource: _alter(broker, resource, body.validate_only)
    )
    return IncrementalAlterConfigsResponse(
        responses=tuple(AlterConfigsResourceResponse(*answer) for answer in answers)
    )


async def _alter(
    broker: Broker, resource: AlterConfigsResource, validate_only: bool
) -> Refusal | None:
    name = resource.resource_name
    operations = [AlterOperation(c.name, c.config_operation, c.value) for c in resource.configs]
    change = Change(
        of_topic=lambda overrides: alter_topic(overrides, operations),
        of_broker=lambda config: alter_broker(config, operations, all_brokers=not name),
    )
    named = Resource(resource.resource_type, name)
    return await alter(broker, named, change, validate_only=validate_only)
