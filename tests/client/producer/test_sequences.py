"""Sequence numbers, and the epoch bumps that close gaps which nothing else closes (KIP-360)."""

import pytest

from drumbeat.client.producer.batch import NO_PRODUCER, ProducerBatch, ProducerIdAndEpoch
from drumbeat.client.producer.sequences import EPOCH_MAX, PartitionSequences, Sequences
from drumbeat.client.values import TopicPartition
from drumbeat.protocol.errors import ErrorCode

TP = TopicPartition("t", 0)
FIRST = ProducerIdAndEpoch(7, 0)
BUMPED = ProducerIdAndEpoch(7, 1)


class Books:
    """One partition with batches of two records on their way."""

    def __init__(self, in_flight: int, *, acked: int = 0, producer=FIRST) -> None:
        self.all = Sequences()
        self.all.identify(producer)
        self.partition = PartitionSequences()
        self.batches = [self.new() for _ in range(acked + in_flight)]
        for number, batch in enumerate(self.batches):
            self.all.assign(self.partition, batch)
            if number < acked:
                self.all.acknowledged(self.partition, batch, 2 * number)
        del self.batches[:acked]

    @staticmethod
    def new() -> ProducerBatch:
        batch = ProducerBatch(TP, created_ms=0)
        for _ in range(2):
            batch.append(0, None, b"v", (), 10)
        return batch

    def refused(self, number: int, error: ErrorCode, log_start_offset: int = 0) -> bool:
        batch = self.batches[number]
        return self.all.should_retry(self.partition, batch, error, log_start_offset)

    @property
    def numbers(self) -> list[tuple[int, int]]:
        """Epoch and sequence of what is in flight."""
        return [(batch.producer.epoch, batch.sequence) for batch in self.partition.in_flight]


def test_numbers_follow_each_other():
    books = Books(3)
    assert books.numbers == [(0, 0), (0, 2), (0, 4)]


def test_until_one_is_stored_there_is_only_one():
    """A broker takes any sequence from a producer that it does not know."""
    books = Books(1)
    assert not books.all.may_send(books.partition, books.new())
    books.all.acknowledged(books.partition, books.batches[0], 0)
    books.all.assign(books.partition, books.new())
    assert books.all.may_send(books.partition, books.new())


def test_only_the_oldest_is_sent_again():
    books = Books(2)
    assert books.all.may_send(books.partition, books.batches[0])
    assert not books.all.may_send(books.partition, books.batches[1])


# What was acknowledged before, which batch is refused and how -> the epoch afterwards.
REFUSALS = [
    ("a batch behind a lost one", 1, 1, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, 0),
    ("the next one: the broker lost something", 1, 0, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, 1),
    ("the first of all", 0, 0, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, 1),
    ("the producer was forgotten", 1, 0, ErrorCode.UNKNOWN_PRODUCER_ID, 1),
    ("the leader has moved", 1, 0, ErrorCode.NOT_LEADER_OR_FOLLOWER, 0),
]


@pytest.mark.parametrize(("acked", "number", "error", "epoch"), [row[1:] for row in REFUSALS])
def test_which_refusals_raise_the_epoch(acked: int, number: int, error: ErrorCode, epoch: int):
    books = Books(2, acked=acked)
    assert books.refused(number, error)
    books.all.settle()
    assert books.all.producer.epoch == epoch
    expected = [(1, 0), (1, 2)] if epoch else [(0, 2 * acked), (0, 2 * acked + 2)]
    assert books.numbers == expected


def test_a_forgotten_producer_is_asked_again_while_the_partition_moves():
    books = Books(1)
    assert books.refused(0, ErrorCode.UNKNOWN_PRODUCER_ID, log_start_offset=-1)
    books.all.settle()
    assert books.all.producer == FIRST


def test_those_already_numbered_anew_do_not_raise_the_epoch_again():
    books = Books(3, acked=1)
    assert books.refused(0, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    books.all.settle()
    for number in (1, 2):  # answers to the bytes with the old numbers
        assert books.refused(number, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    books.all.settle()
    assert books.all.producer == BUMPED
    assert books.numbers == [(1, 0), (1, 2), (1, 4)]


def test_what_cannot_succeed_is_not_tried_again():
    assert not Books(1).refused(0, ErrorCode.INVALID_RECORD)


def test_a_refused_batch_leaves_no_gap():
    books = Books(3)
    books.all.failed(books.partition, books.batches[0], is_refused=True)
    books.all.settle()
    assert books.numbers == [(1, 0), (1, 2)]


def test_an_expired_batch_holds_back_new_ones_until_it_is_clear():
    """It may be in the log: if the next one is taken, it is; the numbers go on."""
    books = Books(2, acked=1)
    expired, following = books.batches
    books.all.failed(books.partition, expired, is_refused=False)
    books.all.settle()
    assert not books.all.may_send(books.partition, books.new())
    books.all.acknowledged(books.partition, following, 4)
    books.all.settle()
    assert books.all.producer == FIRST
    assert books.all.may_send(books.partition, books.new())


def test_an_expired_batch_that_is_not_in_the_log_takes_an_epoch():
    books = Books(2)
    expired, _ = books.batches
    books.all.failed(books.partition, expired, is_refused=False)
    assert books.refused(1, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    books.all.settle()
    assert books.numbers == [(1, 0)]
    assert not books.partition.is_unresolved


def test_when_all_have_expired_the_epoch_rises():
    books = Books(2)
    for batch in books.batches:
        books.all.failed(books.partition, batch, is_refused=False)
    books.all.settle()
    assert books.all.producer == BUMPED
    fresh = books.new()
    assert books.all.may_send(books.partition, fresh)
    books.all.assign(books.partition, fresh)
    assert (fresh.producer, fresh.sequence) == (BUMPED, 0)


def test_other_partitions_finish_under_the_old_epoch():
    books = Books(1, acked=1)
    other = PartitionSequences()
    waiting, fresh = books.new(), books.new()
    books.all.assign(other, waiting)
    assert books.refused(0, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    books.all.settle()
    assert (waiting.producer, books.all.may_send(other, waiting)) == (FIRST, True)
    assert not books.all.may_send(other, fresh)
    books.all.acknowledged(other, waiting, 0)
    books.all.assign(other, fresh)
    assert (fresh.producer, fresh.sequence) == (BUMPED, 0)


def test_when_epochs_are_used_up_another_id_is_needed():
    books = Books(1, acked=1, producer=ProducerIdAndEpoch(7, EPOCH_MAX))
    assert books.refused(0, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    books.all.settle()
    assert books.all.producer == NO_PRODUCER
    assert not books.all.may_send(books.partition, books.batches[0])
    books.all.identify(ProducerIdAndEpoch(8, 0))
    assert books.batches[0].producer == ProducerIdAndEpoch(8, 0)
    assert books.all.may_send(books.partition, books.batches[0])


def test_sequences_begin_again_after_the_last():
    books = Books(0)
    books.partition.producer = FIRST
    books.partition.next_sequence = 2**31 - 1
    books.partition.last_acked_sequence = 2**31 - 2
    batch = books.new()
    books.all.assign(books.partition, batch)
    assert books.partition.next_sequence == 1
    books.all.acknowledged(books.partition, batch, 0)
    assert books.partition.last_acked_sequence == 0
    assert books.partition.is_next(books.partition.next_sequence)
