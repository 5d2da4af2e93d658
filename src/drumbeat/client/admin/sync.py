"""The admin client for plain code: the same methods, which return when they are done.

with SyncAdmin(bootstrap_servers="localhost:9092") as admin:
    print(admin.list_topics())
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from functools import update_wrapper
from typing import Any, Concatenate, ParamSpec, TypeVar

from drumbeat.client.admin.admin import Admin
from drumbeat.client.loop_thread import LoopThread

P = ParamSpec("P")
R = TypeVar("R")


def _blocking(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[SyncAdmin, P], R]:
    def call(admin: SyncAdmin, /, *args: P.args, **options: P.kwargs) -> R:
        return admin.run(method(admin.asynchronous, *args, **options))

    update_wrapper(call, method)
    return call


class SyncAdmin:
    """An Admin on a thread of its own; any thread may call it. Takes the same options."""

    def __init__(self, options: Mapping[str, Any] | None = None, /, **named: Any) -> None:
        self.asynchronous = Admin(options, **named)
        self._thread = LoopThread("admin")

    def __enter__(self) -> SyncAdmin:
        self.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def start(self) -> None:
        """Connect; raises NoBrokersAvailable if no bootstrap server answers."""
        self._thread.start()
        try:
            self.run(self.asynchronous.start())
        except BaseException:
            self._thread.stop()
            raise

    def close(self) -> None:
        if self._thread.is_running:
            try:
                self.run(self.asynchronous.close())
            finally:
                self._thread.stop()

    def run(self, work: Coroutine[Any, Any, R]) -> R:
        """Run something on the admin's loop."""
        return self._thread.run(work)

    create_topics = _blocking(Admin.create_topics)
    delete_topics = _blocking(Admin.delete_topics)
    list_topics = _blocking(Admin.list_topics)
    describe_topics = _blocking(Admin.describe_topics)
    create_partitions = _blocking(Admin.create_partitions)
    delete_records = _blocking(Admin.delete_records)
    describe_configs = _blocking(Admin.describe_configs)
    incremental_alter_configs = _blocking(Admin.incremental_alter_configs)
    list_groups = _blocking(Admin.list_groups)
    describe_groups = _blocking(Admin.describe_groups)
    delete_groups = _blocking(Admin.delete_groups)
    remove_members = _blocking(Admin.remove_members)
    list_offsets = _blocking(Admin.list_offsets)
    list_group_offsets = _blocking(Admin.list_group_offsets)
    alter_group_offsets = _blocking(Admin.alter_group_offsets)
    delete_group_offsets = _blocking(Admin.delete_group_offsets)
    reset_group_offsets = _blocking(Admin.reset_group_offsets)
    describe_cluster = _blocking(Admin.describe_cluster)
    api_versions = _blocking(Admin.api_versions)
    describe_log_dirs = _blocking(Admin.describe_log_dirs)
