"""The steps of java/ConsumerSteps.java with our consumer: callbacks, commits, removal."""

from contextlib import ExitStack
from typing import Any

from drumbeat.client import OffsetAndMetadata, RebalanceListener, SyncAdmin, SyncConsumer
from drumbeat.client.admin import NewTopic
from drumbeat.client.errors import KafkaError
from interop.stage import PARTITIONS
from support.waiting import wait_until

POLL_MS = 20
TIMEOUT_S = 30.0
LONG_MS, SHORT_MS = 300_000, 1_000


class Member(RebalanceListener):
    """A consumer, and what its listener was told: the verb and how many partitions."""

    def __init__(self, consumer: SyncConsumer) -> None:
        self.consumer = consumer
        self._calls: list[list[Any]] = []

    @property
    def generation_id(self) -> int:
        return self.consumer.group_metadata().generation_id

    def take_calls(self) -> list[list[Any]]:
        """What was told since the last time."""
        taken, self._calls = self._calls, []
        return taken

    def on_partitions_revoked(self, partitions) -> None:
        self._note("revoked", partitions)

    def on_partitions_assigned(self, partitions) -> None:
        self._note("assigned", partitions)

    def on_partitions_lost(self, partitions) -> None:
        self._note("lost", partitions)

    def _note(self, verb: str, partitions) -> None:
        """A cooperative rebalance may take a round more; one that moves nothing is left out."""
        if partitions:
            self._calls.append([verb, len(partitions)])


class ConsumerSteps:
    def __init__(self, servers: str, topic: str, group_id: str, assignor: str) -> None:
        self._servers = servers
        self._topic = topic
        self._group_id = group_id
        self._assignor = assignor
        self._settled_generation = 0
        self._stack = ExitStack()
        self._steps: dict[str, dict[str, Any]] = {}

    def run(self) -> dict[str, dict[str, Any]]:
        with self._stack:
            self._admin = self._stack.enter_context(SyncAdmin(bootstrap_servers=self._servers))
            self._first, self._second = self._member(), self._member()
            self._join()
            self._commit()
            self._enforce()
            self._leave()
            self._remove()
            self._stall()
            self._match_pattern()
        return self._steps

    def _join(self) -> None:
        first, second = self._first, self._second
        first.consumer.subscribe([self._topic], listener=first)
        self._settle(PARTITIONS, first)
        self._report("alone", first=first)
        second.consumer.subscribe([self._topic], listener=second)
        self._settle(PARTITIONS, first, second)
        self._report("joined", first=first, second=second)

    def _commit(self) -> None:
        tp = min(self._first.consumer.assignment())
        self._first.consumer.commit({tp: OffsetAndMetadata(5, "why", 0)})
        committed = self._second.consumer.committed([tp])[tp]
        assert committed is not None
        self._steps["committed"] = committed._asdict()

    def _enforce(self) -> None:
        self._first.consumer.enforce_rebalance("the test asks for it")
        self._settle(PARTITIONS, self._first, self._second)
        self._report("enforced", first=self._first, second=self._second)

    def _leave(self) -> None:
        self._second.consumer.close()
        self._settle(PARTITIONS, self._first)
        self._report("left", first=self._first, second=self._second)

    def _remove(self) -> None:
        consumer = self._first.consumer
        before = consumer.group_metadata().member_id
        self._admin.remove_members(self._group_id)
        refused = "none"
        try:
            consumer.commit({min(consumer.assignment()): OffsetAndMetadata(6)})
        except KafkaError as problem:
            refused = type(problem).__name__.removesuffix("Error")
        self._settle(PARTITIONS, self._first)
        is_new_member = consumer.group_metadata().member_id != before
        self._report("removed", first=self._first)
        self._steps["removed"] |= {"commit": refused, "is_new_member": is_new_member}

    def _stall(self) -> None:
        self._first.consumer.close()
        slow = self._member(SHORT_MS)
        slow.consumer.subscribe([self._topic], listener=slow)
        self._settle(PARTITIONS, slow)
        slow.take_calls()
        wait_until(self._is_empty, TIMEOUT_S, "it is taken for stuck")
        self._settle(PARTITIONS, slow)
        self._report("stalled", slow=slow)
        slow.consumer.close()

    def _match_pattern(self) -> None:
        matching = self._member()
        matching.consumer.subscribe(pattern=f"{self._topic}.*", listener=matching)
        self._settle(PARTITIONS, matching)
        matching.take_calls()
        self._admin.create_topics([NewTopic(name=f"{self._topic}-more", num_partitions=2)])
        self._settle(PARTITIONS + 2, matching)
        self._report("matched", matching=matching)
        matching.consumer.close()

    # -- what the steps are made of --------------------------------------------------------------

    def _member(self, max_poll_interval_ms: int = LONG_MS) -> Member:
        consumer = SyncConsumer(
            bootstrap_servers=self._servers,
            group_id=self._group_id,
            enable_auto_commit=False,
            heartbeat_interval_ms=200,
            metadata_max_age_ms=200,
            partition_assignment_strategy=self._assignor,
            max_poll_interval_ms=max_poll_interval_ms,
        )
        return Member(self._stack.enter_context(consumer))

    def _settle(self, partitions: int, *members: Member) -> None:
        """Until they share the partitions evenly, in one generation that is a new one."""

        def is_settled() -> bool:
            for member in members:
                member.consumer.poll(POLL_MS)
            shares = {len(member.consumer.assignment()) for member in members}
            generations = {member.generation_id for member in members}
            return (
                shares == {partitions // len(members)}
                and len(generations) == 1
                and min(generations) > self._settled_generation
            )

        wait_until(is_settled, TIMEOUT_S, f"{partitions} partitions for {len(members)}")
        self._settled_generation = members[0].generation_id

    def _report(self, step: str, **members: Member) -> None:
        self._steps[step] = {name: member.take_calls() for name, member in members.items()}

    def _is_empty(self) -> bool:
        (group,) = self._admin.describe_groups([self._group_id]).values()
        return group.state == "Empty"
