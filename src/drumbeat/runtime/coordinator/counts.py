"""How often things have happened to groups since the node began; only ever grows."""

from collections import Counter
from collections.abc import Iterable

from drumbeat.core.events import GroupEvent, GroupEventType


class CoordinatorCounts:
    """Of all shards of a node, so that nothing is lost when one of them goes."""

    __slots__ = (
        "completed_rebalances",
        "events",
        "load_ms_max",
        "load_ms_total",
        "loads",
        "offset_commits",
        "offset_expirations",
    )

    def __init__(self) -> None:
        self.offset_commits = 0
        self.offset_expirations = 0
        self.completed_rebalances = 0
        self.loads = 0
        self.load_ms_total = 0
        self.load_ms_max = 0
        self.events: Counter[tuple[GroupEventType, str]] = Counter()  # by type and reason

    def note(self, events: Iterable[GroupEvent]) -> None:
        for kind, _, _, fields in events:
            self.events[kind, str(fields.get("reason", ""))] += 1
            if kind is GroupEventType.PARTITION_LOADED:
                self._note_load(int(fields["load_ms"] or 0))
            elif kind is GroupEventType.REBALANCE_COMPLETED and fields["members"]:
                # One that leaves the group empty has nothing to assign; Kafka does not count it.
                self.completed_rebalances += 1

    def _note_load(self, load_ms: int) -> None:
        self.loads += 1
        self.load_ms_total += load_ms
        self.load_ms_max = max(self.load_ms_max, load_ms)
