"""Members made of kafka-python."""

import warnings

from groups.members import LONG_POLL_S, Delivery, LibraryMember, Partition
from support.kafka_python_joins import JoinReminder

with warnings.catch_warnings():
    # kafka-python reads its message schemas with a call that Python 3.11 deprecates.
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka.errors
    from kafka import ConsumerRebalanceListener, KafkaConsumer, OffsetAndMetadata, TopicPartition
    from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
    from kafka.coordinator.assignors.range import RangePartitionAssignor
    from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
    from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}


class KafkaPythonMember(LibraryMember):
    library = "kafka-python"

    def _open(self) -> None:
        options = self.options
        self._consumer = KafkaConsumer(
            bootstrap_servers=self.servers,
            group_id=self.group_id,
            client_id=self.name,
            group_instance_id=options.instance_id,
            partition_assignment_strategy=(ASSIGNORS[options.assignor],),
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            session_timeout_ms=options.session_ms,
            max_poll_interval_ms=options.max_poll_ms,
            heartbeat_interval_ms=options.heartbeat_ms,
            metadata_max_age_ms=options.metadata_ms,
            max_poll_records=options.max_poll_records,
            fetch_max_wait_ms=100,
        )
        self._joins = JoinReminder(self._consumer)

    def _subscribe(self, topics: tuple[str, ...], pattern: str | None) -> None:
        listener = _Listener(self)
        if pattern is None:
            self._consumer.subscribe(topics=list(topics), listener=listener)
        else:
            self._consumer.subscribe(pattern=pattern, listener=listener)

    def _poll(self) -> None:
        self._joins.remind()
        try:
            polled = self._consumer.poll(timeout_ms=int(LONG_POLL_S * 1000))
        except kafka.errors.KafkaConnectionError:
            return  # it will try again
        self.deliver(
            [Delivery(r.topic, r.partition, r.offset) for rs in polled.values() for r in rs]
        )

    def _assigned(self) -> frozenset[Partition]:
        return frozenset((p.topic, p.partition) for p in self._consumer.assignment())

    def _commit(self, offsets: dict[Partition, int]) -> bool:
        wanted = {
            TopicPartition(*partition): OffsetAndMetadata(offset, "", -1)
            for partition, offset in offsets.items()
        }
        try:
            self._consumer.commit(wanted)
        except kafka.errors.KafkaError:
            return False
        return True

    def _close(self) -> None:
        self._consumer.close(autocommit=False)


class _Listener(ConsumerRebalanceListener):
    def __init__(self, member: KafkaPythonMember) -> None:
        self._member = member

    def on_partitions_revoked(self, revoked: list[TopicPartition]) -> None:
        self._member.lose((p.topic, p.partition) for p in revoked)

    def on_partitions_lost(self, lost: list[TopicPartition]) -> None:
        self.on_partitions_revoked(lost)

    def on_partitions_assigned(self, assigned: list[TopicPartition]) -> None:
        """The member looks after every poll."""
