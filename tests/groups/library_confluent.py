"""Members made of confluent-kafka, which is librdkafka."""

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from groups.members import POLL_S, Delivery, LibraryMember, Partition


class ConfluentMember(LibraryMember):
    library = "confluent-kafka"
    log_level = 6  # as syslog counts: what goes to stderr

    def _open(self) -> None:
        options = self.options
        settings = {
            "bootstrap.servers": self.servers,
            "group.id": self.group_id,
            "client.id": self.name,
            "partition.assignment.strategy": options.assignor,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "session.timeout.ms": options.session_ms,
            "max.poll.interval.ms": options.max_poll_ms,
            "heartbeat.interval.ms": options.heartbeat_ms,
            "topic.metadata.refresh.interval.ms": options.metadata_ms,
            "fetch.wait.max.ms": 100,
            "log_level": self.log_level,
        }
        if options.instance_id is not None:
            settings["group.instance.id"] = options.instance_id
        self._consumer = Consumer(settings)

    def _subscribe(self, topics: tuple[str, ...], pattern: str | None) -> None:
        names = list(topics) if pattern is None else [pattern]
        self._consumer.subscribe(names, on_revoke=self._on_lost, on_lost=self._on_lost)

    def _on_lost(self, _consumer: Consumer, lost: list[TopicPartition]) -> None:
        self.lose((p.topic, p.partition) for p in lost)

    def _poll(self) -> None:
        messages = self._consumer.consume(self.options.max_poll_records, timeout=POLL_S)
        for message in messages:
            if message.error() and message.error().code() == KafkaError._FATAL:
                raise KafkaException(message.error())
        read = [message for message in messages if not message.error()]
        self.deliver([Delivery(m.topic(), m.partition(), m.offset()) for m in read])

    def _assigned(self) -> frozenset[Partition]:
        return frozenset((p.topic, p.partition) for p in self._consumer.assignment())

    def _commit(self, offsets: dict[Partition, int]) -> bool:
        wanted = [TopicPartition(*partition, offset) for partition, offset in offsets.items()]
        try:
            self._consumer.commit(offsets=wanted, asynchronous=False)
        except KafkaException:
            return False
        return True

    def _close(self) -> None:
        self._consumer.close()
