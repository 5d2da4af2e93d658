"""What an offset commit costs on its way through the core, in microseconds of one core.

    python benchmarks/offset_records.py [RECORDS]

"load" is what a node does for every record of a partition that it takes over, after the batch
has been split into records; it must stay at about 1.5 so that a million records load in 3 s.
"""

import gc
import sys
from collections.abc import Callable
from time import perf_counter

from drumbeat.core.config import GroupConfig
from drumbeat.core.handlers.offset_commit import offset_commit
from drumbeat.core.handlers.offset_fetch import offset_fetch
from drumbeat.core.outcome import Context
from drumbeat.core.record_codec import decode, encode
from drumbeat.core.records import OffsetCommitRecord
from drumbeat.core.reducer import apply
from drumbeat.core.session import Session, view_of
from drumbeat.core.state import State
from drumbeat.protocol.apis import offset_commit as commit_api
from drumbeat.protocol.apis import offset_fetch as fetch_api

TOPIC_ID = bytes(range(16))
ROUNDS = 3


class Topics:
    def partition_count(self, topic: str) -> int | None:
        return 100

    def topic_name(self, topic_id: bytes) -> str | None:
        return "orders"

    def topic_id(self, topic: str) -> bytes:
        return TOPIC_ID


def records(count: int, distinct: int) -> list[OffsetCommitRecord]:
    """Commits of groups with 10 partitions each, over and over until `count` is reached."""
    return [
        OffsetCommitRecord(
            f"payments-{i % distinct // 10}",
            "orders",
            i % 10,
            1_000_000 + i,
            3,
            "",
            1_700_000_000_000 + i,
            topic_id=TOPIC_ID,
        )
        for i in range(count)
    ]


def row(name: str, work: Callable[[], object], count: int) -> None:
    print(f"{name:36}{best(work, count):6.2f}")


def best(work: Callable[[], object], count: int) -> float:
    """Microseconds per item, the best of some rounds, without the garbage collector's pauses."""
    durations = []
    for _ in range(ROUNDS):
        gc.collect()
        gc.disable()
        start = perf_counter()
        work()
        durations.append(perf_counter() - start)
        gc.enable()
    return min(durations) / count * 1e6


def load(pairs: list[tuple[bytes, bytes | None]]) -> State:
    state = State()
    for log_offset, (key, value) in enumerate(pairs):
        apply(state, decode(key, value), log_offset)
    return state


def request_loop(count: int) -> None:
    context = Context(1_700_000_000_000, GroupConfig(), Topics(), api_version=9)
    partition = commit_api.OffsetCommitRequestPartition(0, 42)
    topic = commit_api.OffsetCommitRequestTopic("orders", partitions=(partition,))
    commit = commit_api.OffsetCommitRequest("payments-0", topics=(topic,))
    asked = fetch_api.OffsetFetchRequestTopics("orders", partition_indexes=(0,))
    group = fetch_api.OffsetFetchRequestGroup("payments-0", topics=(asked,))
    fetch = fetch_api.OffsetFetchRequest(groups=(group,))
    state = State()
    view = view_of(state, Session())
    apply(state, offset_commit(view, context, commit).records[0], 0)

    def commits() -> None:
        for _ in range(count):
            offset_commit(view, context, commit)

    def fetches() -> None:
        for _ in range(count):
            offset_fetch(view, context, fetch)

    row("decide OffsetCommit, 1 partition", commits, count)
    row("decide OffsetFetch, 1 partition", fetches, count)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 300_000
    for name, distinct in (("repeated keys", 10_000), ("distinct keys", count)):
        facts = records(count, distinct)
        pairs = [encode(fact) for fact in facts]
        print(f"-- {count:,} records, {name}")
        row("encode", lambda f=facts: [encode(fact) for fact in f], count)
        row("decode", lambda p=pairs: [decode(key, value) for key, value in p], count)
        row("load: decode and apply", lambda p=pairs: load(p), count)
    print("-- requests")
    request_loop(count // 3)


if __name__ == "__main__":
    main()
