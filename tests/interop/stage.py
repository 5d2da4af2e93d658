"""One topic, one group, and the members of any client that share it."""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import NamedTuple, Self

from drumbeat.protocol.apis.describe_groups import API as DESCRIBE_GROUPS
from drumbeat.protocol.apis.describe_groups import DescribedGroup, DescribeGroupsRequest
from drumbeat.protocol.apis.offset_fetch import API as OFFSET_FETCH
from drumbeat.protocol.apis.offset_fetch import OffsetFetchRequest
from drumbeat.protocol.consumer_protocol import decode_assignment
from interop.programs import Member, TopicPartition
from support.data_topics import batch, create_topic, produce_to
from support.waiting import wait_until
from support.wire import Wire

PARTITIONS = 6
SETTLE_TIMEOUT_S = 40.0
# Longer than any wait of these tests: who is gone within one was not timed out.
LONG_SESSION_MS = 60_000
SHORT_SESSION_MS = 6_000

_numbers = count()


class MemberOptions(NamedTuple):
    servers: str
    group_id: str
    topic: str
    assignor: str = "range"
    session_timeout_ms: int = LONG_SESSION_MS
    group_instance_id: str | None = None


# How a client's member is started.
Client = Callable[[MemberOptions], Sequence[str]]


class Stage:
    def __init__(self, servers: str, folder: Path, client: Client) -> None:
        number = next(_numbers)
        self.servers = servers
        self.group_id = f"group-{number}"
        self.wire = Wire(servers)
        # Records carry fixed times of the past; they are not to be removed for their age.
        self.topic = create_topic(
            self.wire, f"topic-{number}", partitions=PARTITIONS, retention_ms="-1"
        )
        self.partitions = {(self.topic.name, partition) for partition in range(PARTITIONS)}
        self.produced: Counter[tuple[str, int, int]] = Counter()
        self._client = client
        self._folder = folder
        self._running = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self._running.close()
        self.wire.socket.close()

    def start(
        self,
        assignor: str = "range",
        session_timeout_ms: int = LONG_SESSION_MS,
        group_instance_id: str | None = None,
        client: Client | None = None,
    ) -> Member:
        options = MemberOptions(
            self.servers,
            self.group_id,
            self.topic.name,
            assignor,
            session_timeout_ms,
            group_instance_id,
        )
        command = (client or self._client)(options)
        return self._running.enter_context(Member(command, self._folder))

    def settle(self, *members: Member) -> None:
        """Return when these members, and nobody else, share all partitions evenly."""
        wait_until(
            lambda: self._is_shared(members),
            SETTLE_TIMEOUT_S,
            f"{self.group_id} shared by {len(members)} members",
        )

    def produce(self, per_partition: int = 5) -> None:
        for name, partition in sorted(self.partitions):
            data = batch(*(b"%d" % number for number in range(per_partition)))
            answer = produce_to(self.wire, self.topic, data, partition=partition)
            assert answer.error_code == 0, answer
            offsets = range(answer.base_offset, answer.base_offset + per_partition)
            self.produced.update((name, partition, offset) for offset in offsets)

    def consume(self, *members: Member) -> None:
        """Return when these members have read all there is and committed it."""
        ends = Counter((topic, partition) for topic, partition, _ in self.produced)
        wait_until(
            lambda: committed_by(members) == ends,
            SETTLE_TIMEOUT_S,
            f"{self.group_id} reads and commits everything",
        )

    def assert_each_record_once(self, *members: Member) -> None:
        """Nothing is lost, and nothing that was committed is read again."""
        assert sum((member.consumed for member in members), Counter()) == self.produced

    def describe(self) -> DescribedGroup:
        request = DescribeGroupsRequest((self.group_id,))
        (group,) = self.wire.call(DESCRIBE_GROUPS, 5, request).groups
        return group

    def committed(self) -> dict[TopicPartition, int]:
        """What the broker says was committed."""
        answer = self.wire.call(OFFSET_FETCH, 7, OffsetFetchRequest(self.group_id, topics=None))
        assert answer.error_code == 0, answer
        return {
            (topic.name, partition.partition_index): partition.committed_offset
            for topic in answer.topics
            for partition in topic.partitions
        }

    def _is_shared(self, members: Sequence[Member]) -> bool:
        assignments = [member.assignment for member in members]
        sizes = [len(assignment) for assignment in assignments]
        is_even = max(sizes) - min(sizes) <= 1
        is_whole = sum(sizes) == PARTITIONS and set().union(*assignments) == self.partitions
        group = self.describe()
        is_stable = group.group_state == "Stable" and len(group.members) == len(members)
        return is_even and is_whole and is_stable and _is_agreed(group, assignments)


def _is_agreed(group: DescribedGroup, assignments: Sequence[set[TopicPartition]]) -> bool:
    """Whether members have what the leader of the group has told the broker that they have."""
    told = (decode_assignment(member.member_assignment) for member in group.members)
    shares = [
        sorted((part.topic, p) for part in share.assigned_partitions for p in part.partitions)
        for share in told
    ]
    return sorted(shares) == sorted(map(sorted, assignments))


def committed_by(members: Sequence[Member]) -> dict[TopicPartition, int]:
    """The newest offset of each partition, whoever has committed it."""
    newest: dict[TopicPartition, int] = {}
    for member in members:
        for partition, offset in member.committed.items():
            newest[partition] = max(offset, newest.get(partition, 0))
    return newest
