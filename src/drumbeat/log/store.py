"""A directory of partitions in Kafka's layout, for one process.

`<data>/<topic>-<partition>/` holds a partition. `<data>/.lock` names the process that holds the
store. `<data>/.kafka_cleanshutdown` says that every partition was closed in order; it is taken away
on opening, before anything is written.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import TracebackType
from typing import Final, Self, TypeVar

from drumbeat.log.deletion import finish_deletions, remove_partition
from drumbeat.log.durability import describe_durability
from drumbeat.log.errors import LogError
from drumbeat.log.files import Disk, make_directory, sync_directory, write_file_atomically
from drumbeat.log.journal import FILE, Journal
from drumbeat.log.journal_replay import has_entries, replay
from drumbeat.log.local import LocalPartitionLog
from drumbeat.log.locks import DataDirectoryLock
from drumbeat.log.metadata import read_topic_id
from drumbeat.log.names import (
    CLEAN_SHUTDOWN,
    directory_name,
    is_partition_file,
    parse_directory_name,
)
from drumbeat.log.opening import OpenRequest, open_partition
from drumbeat.log.port import Durability, LogSettings, TopicPartition
from drumbeat.log.rounds import CommitRounds
from drumbeat.log.workers import Workers

WORKER_THREADS: Final = 8

_logger = logging.getLogger(__name__)

T = TypeVar("T")


class LocalStore:
    """See `port.LogStore`. `open` it first, or use it as an async context manager.

    A store that is not `exclusive` shares its directory with other processes: each partition still
    has one owner at a time, but nobody can say that all of them were closed in order.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        exclusive: bool = True,
        disk: Disk | None = None,
    ) -> None:
        self._directory = os.path.abspath(directory)
        self._lock = DataDirectoryLock(self._directory) if exclusive else None
        executor = ThreadPoolExecutor(WORKER_THREADS, thread_name_prefix="log")
        self._workers = Workers(disk or Disk(), executor)
        # Processes that share a directory have no journal in common, so each commit is synced.
        self._journal = Journal(self._workers.disk, self._directory) if exclusive else None
        self._rounds = CommitRounds(self._workers, self._journal)
        self._held: dict[TopicPartition, LocalPartitionLog] = {}
        self._trusted: set[TopicPartition] = set()  # closed in order and not opened since
        self._gates: defaultdict[TopicPartition, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._abandoned: set[asyncio.Future[None]] = set()
        self._is_open = False

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def open(self) -> None:
        """Take the directory, creating it if absent; raises LogHeld."""
        await self._in_worker(self._open)
        self._is_open = True

    def _open(self) -> None:
        os.makedirs(os.path.dirname(self._directory), exist_ok=True)
        make_directory(self._directory)
        if self._lock is None:
            self._refuse_journal()
            return
        self._lock.acquire()
        try:
            if replayed := replay(self._workers.disk, self._directory):
                _logger.warning("%s: wrote %d journal entries again", self._directory, replayed)
            finish_deletions(self._directory)
            self._tell_strangers()
            if self._take_clean_mark():
                self._trusted.update(self.partitions())
        except BaseException:
            self._lock.release()
            raise

    def _refuse_journal(self) -> None:
        """Only a process that has the directory to itself may write entries to their segments."""
        if has_entries(self._directory):
            raise LogError(
                f"{self._directory}: a crash left entries in {FILE}; "
                "start one process that has the directory to itself, then stop it"
            )

    def _tell_strangers(self) -> None:
        for path in self._named_like_partitions():
            if not _holds_partition(path) and os.listdir(path):
                _logger.warning("%s: named like a partition, but none; left alone", path)

    def _take_clean_mark(self) -> bool:
        """Whether the last process closed in order; after this, only our own close says so."""
        try:
            os.unlink(os.path.join(self._directory, CLEAN_SHUTDOWN))
        except FileNotFoundError:
            return False
        sync_directory(self._directory)
        return True

    def partitions(self) -> list[TopicPartition]:
        """Directories with the name of a partition and something in them that belongs to one."""
        found = self._named_like_partitions()
        return sorted(tp for path, tp in found.items() if _holds_partition(path))

    def _named_like_partitions(self) -> dict[str, TopicPartition]:
        with os.scandir(self._directory) as entries:
            paths = [entry.path for entry in entries if entry.is_dir()]
        parsed = ((path, parse_directory_name(os.path.basename(path))) for path in paths)
        return {path: tp for path, tp in parsed if tp is not None}

    def topic_id(self, topic_partition: TopicPartition) -> str | None:
        return read_topic_id(self._path(topic_partition))

    def durability(self) -> Durability:
        return describe_durability(self._directory)

    async def acquire(
        self,
        topic_partition: TopicPartition,
        settings: LogSettings,
        *,
        topic_id: str | None = None,
    ) -> LocalPartitionLog:
        self._path(topic_partition)  # refuses impossible names before anything is touched
        acquiring = asyncio.ensure_future(self._acquire(topic_partition, settings, topic_id))
        try:
            return await asyncio.shield(acquiring)
        except asyncio.CancelledError:
            # The worker cannot be stopped: let it finish, then give back what nobody waits for.
            self._abandoned.add(asyncio.ensure_future(_give_back(acquiring)))
            raise

    async def _acquire(
        self, topic_partition: TopicPartition, settings: LogSettings, topic_id: str | None
    ) -> LocalPartitionLog:
        async with self._gates[topic_partition]:
            await self._expel_owner(topic_partition, "a newer owner acquired the partition")
            request = OpenRequest(
                self._workers.disk,
                self._directory,
                topic_partition,
                settings,
                topic_partition in self._trusted,
                topic_id,
            )
            opened = await self._in_worker(open_partition, request)
            self._trusted.discard(topic_partition)
            log = LocalPartitionLog(opened, settings, self._rounds, self._on_closed)
            self._held[topic_partition] = log
            return log

    async def delete(self, topic_partition: TopicPartition) -> None:
        path = self._path(topic_partition)
        async with self._gates[topic_partition]:
            await self._expel_owner(topic_partition, "the partition was deleted")
            self._trusted.discard(topic_partition)
            if self._journal is not None:
                # A later partition of the same name must not get this one's records back.
                await self._in_worker(self._journal.forget, os.path.basename(path))
            await self._in_worker(remove_partition, path, topic_partition)

    async def close(self) -> None:
        if not self._is_open:
            return
        self._is_open = False
        await asyncio.gather(*self._abandoned)
        logs = list(self._held.values())
        outcomes = await asyncio.gather(*(log.release() for log in logs), return_exceptions=True)
        try:
            if self._journal is not None:
                await self._in_worker(self._journal.close)
            if self._lock is not None and self._trusted.issuperset(self.partitions()):
                await self._in_worker(self._leave_clean_mark)
        finally:
            if self._lock is not None:
                self._lock.release()
            self._rounds.close()
            self._workers.executor.shutdown()
        for outcome in outcomes:
            if outcome is not None:
                raise outcome

    def _leave_clean_mark(self) -> None:
        # Kafka looks at the file's presence; the content is what its newer versions write.
        content = json.dumps({"version": 0, "brokerEpoch": -1})
        path = os.path.join(self._directory, CLEAN_SHUTDOWN)
        write_file_atomically(self._workers.disk, path, content.encode())

    async def _expel_owner(self, topic_partition: TopicPartition, reason: str) -> None:
        owner = self._held.get(topic_partition)
        if owner is not None:
            await owner.expel(reason)

    def _on_closed(self, log: LocalPartitionLog, is_clean: bool) -> None:
        if self._held.get(log.topic_partition) is log:
            del self._held[log.topic_partition]
            if is_clean:
                self._trusted.add(log.topic_partition)

    def _path(self, topic_partition: TopicPartition) -> str:
        return os.path.join(self._directory, directory_name(topic_partition))

    async def _in_worker(self, function: Callable[..., T], *args: object) -> T:
        return await self._workers.run(self._directory, function, *args)


def _holds_partition(path: str) -> bool:
    try:
        return any(map(is_partition_file, os.listdir(path)))
    except FileNotFoundError:  # deleted meanwhile
        return False
    except PermissionError:  # opening it fails, with its name; the others are not held up
        return True


async def _give_back(acquiring: asyncio.Future[LocalPartitionLog]) -> None:
    with suppress(LogError, OSError):
        await (await acquiring).release()
