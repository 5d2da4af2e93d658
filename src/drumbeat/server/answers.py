"""The answers of one connection: they leave in the order of the requests, whenever they come."""

from collections import deque

from drumbeat.protocol.pieces import Pieces, join
from drumbeat.runtime.requests import Deferred

PENDING_MAX = 100  # requests in progress
PENDING_BYTES_MAX = 16 << 20  # of these requests, and of answers that wait for an earlier one


class Slot:
    """The place in the order of answers that one request holds until it is answered."""

    __slots__ = ("deferred", "frame", "size")

    def __init__(self, deferred: Deferred | None, frame: bytes | Pieces | None, size: int) -> None:
        self.deferred = deferred
        self.frame = frame  # the answer, once it is there
        self.size = size  # of the request while it is in progress, then of its answer


class Answers:
    def __init__(self) -> None:
        self.slots: deque[Slot] = deque()  # one for each request in progress, and those behind it
        self.ready: list[bytes | Pieces] = []  # answers that can leave
        self._pending_bytes = 0

    def add(self, frame: bytes | Pieces) -> None:
        """The answer to a request that took no time; it still waits for those before it."""
        if self.slots:
            self._append(Slot(None, frame, len(frame)))
        else:
            self.ready.append(frame)

    def reserve(self, deferred: Deferred, request_bytes: int) -> Slot:
        """A place for an answer that is still to come."""
        slot = Slot(deferred, None, request_bytes)
        self._append(slot)
        return slot

    def fill(self, slot: Slot, frame: bytes | Pieces) -> None:
        """The answer for a place; it leaves with all that waited for it and for nothing else."""
        slot.frame = frame
        self._pending_bytes += len(frame) - slot.size
        slot.size = len(frame)
        while self.slots and (first := self.slots[0].frame) is not None:
            self._pending_bytes -= self.slots.popleft().size
            self.ready.append(first)

    def take(self) -> bytes | Pieces:
        """What can leave now, all in one."""
        ready = self.ready
        data = ready[0] if len(ready) == 1 else join(ready)
        ready.clear()
        return data

    def abandon(self) -> None:
        """Nobody is there to answer to."""
        for slot in self.slots:
            if slot.deferred is not None:
                slot.deferred.abandon()
        self.slots.clear()
        self.ready.clear()

    def blocks_next(self) -> bool:
        """Whether the next request has to wait for an answer to one before it."""
        slots = self.slots
        if not slots:
            return False
        # Nothing follows a request that mutes, so only the last one can.
        last = slots[-1].deferred
        is_muted = last is not None and last.mutes
        return is_muted or len(slots) >= PENDING_MAX or self._pending_bytes >= PENDING_BYTES_MAX

    def _append(self, slot: Slot) -> None:
        self.slots.append(slot)
        self._pending_bytes += slot.size
