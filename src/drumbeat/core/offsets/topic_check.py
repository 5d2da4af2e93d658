"""The order in which Kafka answers partitions that exist and partitions that do not.

Kafka looks topics up before it asks the coordinator, so a request of which nothing is left
changes nothing; and in the answer the partitions that were refused then come first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

Topic = TypeVar("Topic")
Answer = TypeVar("Answer")


def merged(
    refused: dict[Topic, list[Answer]], accepted: Sequence[tuple[Topic, list[Answer]]]
) -> Sequence[tuple[Topic, list[Answer]]]:
    """Answers by topic: topics with refused partitions first, and in these the refused first.

    A topic that a request names twice is answered twice, unless something was refused.
    """
    if not refused:
        return accepted
    for topic, answers in accepted:
        refused.setdefault(topic, []).extend(answers)
    return tuple(refused.items())
