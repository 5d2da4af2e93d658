"""Every API that a group coordinator answers, by key: one handler each, one file each.

FindCoordinator is not here: it asks about the cluster, not about a group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from drumbeat.core.handlers.delete_groups import delete_groups
from drumbeat.core.handlers.describe_groups import describe_groups
from drumbeat.core.handlers.heartbeat import heartbeat
from drumbeat.core.handlers.join_group import join_group
from drumbeat.core.handlers.leave_group import leave_group
from drumbeat.core.handlers.list_groups import list_groups
from drumbeat.core.handlers.offset_commit import offset_commit
from drumbeat.core.handlers.offset_delete import offset_delete
from drumbeat.core.handlers.offset_fetch import offset_fetch
from drumbeat.core.handlers.sync_group import sync_group
from drumbeat.core.outcome import Context, Outcome
from drumbeat.core.session import View
from drumbeat.protocol.apis import ApiKey

Handler: TypeAlias = Callable[[View, Context, Any], Outcome]

HANDLERS: Mapping[int, Handler] = {
    ApiKey.OFFSET_COMMIT: offset_commit,
    ApiKey.OFFSET_FETCH: offset_fetch,
    ApiKey.JOIN_GROUP: join_group,
    ApiKey.HEARTBEAT: heartbeat,
    ApiKey.LEAVE_GROUP: leave_group,
    ApiKey.SYNC_GROUP: sync_group,
    ApiKey.DESCRIBE_GROUPS: describe_groups,
    ApiKey.LIST_GROUPS: list_groups,
    ApiKey.DELETE_GROUPS: delete_groups,
    ApiKey.OFFSET_DELETE: offset_delete,
}
