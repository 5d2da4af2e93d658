"""Shards with a bug, to see that the checkers would notice one."""

from typing import Any

from sim.watch import WatchedShard

from drumbeat.core.classic.group import ClassicGroup
from drumbeat.core.outcome import Context, Outcome, Reply
from drumbeat.core.session import follow


class AnswersBeforeSync(WatchedShard):
    """Replies leave at once, whatever the disk has."""

    def _answer(self, replies: tuple[Reply, ...]) -> None:
        super()._answer(())
        for reply in replies:
            self._deliver(reply)
