"""IncrementalAlterConfigs: single configs are set, deleted, appended to or subtracted from."""

from drumbeat.protocol.apis.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from drumbeat.protocol.errors import ErrorCode
from drumbeat.runtime.broker import Broker
from drumbeat.runtime.config.alter import AlterOperation, alter_broker, alter_topic
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
    broker: Broker, request: Request, body: IncrementalAlterConfigsRequest
) -> IncrementalAlterConfigsResponse:
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
    return IncrementalAlterConfigsResponse(responses=tuple(results))


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
