"""What this node answers: the one table of handlers, by API key.

ApiVersions advertises exactly the keys of this table, and docs/protocol-support.md is generated
from it.
"""

from collections.abc import Callable
from typing import Any

from drumbeat.protocol import apis
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
    apis.produce.API.key: produce.handle,
    apis.fetch.API.key: fetch.handle,
    apis.list_offsets.API.key: list_offsets.handle,
    apis.metadata.API.key: metadata.handle,
    apis.offset_commit.API.key: group_requests.one_group,
    apis.offset_fetch.API.key: group_requests.offset_fetch,
    apis.find_coordinator.API.key: find_coordinator.handle,
    apis.join_group.API.key: group_requests.one_group,
    apis.heartbeat.API.key: group_requests.one_group,
    apis.leave_group.API.key: group_requests.one_group,
    apis.sync_group.API.key: group_requests.one_group,
    apis.describe_groups.API.key: group_requests.describe_groups,
    apis.list_groups.API.key: group_requests.list_groups,
    apis.api_versions.API.key: api_versions.handle,
    apis.create_topics.API.key: create_topics.handle,
    apis.delete_topics.API.key: delete_topics.handle,
    apis.delete_records.API.key: delete_records.handle,
    apis.init_producer_id.API.key: init_producer_id.handle,
    apis.offset_for_leader_epoch.API.key: offset_for_leader_epoch.handle,
    apis.describe_configs.API.key: describe_configs.handle,
    apis.alter_configs.API.key: alter_configs.handle,
    apis.describe_log_dirs.API.key: describe_log_dirs.handle,
    apis.create_partitions.API.key: create_partitions.handle,
    apis.delete_groups.API.key: group_requests.delete_groups,
    apis.incremental_alter_configs.API.key: incremental_alter_configs.handle,
    apis.offset_delete.API.key: group_requests.one_group,
    apis.describe_cluster.API.key: describe_cluster.handle,
    apis.describe_topic_partitions.API.key: describe_topic_partitions.handle,
}
