"""Which partitions a command is about: orders, or orders:0,2."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from drumbeat.cli.common import UsageProblem
from drumbeat.client.values import TopicPartition

if TYPE_CHECKING:
    from drumbeat.client import SyncAdmin


def parse_topic(text: str) -> tuple[str, tuple[int, ...] | None]:
    """A topic, and its partitions if they are named."""
    topic, colon, numbers = text.partition(":")
    if not topic or (colon and not numbers):
        raise UsageProblem(f"--topic takes TOPIC or TOPIC:0,1, not {text!r}")
    if not colon:
        return topic, None
    try:
        partitions = tuple(int(number) for number in numbers.split(","))
    except ValueError:
        partitions = (-1,)
    if min(partitions) < 0:
        raise UsageProblem(f"--topic takes partitions as numbers, as in {topic}:0,1, not {text!r}")
    return topic, partitions


def partitions_of(admin: "SyncAdmin", texts: Iterable[str]) -> list[TopicPartition]:
    """All that the texts name, in order; topics must exist, and so must named partitions."""
    asked = [parse_topic(text) for text in texts]
    described = admin.describe_topics({topic for topic, _ in asked}) if asked else {}
    tps: set[TopicPartition] = set()
    for topic, named in asked:
        known = [partition.index for partition in described[topic].partitions]
        missing = sorted(set(named or ()) - set(known))
        if missing:
            raise UsageProblem(f"{topic} has partitions 0 to {known[-1]}, but no {missing[0]}")
        tps |= {TopicPartition(topic, index) for index in named or known}
    return sorted(tps)
