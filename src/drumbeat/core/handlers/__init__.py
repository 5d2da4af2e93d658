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
from drumbeat.protocol import apis

Handler: TypeAlias = Callable[[View, Context, Any], Outcome]

HANDLERS: Mapping[int, Handler] = {
    apis.offset_commit.API.key: offset_commit,
    apis.offset_fetch.API.key: offset_fetch,
    apis.join_group.API.key: join_group,
    apis.heartbeat.API.key: heartbeat,
    apis.leave_group.API.key: leave_group,
    apis.sync_group.API.key: sync_group,
    apis.describe_groups.API.key: describe_groups,
    apis.list_groups.API.key: list_groups,
    apis.delete_groups.API.key: delete_groups,
    apis.offset_delete.API.key: offset_delete,
}
