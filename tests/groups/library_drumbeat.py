"""Members made of our own consumer, the one for plain code."""

from drumbeat.client import OffsetAndMetadata, RebalanceListener, SyncConsumer, TopicPartition
from drumbeat.client.errors import CommitFailedError, KafkaError, RebalanceInProgressError
from groups.members import POLL_S, Delivery, LibraryMember, Partition


class DrumbeatMember(LibraryMember):
    library = "drumbeat"

    def _open(self) -> None:
        options = self.options
        self._consumer = SyncConsumer(
            bootstrap_servers=self.servers,
            group_id=self.group_id,
            client_id=self.name,
            group_instance_id=options.instance_id,
            partition_assignment_strategy=options.assignor,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            session_timeout_ms=options.session_ms,
            max_poll_interval_ms=options.max_poll_ms,
            heartbeat_interval_ms=options.heartbeat_ms,
            metadata_max_age_ms=options.metadata_ms,
            max_poll_records=options.max_poll_records,
            fetch_max_wait_ms=100,
        )
        self._consumer.start()

    def _subscribe(self, topics: tuple[str, ...], pattern: str | None) -> None:
        self._consumer.subscribe(topics, pattern=pattern, listener=_Listener(self))

    def _poll(self) -> None:
        polled = self._consumer.poll(int(POLL_S * 1000))
        self.deliver(
            [Delivery(r.topic, r.partition, r.offset) for rs in polled.values() for r in rs]
        )

    def _assigned(self) -> frozenset[Partition]:
        return frozenset((p.topic, p.partition) for p in self._consumer.assignment())

    def _commit(self, offsets: dict[Partition, int]) -> bool:
        """Only what the documentation tells users to expect is expected here."""
        wanted = {TopicPartition(*p): OffsetAndMetadata(offset) for p, offset in offsets.items()}
        try:
            self._consumer.commit(wanted)
        except (CommitFailedError, RebalanceInProgressError):
            return False
        except KafkaError as problem:
            if not problem.retriable:
                raise
            return False
        return True

    def _close(self) -> None:
        self._consumer.close()


class _Listener(RebalanceListener):
    """What is lost is told as revoked."""

    def __init__(self, member: DrumbeatMember) -> None:
        self._member = member

    def on_partitions_revoked(self, partitions) -> None:
        self._member.lose((p.topic, p.partition) for p in partitions)
