"""What this node answers: the one table of handlers, by API key.

ApiVersions advertises exactly the keys of this table, and docs/protocol-support.md is generated
from it.
"""

from collections.abc import Callable
from typing import Any

from drumbeat.protocol.apis import ApiKey
from drumbeat.runtime.handlers import (
    alter_configs,
    api_versions,
    create_partitions,
    create_topics,
    delete_records,
    delete_topics,
    describe_cluster,
    describe_configs,
    describe_log_dirs,
    describe_topic_partitions,
    fetch,
    find_coordinator,
    group_requests,
    incremental_alter_configs,
    init_producer_id,
    list_offsets,
    metadata,
    offset_for_leader_epoch,
    produce,
)

HANDLERS: dict[int, Callable[..., Any]] = {
    ApiKey.PRODUCE: produce.handle,
    ApiKey.FETCH: fetch.handle,
    ApiKey.LIST_OFFSETS: list_offsets.handle,
    ApiKey.METADATA: metadata.handle,
    ApiKey.OFFSET_COMMIT: group_requests.one_group,
    ApiKey.OFFSET_FETCH: group_requests.offset_fetch,
    ApiKey.FIND_COORDINATOR: find_coordinator.handle,
    ApiKey.JOIN_GROUP: group_requests.one_group,
    ApiKey.HEARTBEAT: group_requests.one_group,
    ApiKey.LEAVE_GROUP: group_requests.one_group,
    ApiKey.SYNC_GROUP: group_requests.one_group,
    ApiKey.DESCRIBE_GROUPS: group_requests.describe_groups,
    ApiKey.LIST_GROUPS: group_requests.list_groups,
    ApiKey.API_VERSIONS: api_versions.handle,
    ApiKey.CREATE_TOPICS: create_topics.handle,
    ApiKey.DELETE_TOPICS: delete_topics.handle,
    ApiKey.DELETE_RECORDS: delete_records.handle,
    ApiKey.INIT_PRODUCER_ID: init_producer_id.handle,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: offset_for_leader_epoch.handle,
    ApiKey.DESCRIBE_CONFIGS: describe_configs.handle,
    ApiKey.ALTER_CONFIGS: alter_configs.handle,
    ApiKey.DESCRIBE_LOG_DIRS: describe_log_dirs.handle,
    ApiKey.CREATE_PARTITIONS: create_partitions.handle,
    ApiKey.DELETE_GROUPS: group_requests.delete_groups,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: incremental_alter_configs.handle,
    ApiKey.OFFSET_DELETE: group_requests.one_group,
    ApiKey.DESCRIBE_CLUSTER: describe_cluster.handle,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: describe_topic_partitions.handle,
}
