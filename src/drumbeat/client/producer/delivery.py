"""What `send` returns: a future of one record that costs next to nothing until it is awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from functools import partial
from typing import Any

from drumbeat.client.errors import error_for
from drumbeat.client.producer.batch import NO_OFFSET, NO_TIMESTAMP, ProduceResult
from drumbeat.client.values import RecordMetadata
from drumbeat.protocol.errors import ErrorCode


class DeliveryFuture:
    """`await` it for the record's RecordMetadata, or for the error that kept it from the log.

    Many may await the same one, and cancelling one of them leaves the record alone: what has been
    given to `send` is on its way.
    """

    __slots__ = ("_index", "_key_size", "_result", "_timestamp", "_value_size")

    def __init__(
        self, result: ProduceResult, index: int, timestamp: int, key_size: int, value_size: int
    ) -> None:
        self._result = result
        self._index = index
        self._timestamp = timestamp
        self._key_size = key_size
        self._value_size = value_size

    def __await__(self) -> Generator[Any, None, RecordMetadata]:
        if not self._result.is_done:
            waiter = asyncio.get_running_loop().create_future()
            self._result.when_done(partial(resolve, waiter))
            yield from waiter
        return self.result()

    def done(self) -> bool:
        """Whether the outcome is known."""
        return self._result.is_done

    def result(self) -> RecordMetadata:
        """Where the record is; raises if it is not in the log, or not known to be yet."""
        error = self.exception()
        if error is not None:
            raise error
        outcome, place = self._result.outcome_of(self._index)
        has_offset = outcome.base_offset != NO_OFFSET
        is_broker_time = outcome.log_append_time_ms != NO_TIMESTAMP
        return RecordMetadata(
            *self._result.topic_partition,
            outcome.base_offset + place if has_offset else NO_OFFSET,
            outcome.log_append_time_ms if is_broker_time else self._timestamp,
            self._key_size,
            self._value_size,
        )

    def exception(self) -> Exception | None:
        """Why the record is not in the log; None if it is."""
        if not self._result.is_done:
            raise asyncio.InvalidStateError("the record has not been acknowledged yet: await it")
        outcome, place = self._result.outcome_of(self._index)
        if not outcome.record_errors or outcome.error is None:
            return outcome.error
        # One bad record spoils its batch: the others are told whose fault it was.
        return outcome.record_errors.get(place) or error_for(
            ErrorCode.INVALID_RECORD, "another record of the same batch was refused: send it again"
        )

    def add_done_callback(self, callback: Callable[[DeliveryFuture], object]) -> None:
        """Call it with this future when the outcome is known; at once if it is."""
        self._result.when_done(partial(callback, self))


def resolve(waiter: asyncio.Future[None]) -> None:
    """Wake whoever waits."""
    if not waiter.done():  # its task may have been cancelled
        waiter.set_result(None)
