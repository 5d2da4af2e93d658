"""The admin client, and the values that it takes and returns."""

from drumbeat.client.admin.admin import Admin
from drumbeat.client.admin.cluster_info import (
    ApiVersionRange,
    ClusterDescription,
    LogDirDescription,
    ReplicaInfo,
)
from drumbeat.client.admin.configs import (
    AlterConfig,
    AlterConfigOp,
    ConfigEntry,
    ConfigResource,
    ConfigResourceType,
    ConfigSource,
)
from drumbeat.client.admin.groups import (
    GroupDescription,
    GroupListing,
    MemberDescription,
    MemberToRemove,
)
from drumbeat.client.admin.offsets import OffsetSpec
from drumbeat.client.admin.reset_plan import CannotReset, OffsetChange, ResetTo, as_lines
from drumbeat.client.admin.results import SomeFailedError
from drumbeat.client.admin.sync import SyncAdmin
from drumbeat.client.admin.topics import CreatedTopic, NewTopic

__all__ = [
    "Admin",
    "AlterConfig",
    "AlterConfigOp",
    "ApiVersionRange",
    "CannotReset",
    "ClusterDescription",
    "ConfigEntry",
    "ConfigResource",
    "ConfigResourceType",
    "ConfigSource",
    "CreatedTopic",
    "GroupDescription",
    "GroupListing",
    "LogDirDescription",
    "MemberDescription",
    "MemberToRemove",
    "NewTopic",
    "OffsetChange",
    "OffsetSpec",
    "ReplicaInfo",
    "ResetTo",
    "SomeFailedError",
    "SyncAdmin",
    "as_lines",
]
