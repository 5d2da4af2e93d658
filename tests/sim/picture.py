"""What a shard's groups look like, for a person who has to find out what went wrong."""

from drumbeat.core.classic.group import ClassicGroup
from drumbeat.core.state import Group
from drumbeat.runtime.coordinator.shard import Shard


def picture(shard: Shard) -> str:
    log = shard.partition.log
    lines = [f"  {shard}, epoch {log.epoch}: synced up to {log.synced_offset} of {log.end_offset}"]
    for group_id, durable in sorted(shard._durable.groups.items()):
        lines.append(f"    {group_id}: {_durable(durable)}")
        live = shard._session.groups.get(group_id)
        if live is not None:
            lines.append(f"      in memory: {_live(live)}")
    return "\n".join(lines)


def _durable(group: Group) -> str:
    return f"generation {group.generation_id}, leader {group.leader}, {sorted(group.members)}"


def _live(group: ClassicGroup) -> str:
    return (
        f"{group.state}, generation {group.generation_id}, leader {group.leader}, "
        f"members {sorted(group.members)}, pending {sorted(group.pending_members)}, "
        f"joining {sorted(group.joins)}, syncing {sorted(group.syncs)}, "
        f"owe a sync {sorted(group.pending_sync)}"
    )
