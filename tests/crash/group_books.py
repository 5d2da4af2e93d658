"""What a group was given, tried to commit and was told is committed; and what a broker may say.

A commit that was acknowledged counts for ever. One that was tried and not answered may count or
not, but once it has been seen it counts for ever too. Nothing else was ever committed.
"""

import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping

from groups.members import Delivery, Partition, next_offsets


class Books:
    """Of one group. Its members write here what they do, from their own threads."""

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.commits = 0
        self._lock = threading.Lock()
        self._newest: dict[tuple[str, Partition], Delivery] = {}  # not committed, by member
        self._read: defaultdict[Partition, int] = defaultdict(int)  # everything below was given
        self._tried: defaultdict[Partition, set[int]] = defaultdict(set)
        self._floor: dict[Partition, int] = {}  # acknowledged, or seen
        self._problems: list[str] = []

    # -- by members, as they do with groups.members.Ledger ---------------------------------------

    def deliver(self, member: str, batch: list[Delivery]) -> None:
        with self._lock:
            for record in batch:
                partition = record[:2]
                if record.offset > self._read[partition]:
                    self._problems.append(f"{member} skips from {self._read[partition]}: {record}")
                self._read[partition] = max(self._read[partition], record.offset + 1)
                self._newest[member, partition] = record

    def pending(self, member: str) -> list[Delivery]:
        """What the member is about to commit."""
        with self._lock:
            pending = [record for (name, _), record in self._newest.items() if name == member]
            for partition, offset in next_offsets(pending).items():
                self._tried[partition].add(offset)
            return pending

    def commit(self, member: str, records: list[Delivery]) -> None:
        """The commit of these was acknowledged."""
        with self._lock:
            self.commits += 1
            for partition, offset in next_offsets(records).items():
                self._raise_floor(partition, offset)
                if self._newest.get((member, partition)) in records:
                    del self._newest[member, partition]

    def lose(self, member: str, partitions: Iterable[Partition]) -> None:
        with self._lock:
            for partition in partitions:
                self._newest.pop((member, partition), None)

    # -- by whoever looks at the broker ----------------------------------------------------------

    @property
    def acknowledged(self) -> dict[Partition, int]:
        """From here on no less may be committed."""
        with self._lock:
            return dict(self._floor)

    def check(self, least: Mapping[Partition, int], committed: Mapping[Partition, int]) -> None:
        """`committed` is what the broker told, and `least` what was acknowledged before it did."""
        with self._lock:
            assert not self._problems, f"{self.group_id}: {self._problems}"
            for partition, offset in least.items():
                found = committed.get(partition)
                assert found is not None, f"{self.group_id}: {partition} vanished, was {offset}"
                assert found >= offset, f"{self.group_id}: {partition} from {offset} to {found}"
            for partition, offset in committed.items():
                is_tried = offset in self._tried[partition]
                assert is_tried, f"{self.group_id}: {partition} at {offset}, which nobody committed"
                self._raise_floor(partition, offset)
            self._forget_below(least)

    def _raise_floor(self, partition: Partition, offset: int) -> None:
        self._floor[partition] = max(self._floor.get(partition, 0), offset)

    def _forget_below(self, least: Mapping[Partition, int]) -> None:
        """No later look may find less, so that an hour takes no more memory than a minute."""
        for partition, offset in least.items():
            self._tried[partition] = {tried for tried in self._tried[partition] if tried >= offset}
