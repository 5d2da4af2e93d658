"""Commits in rounds: what gathers while the disk is busy goes to it together.

Partitions that want a sync are noted; a round begins when the event loop has served everybody it
heard of in this turn and the round before has ended, and takes all that they have by then. Small
commits of a round share one sync of the journal and one wake-up of the loop. The loop itself writes
them to their segments and to the journal, which only fills the page cache: another thread would
have to fight the loop for the interpreter after every write, and that costs more than all else
together. The sync is left to the kernel, or to a thread that does nothing else. Larger commits hold
nobody up: they are not journalled but synced where they belong, each by itself, by the kernel too.
The largest, and those that begin or end a segment, get a worker.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Final, Protocol

from drumbeat.log.commit import Commit, CommitFailure, descriptor
from drumbeat.log.files import SyncError
from drumbeat.log.journal import Journal
from drumbeat.log.journal_format import Entry
from drumbeat.log.kernel_sync import KernelSync, SyncRequest, open_kernel_sync
from drumbeat.log.sync_thread import SyncThread
from drumbeat.log.workers import Workers

_new: Final = tuple.__new__

Failures = Sequence[CommitFailure | None]


class Growing(Protocol):
    """A log that wants to be synced."""

    @property
    def has_grown_little(self) -> bool:
        """Whether its next commit is a small one, as far as is known yet."""

    def begin_commit(self) -> Commit | None:
        """Everything that it has by now; None if there is nothing, or a commit is under way."""


class CommitRounds:
    """For all partitions of a store. A partition has at most one commit here at a time."""

    def __init__(self, workers: Workers, journal: Journal | None) -> None:
        self.workers = workers
        self._journal = journal
        self._journal_error: OSError | None = None
        self._sync_thread = SyncThread()  # for where there is no other way
        self._kernel_sync: KernelSync | None = None
        self._was_kernel_asked = False
        self._gathered: list[Growing] = []
        self._is_running = False
        self._is_scheduled = False

    def gather(self, log: Growing) -> None:
        """Have the next commit of `log` made durable; it is told on the loop."""
        self._gathered.append(log)
        if not self._is_scheduled:
            # Not at once: whoever is served in this turn of the loop takes part.
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._end_turn)

    def _end_turn(self) -> None:
        self._is_scheduled = False
        if not self._is_running:
            self._start()
            return
        gathered, self._gathered = self._gathered, []
        alone: list[Commit] = []
        for log in gathered:
            if log.has_grown_little:
                self._gathered.append(log)  # until the round ends
            elif (commit := log.begin_commit()) is not None:
                alone.append(commit)
        if alone:
            self._start_alone(alone)

    def _start(self) -> None:
        gathered, self._gathered = self._gathered, []
        together: list[Commit] = []
        alone: list[Commit] = []
        for log in gathered:
            commit = log.begin_commit()
            if commit is None:
                continue
            if self._journal is not None and commit.is_small:
                together.append(commit)
            else:
                alone.append(commit)
        if alone:
            self._start_alone(alone)
        if together:
            self._is_running = True
            self._start_round(together)

    def _start_alone(self, commits: Sequence[Commit]) -> None:
        """Write them and leave each one's sync to the kernel; a worker does both for the others."""
        loop = asyncio.get_running_loop()
        kernel = self._kernel_on(loop)
        written: list[Commit] = []
        for commit in commits:
            if kernel is not None and commit.is_medium and commit.try_write() is None:
                written.append(commit)
            else:
                self.workers.executor.submit(self._run_alone, commit, loop)
        taken = kernel.submit([self._sync_request(one) for one in written]) if kernel else 0
        for commit in written[taken:]:
            self.workers.executor.submit(self._run_alone, commit, loop)

    def _sync_request(self, commit: Commit) -> SyncRequest:
        return descriptor(commit.writes[0].segment), partial(self._synced_alone, commit)

    def _start_round(self, commits: Sequence[Commit]) -> None:
        problems = [commit.try_write() for commit in commits]
        loop = asyncio.get_running_loop()
        if self._journal is None or any(problems) or not self._try_journal(commits):
            self.workers.executor.submit(self._run_round, commits, problems, loop)
        else:
            self._sync(self._journal, commits, loop)

    def _try_journal(self, commits: Sequence[Commit]) -> bool:
        """Write all of them to the journal, if that can be done without waiting."""
        if self._journal is None or self._journal_error is not None:
            return False
        return self._journal.try_write(*_entries(commits))

    def _sync(
        self, journal: Journal, commits: Sequence[Commit], loop: asyncio.AbstractEventLoop
    ) -> None:
        """The ordinary round: everything is written, and has to be synced."""
        kernel = self._kernel_on(loop)
        done = partial(self._synced, journal, commits)
        if kernel is None or not kernel.submit([(journal.descriptor, done)]):
            self._sync_thread.submit(partial(self._sync_round, journal, commits, loop))

    def _kernel_on(self, loop: asyncio.AbstractEventLoop) -> KernelSync | None:
        """Who syncs without a thread, if there is such a one for this loop."""
        if not self._was_kernel_asked:
            self._was_kernel_asked = True
            if not self.workers.disk.has_own_sync:
                self._kernel_sync = open_kernel_sync(loop)
        kernel = self._kernel_sync
        return kernel if kernel is not None and kernel.loop is loop else None

    def _synced(self, journal: Journal, commits: Sequence[Commit], error: OSError | None) -> None:
        if error is None:
            self._end(commits, None)
            return
        loop = asyncio.get_running_loop()
        self.workers.executor.submit(self._fail_round, journal, commits, _failed(error), loop)

    def _end(self, commits: Sequence[Commit], failures: Failures | None) -> None:
        """The next round begins before anybody hears of this one, so that the disk is not idle."""
        self._is_running = False
        for place, commit in enumerate(commits):
            commit.log.end_commit(commit.writes, failures[place] if failures else None)
        self._start()
        for commit in commits:
            commit.log.tell_synced()

    def _synced_alone(self, commit: Commit, error: OSError | None) -> None:
        if error is None:
            self._end_alone(commit, None)
            return
        loop = asyncio.get_running_loop()
        self.workers.executor.submit(self._fail_alone, commit, _failed(error), loop)

    def _end_alone(self, commit: Commit, failure: CommitFailure | None) -> None:
        commit.log.end_commit(commit.writes, failure)
        commit.log.tell_synced()

    def close(self) -> None:
        """Nothing is enqueued any more."""
        self._sync_thread.stop()
        if self._kernel_sync is not None:
            self._kernel_sync.close()

    # -- in other threads ------------------------------------------------------------------------

    def _sync_round(
        self, journal: Journal, commits: Sequence[Commit], loop: asyncio.AbstractEventLoop
    ) -> None:
        """Where the kernel does not do it without us."""
        try:
            journal.sync()
        except OSError as error:
            self._fail_round(journal, commits, error, loop)
            return
        with suppress(RuntimeError):  # a loop that is closed has nobody left to tell
            loop.call_soon_threadsafe(self._end, commits, None)

    def _fail_round(
        self,
        journal: Journal,
        commits: Sequence[Commit],
        error: OSError,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._give_up_journal(journal)
        failures = [self._without_journal(commit, error) for commit in commits]
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(self._end, commits, failures)

    def _run_alone(self, commit: Commit, loop: asyncio.AbstractEventLoop) -> None:
        loop.call_soon_threadsafe(self._end_alone, commit, commit.run())

    def _fail_alone(self, commit: Commit, error: OSError, loop: asyncio.AbstractEventLoop) -> None:
        loop.call_soon_threadsafe(self._end_alone, commit, commit.fail(error))

    def _run_round(
        self,
        commits: Sequence[Commit],
        problems: Sequence[OSError | None],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        failures = [
            None if problem is None else commit.undo(problem)
            for commit, problem in zip(commits, problems, strict=True)
        ]
        written = [place for place, problem in enumerate(problems) if problem is None]
        try:
            self._journal_together([commits[place] for place in written])
        except OSError as error:
            for place in written:
                failures[place] = self._without_journal(commits[place], error)
        loop.call_soon_threadsafe(self._end, commits, failures)

    def _journal_together(self, commits: Sequence[Commit]) -> None:
        assert self._journal is not None
        if not commits:
            return
        if self._journal_error is not None:
            raise self._journal_error
        try:
            self._journal.append(*_entries(commits))
        except SyncError:
            self._give_up_journal(self._journal)
            raise

    def _give_up_journal(self, journal: Journal) -> None:
        try:
            journal.abandon()
        except OSError as error:
            self._journal_error = error  # entries that must not be replayed may be: write no more

    def _without_journal(self, commit: Commit, error: OSError) -> CommitFailure | None:
        """A journal that has no space to grow is no reason to refuse a commit that has."""
        if self._journal_error is None and not isinstance(error, SyncError):
            return commit.sync()
        return commit.fail(error)


def _failed(error: OSError) -> SyncError:
    """What the kernel says of a sync that it did by itself, as one says it that was waited for."""
    return SyncError(error.errno, f"sync failed: {error.strerror}")


def _entries(commits: Sequence[Commit]) -> tuple[list[Entry], list[int]]:
    """What the journal has to know of small commits, and the descriptors of their segments."""
    entries: list[Entry] = []
    descriptors: list[int] = []
    for commit in commits:
        segment, position, buffers, _, _ = commit.writes[0]
        place = (segment.directory_name, segment.base_offset, position, buffers)
        entries.append(_new(Entry, place))
        descriptors.append(descriptor(segment))
    return entries, descriptors
