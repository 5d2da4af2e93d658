"""The queue of answers on its own: order, and when the next request has to wait."""

from drumbeat.runtime.requests import Deferred
from drumbeat.server.answers import PENDING_BYTES_MAX, PENDING_MAX, Answers


def waits_for_disk() -> Deferred:
    return Deferred(mutes=False)


def test_answers_leave_in_the_order_of_the_requests():
    answers = Answers()
    answers.add(b"a")
    first, second = (answers.reserve(waits_for_disk(), 1) for _ in range(2))
    answers.add(b"d")
    assert answers.take() == b"a"
    answers.fill(second, b"c")
    assert not answers.ready
    answers.fill(first, b"b")
    assert answers.take() == b"bcd"
    assert not answers.slots


def test_a_muting_answer_blocks_until_it_has_left():
    answers = Answers()
    before = answers.reserve(waits_for_disk(), 1)
    assert not answers.blocks_next()
    muting = answers.reserve(Deferred(mutes=True), 1)
    assert answers.blocks_next()
    answers.fill(muting, b"2")
    assert answers.blocks_next()
    answers.fill(before, b"1")
    assert not answers.blocks_next()


def test_requests_in_progress_are_limited_in_number():
    answers = Answers()
    slots = [answers.reserve(waits_for_disk(), 1) for _ in range(PENDING_MAX - 1)]
    assert not answers.blocks_next()
    answers.add(b"x")
    assert answers.blocks_next()
    answers.fill(slots[0], b"y")
    assert not answers.blocks_next()


def test_requests_in_progress_are_limited_in_bytes():
    answers = Answers()
    large = answers.reserve(waits_for_disk(), PENDING_BYTES_MAX - 1)
    assert not answers.blocks_next()
    answers.reserve(waits_for_disk(), 1)
    assert answers.blocks_next()
    answers.fill(large, b"")
    assert not answers.blocks_next()


def test_answers_that_wait_for_an_earlier_one_are_limited_in_bytes():
    answers = Answers()
    first = answers.reserve(waits_for_disk(), 1)
    answers.add(b"x" * PENDING_BYTES_MAX)
    assert answers.blocks_next()
    answers.fill(first, b"")
    assert not answers.blocks_next()
    assert len(answers.take()) == PENDING_BYTES_MAX


def test_those_who_wait_hear_that_the_client_is_gone():
    abandoned = []
    answers = Answers()
    for name in "ab":
        deferred = waits_for_disk()
        deferred.on_abandoned = lambda name=name: abandoned.append(name)
        answers.reserve(deferred, 1)
    answers.abandon()
    assert abandoned == ["a", "b"]
    assert not answers.slots
