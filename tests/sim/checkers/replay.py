"""S9 and S11: one writer at a time, and memory that says what the log says, however it is read."""

import traceback
from random import Random

from drumbeat.runtime.coordinator.shard import Shard, ShardState
from sim.ledger import Entry, Ledger, compacted, replay
from sim.watch import Checker, Verdict
from support.invariants import check_session

COMPACT_EVERY = 40  # batches


class ReplayChecker(Checker):
    def __init__(self, verdict: Verdict, rng: Random) -> None:
        super().__init__(verdict)
        self._rng = rng

    def loaded(self, shard: Shard, ledger: Ledger) -> None:
        self._check_compaction(shard, ledger)

    def stepped(self, shard: Shard, ledger: Ledger) -> None:
        if shard.state is not ShardState.ACTIVE:
            return
        if shard._durable != ledger.state:
            self.verdict.violate("S11", f"{shard}: {shard._durable} is not {ledger.state}")
        try:
            check_session(shard._durable, shard._session)
        except AssertionError as problem:
            broken = traceback.extract_tb(problem.__traceback__)[-1].line
            self.verdict.violate("session", f"{shard}: {broken}")

    def appended(self, shard: Shard, ledger: Ledger, entry: Entry) -> None:
        if len(ledger.entries) % COMPACT_EVERY == 0:
            self._check_compaction(shard, ledger)

    def _check_compaction(self, shard: Shard, ledger: Ledger) -> None:
        lines = ledger.lines
        if replay(lines) != ledger.state:
            self.verdict.violate("S11", f"{shard}: a replay from nothing differs")
        if replay(compacted(lines, self._rng)) != ledger.state:
            self.verdict.violate("S11", f"{shard}: a replay of the compacted log differs")


class ParkingChecker(Checker):
    """L3: a request waits for other members or for the disk, or it is answered."""

    def stepped(self, shard: Shard, ledger: Ledger) -> None:
        log = shard.partition.log
        if shard.state is not ShardState.ACTIVE or log.end_offset > log.synced_offset:
            return
        parked = {
            request.request_id
            for group in shard._session.groups.values()
            for request in (*group.joins.values(), *group.syncs.values())
        }
        # The request that made this step is registered when the step is over.
        waiting = {*shard._waiting, *(parked & {shard._request_id})}
        if parked != waiting:
            self.verdict.violate("L3", f"{shard}: {parked} are parked, but {waiting} wait")


class EpochChecker(Checker):
    """Leader epochs in the log never go back, and each batch follows the one before."""

    def loaded(self, shard: Shard, ledger: Ledger) -> None:
        epochs = [entry.epoch for entry in ledger.entries]
        if epochs != sorted(epochs) or (epochs and epochs[-1] > shard.partition.log.epoch):
            self.verdict.violate("S9", f"{shard}: epochs {epochs}")

    def appended(self, shard: Shard, ledger: Ledger, entry: Entry) -> None:
        if entry.epoch != shard.partition.log.epoch:
            self.verdict.violate("S9", f"{shard}: wrote in epoch {entry.epoch}")
        if len(ledger.entries) > 1:
            before = ledger.entries[-2]
            if before.lines[-1].offset + 1 != entry.base_offset or before.epoch > entry.epoch:
                self.verdict.violate("S9", f"{shard}: {entry} does not follow {before}")
