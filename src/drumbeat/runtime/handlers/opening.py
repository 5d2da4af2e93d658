"""Requests about partitions that nobody has asked for yet: they wait until these are open."""

from collections.abc import Callable, Sequence
from typing import Any

from drumbeat.runtime.broker import Broker
from drumbeat.runtime.requests import Deferred
from drumbeat.runtime.tasks import answer_of
from drumbeat.runtime.topics import Topic


def when_open(
    broker: Broker, unopened: Sequence[tuple[Topic, int]], answer: Callable[[], Any]
) -> Deferred:
    """What `answer` will say, whether or not they could be opened."""
    return broker.tasks.defer(_open_then(broker, unopened, answer))


async def _open_then(
    broker: Broker, unopened: Sequence[tuple[Topic, int]], answer: Callable[[], Any]
) -> Any:
    for topic, index in unopened:
        await broker.open_partition(topic, index)
    result = answer()
    return await answer_of(result) if isinstance(result, Deferred) else result
