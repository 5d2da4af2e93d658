"""Commits in rounds: what a turn of the event loop gathers goes to the disk together.

Small commits of a round share one sync of the journal and one wake-up of the loop. The loop itself
writes them to their segments, which only fills the page cache: a worker thread would have to fight
the loop for the interpreter after every write, and that costs more than all else together. Large
commits, and those that begin or end a segment, get a worker and a sync each and hold nobody up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from drumbeat.log.commit import Commit, CommitFailure, descriptor
from drumbeat.log.files import SyncError
from drumbeat.log.journal import Entry, Journal
from drumbeat.log.workers import Workers


class CommitRounds:
    """For all partitions of a store. A partition has at most one commit here at a time."""

    def __init__(self, workers: Workers, journal: Journal | None) -> None:
        self.workers = workers
        self._journal = journal
        self._journal_error: OSError | None = None
        self._gathered: list[Commit] = []
        self._is_running = False
        self._is_scheduled = False

    def enqueue(self, commit: Commit) -> None:
        """Have `commit` made durable; it is told on the loop."""
        if self._journal is None or not commit.is_small:
            loop = asyncio.get_running_loop()
            self.workers.executor.submit(self._run_alone, commit, loop)
            return
        self._gathered.append(commit)
        if not self._is_running and not self._is_scheduled:
            # Not at once: whoever is served in this turn of the loop takes part.
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._start)

    def _start(self) -> None:
        self._is_scheduled = False
        if self._is_running or not self._gathered:
            return
        self._is_running = True
        commits, self._gathered = self._gathered, []
        problems = [commit.try_write() for commit in commits]
        loop = asyncio.get_running_loop()
        self.workers.executor.submit(self._run_round, commits, problems, loop)

    def _end(self, commits: Sequence[Commit], failures: Sequence[CommitFailure | None]) -> None:
        self._is_running = False
        self._start()
        for commit, failure in zip(commits, failures, strict=True):
            commit.end(failure)

    # -- in a worker thread ----------------------------------------------------------------------

    def _run_alone(self, commit: Commit, loop: asyncio.AbstractEventLoop) -> None:
        loop.call_soon_threadsafe(commit.end, commit.run())

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
        writes = [commit.writes[0] for commit in commits]
        entries = [
            Entry(segment.directory_name, segment.base_offset, position, buffers)
            for segment, position, buffers, _, _ in writes
        ]
        try:
            self._journal.append(entries, [descriptor(write.segment) for write in writes])
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
