"""A stream's progress as the committed offsets of a group, which every Kafka tool can show.

The checkpoint stays what the stream itself goes by. Spark shares out partitions, so the group has
no members: offsets are committed from outside, which coordinators refuse while there are some.
"""

from __future__ import annotations

from drumbeat.client.admin.results import SomeFailedError
from drumbeat.client.admin.sync import SyncAdmin
from drumbeat.client.errors import GroupIdNotFoundError, GroupNotEmptyError
from drumbeat.pipeline.errors import SourceError
from drumbeat.pipeline.sources.offsets_spec import Offsets


class GroupProgress:
    def __init__(self, group_id: str) -> None:
        self._group_id = group_id
        self._committed: Offsets = {}

    def check(self, admin: SyncAdmin) -> None:
        """Refuse a group that consumers use, before anything is read for it."""
        try:
            found = admin.describe_groups([self._group_id])[self._group_id]
        except GroupIdNotFoundError:
            return
        if found.members:
            raise self._used(f"it has {len(found.members)} members and is {found.state}")

    def commit(self, admin: SyncAdmin, offsets: Offsets) -> None:
        """Everything before these offsets is done; tells the coordinator what is new of it."""
        new = {tp: at for tp, at in offsets.items() if self._committed.get(tp) != at}
        if not new:
            return
        try:
            admin.alter_group_offsets(self._group_id, new)
        except (GroupNotEmptyError, SomeFailedError) as problem:
            errors = problem.errors.values() if isinstance(problem, SomeFailedError) else [problem]
            if any(isinstance(error, GroupNotEmptyError) for error in errors):
                raise self._used("it has members") from problem
            raise
        self._committed.update(new)

    def _used(self, found: str) -> SourceError:
        return SourceError(
            f"the stream cannot commit as group {self._group_id}, which consumers use: {found}. "
            "Give the stream a group.id of its own, or stop the consumers"
        )
