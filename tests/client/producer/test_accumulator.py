"""When batches are due, what goes along, what comes back, what expires."""

from collections.abc import Mapping

import pytest

from drumbeat.client.producer.accumulator import Accumulator, AccumulatorSettings
from drumbeat.client.producer.batch import ProducerBatch, ProducerIdAndEpoch
from drumbeat.client.producer.sequences import Sequences
from drumbeat.client.values import TopicPartition

A, B, C = (TopicPartition("t", partition) for partition in range(3))
SETTINGS = AccumulatorSettings(
    batch_size=1000, linger_ms=5, delivery_timeout_ms=1000, max_request_size=3000
)


class Stage:
    """An accumulator whose partitions have these leaders."""

    def __init__(
        self,
        settings: AccumulatorSettings = SETTINGS,
        leaders: Mapping[TopicPartition, int] | None = None,
        *,
        is_idempotent: bool = True,
    ) -> None:
        self.leaders = dict(leaders or {A: 1, B: 1, C: 2})
        self.sequences = Sequences() if is_idempotent else None
        if self.sequences is not None:
            self.sequences.identify(ProducerIdAndEpoch(7, 0))
        self.accumulator = Accumulator(settings, self.sequences)

    def append(self, tp: TopicPartition, at_ms: int, size: int = 100) -> ProducerBatch:
        queue = self.accumulator.queue(tp)
        batch = queue.open
        if batch is None or batch.size + size > 1000:
            batch = self.accumulator.open_batch(queue, at_ms)
        batch.append(at_ms, None, b"v", (), size)
        self.accumulator.used_bytes += size
        return batch

    def begin(self, *tps: TopicPartition) -> None:
        """Have a first batch of each partition stored: until then there is only one at a time."""
        for tp in tps:
            self.append(tp, 0)
            (batch,) = self.drain(self.leaders[tp], 9)
            self.sequences.acknowledged(self.accumulator.queue(tp).sequences, batch, 0)
            self.accumulator.complete(batch)

    def due(self, at_ms: int) -> tuple[set[int], int | None]:
        found = self.accumulator.due(self.leaders.get, at_ms)
        return set(found.nodes), found.next_check_ms

    def drain(self, node_id: int, at_ms: int) -> list[ProducerBatch]:
        return self.accumulator.drain(node_id, self.leaders.get, at_ms)


def test_a_batch_lingers_unless_it_is_full_or_someone_waits():
    stage = Stage()
    batch = stage.append(A, 100)
    assert stage.due(100) == (set(), 105)
    assert stage.due(105) == ({1}, None)
    stage.accumulator.waiters = 1
    assert stage.due(100) == ({1}, None)
    stage.accumulator.waiters = 0
    stage.accumulator.close_batch(stage.accumulator.queue(A))
    assert batch.is_full
    assert stage.due(100) == ({1}, None)


def test_a_second_batch_makes_the_first_due():
    stage = Stage()
    stage.append(A, 100, 900)
    stage.append(A, 101, 900)
    assert stage.due(101) == ({1}, None)


def test_what_lingers_goes_along_with_what_is_due_after_half_of_its_time():
    stage = Stage()
    first, second, elsewhere = stage.append(A, 100), stage.append(B, 103), stage.append(C, 104)
    young = stage.append(TopicPartition("t", 3), 104)
    stage.leaders[young.topic_partition] = 1
    assert stage.drain(1, 105) == [first, second]
    assert stage.due(105) == (set(), 109)
    assert stage.drain(2, 109) == [elsewhere]


def test_one_batch_of_a_partition_per_request_and_turns_for_all():
    settings = SETTINGS._replace(max_request_size=1000)
    stage = Stage(settings)
    stage.begin(A, B)
    a1, b1 = stage.append(A, 0, 900), stage.append(B, 0, 900)
    a2, b2 = stage.append(A, 1, 900), stage.append(B, 1, 900)
    assert [stage.drain(1, 9) for _ in range(5)] == [[a1], [b1], [a2], [b2], []]


def test_a_batch_larger_than_a_request_still_goes_alone():
    stage = Stage(SETTINGS._replace(max_request_size=10))
    batch = stage.append(A, 0, 900)
    assert stage.drain(1, 9) == [batch]


def test_leaderless_topics_are_reported():
    stage = Stage(leaders={A: 1})
    stage.append(B, 0)
    due = stage.accumulator.due(stage.leaders.get, 9)
    assert (due.nodes, due.leaderless) == (frozenset(), {"t"})


def test_batches_to_be_sent_again_come_first_and_one_by_one():
    stage = Stage()
    stage.begin(A)
    batches = [stage.append(A, at_ms, 900) for at_ms in range(4)]
    sent = [stage.drain(1, 9)[0] for _ in range(3)]
    assert sent == batches[:3]
    for batch in (sent[1], sent[0], sent[2]):  # answers come in any order
        stage.accumulator.retry(batch, at_ms=20)
    assert stage.due(19) == (set(), 20)
    assert stage.drain(1, 20) == [batches[0]]
    assert stage.drain(1, 20) == []  # the second waits for the first
    stage.sequences.acknowledged(stage.accumulator.queue(A).sequences, batches[0], 1)
    stage.accumulator.complete(batches[0])
    assert stage.drain(1, 20) == [batches[1]]


def test_another_leader_is_not_made_to_wait():
    stage = Stage()
    batch = stage.append(A, 0)
    stage.drain(1, 9)
    stage.accumulator.retry(batch, at_ms=500)
    assert stage.due(10) == (set(), 500)
    stage.leaders[A] = 2
    assert stage.due(10) == ({2}, None)
    assert stage.drain(2, 10) == [batch]


def test_without_sequences_what_comes_back_goes_to_the_front():
    stage = Stage(is_idempotent=False)
    first = stage.append(A, 0, 900)
    stage.append(A, 1, 900)
    assert stage.drain(1, 9) == [first]
    stage.accumulator.retry(first, at_ms=10)
    assert stage.drain(1, 10) == [first]


def test_muting_keeps_a_partition_to_one_batch():
    stage = Stage(SETTINGS._replace(keeps_order_by_muting=True), is_idempotent=False)
    first, second = stage.append(A, 0, 900), stage.append(A, 1, 900)
    assert stage.drain(1, 9) == [first]
    assert stage.due(9) == (set(), None)
    stage.accumulator.complete(first)
    assert stage.drain(1, 9) == [second]


@pytest.mark.parametrize("is_sent", [False, True])
def test_batches_expire_whether_sent_or_not(is_sent: bool):
    stage = Stage()
    old, young = stage.append(A, 0), stage.append(B, 400)
    if is_sent:
        assert stage.drain(1, 500) == [old, young]
    assert stage.accumulator.take_expired(999) == ([], 1000)
    assert stage.accumulator.take_expired(1000) == ([old], 1400)


def test_memory_is_counted_until_the_outcome():
    stage = Stage()
    big = stage.append(A, 0, 900)
    small = stage.append(B, 0, 50)
    assert stage.accumulator.used_bytes == big.size + small.size
    stage.drain(1, 9)
    stage.accumulator.complete(big)
    assert stage.accumulator.used_bytes == small.size
    stage.accumulator.complete(small)
    assert stage.accumulator.used_bytes == 0


def test_split_batches_take_the_place_of_the_whole():
    stage = Stage()
    first = stage.append(A, 0)
    for _ in range(7):
        assert stage.append(A, 0) is first
    stage.append(A, 1, 900)
    stage.drain(1, 9)
    stage.accumulator.split(first)
    parts = stage.accumulator.queue(A).sequences.in_flight
    assert len(parts) > 1
    assert sum(len(part.rows) for part in parts) == 8
    assert stage.drain(1, 9) == [parts[0]]
    assert stage.accumulator.used_bytes == sum(b.size for b in stage.accumulator.incomplete())
