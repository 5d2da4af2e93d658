"""From a group to the shard that serves it: what every group request comes by."""

from collections.abc import Callable
from typing import Any

from drumbeat.protocol.java_hash import partition_for
from drumbeat.runtime.coordinator.shard import ACTIVE, Shard
from drumbeat.runtime.requests import Request

# For a partition of `__consumer_offsets` without an active shard.
Unserved = Callable[[Request, Any, int], Any]


class ShardRouter:
    def __init__(self, partition_count: int, unserved: Unserved) -> None:
        self.partition_count = partition_count
        self.shards: dict[int, Shard] = {}
        self._unserved = unserved

    def submit(self, request: Request, body: Any, group_id: str) -> Any:
        """Have the group's shard answer; a response or a Deferred."""
        index = partition_for(group_id, self.partition_count)
        shard = self.shards.get(index)
        if shard is not None and shard.state is ACTIVE:
            return shard.submit(request, body)
        return self._unserved(request, body, index)
