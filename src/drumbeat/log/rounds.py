"""Commits in rounds: what a turn of the event loop gathers goes to the disk together.

Small commits of a round share one worker, one sync of the journal and one wake-up of the loop.
Large ones, and those that end a segment, get a worker and a sync each and hold nobody up.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

from drumbeat.log.commit import Commit, CommitFailure, descriptor
from drumbeat.log.files import SyncError
from drumbeat.log.journal import Entry, Journal
from drumbeat.log.workers import Workers

Ended = Callable[[CommitFailure | None], None]


class _Asked(NamedTuple):
    commit: Commit
    ended: Ended


class CommitRounds:
    """For all partitions of a store. A partition has at most one commit here at a time."""

    def __init__(self, workers: Workers, journal: Journal | None) -> None:
        self.workers = workers
        self._journal = journal
        self._journal_error: OSError | None = None
        self._gathered: list[_Asked] = []
        self._is_running = False
        self._is_scheduled = False

    def enqueue(self, commit: Commit, ended: Ended) -> None:
        """Have `commit` made durable; `ended` is called on the loop."""
        loop = asyncio.get_running_loop()
        if self._journal is None or not commit.is_small:
            self.workers.executor.submit(self._run_alone, _Asked(commit, ended), loop)
            return
        self._gathered.append(_Asked(commit, ended))
        if not self._is_running and not self._is_scheduled:
            # Not at once: whoever is served in this turn of the loop takes part.
            self._is_scheduled = True
            loop.call_soon(self._start)

    def _start(self) -> None:
        self._is_scheduled = False
        if self._is_running or not self._gathered:
            return
        self._is_running = True
        asked, self._gathered = self._gathered, []
        loop = asyncio.get_running_loop()
        self.workers.executor.submit(self._run_round, asked, loop)

    def _end(self, asked: Sequence[_Asked], failures: Sequence[CommitFailure | None]) -> None:
        self._is_running = False
        self._start()
        for one, failure in zip(asked, failures, strict=True):
            one.ended(failure)

    # -- in a worker thread ----------------------------------------------------------------------

    def _run_alone(self, asked: _Asked, loop: asyncio.AbstractEventLoop) -> None:
        loop.call_soon_threadsafe(asked.ended, asked.commit.run())

    def _run_round(self, asked: Sequence[_Asked], loop: asyncio.AbstractEventLoop) -> None:
        failures = [one.commit.write(is_synced=False) for one in asked]
        written = [place for place, failure in enumerate(failures) if failure is None]
        try:
            self._journal_together([asked[place].commit for place in written])
        except OSError as error:
            for place in written:
                failures[place] = self._without_journal(asked[place].commit, error)
        loop.call_soon_threadsafe(self._end, asked, failures)

    def _journal_together(self, commits: Sequence[Commit]) -> None:
        assert self._journal is not None
        if not commits:
            return
        if self._journal_error is not None:
            raise self._journal_error
        writes = [commit.writes[0] for commit in commits]
        entries = [
            Entry(
                os.path.basename(os.path.dirname(write.segment.path)),
                write.segment.base_offset,
                write.position,
                b"".join(write.buffers),
            )
            for write in writes
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
