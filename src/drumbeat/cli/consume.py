"""drumbeat consume: records of topics, as they come."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from drumbeat.cli.common import (
    DEFAULT_SERVERS,
    TIMEOUT_S,
    ServersOption,
    Target,
    UsageProblem,
    fail,
    note,
    reporting_errors,
)
from drumbeat.cli.completion import group_ids, topic_names
from drumbeat.cli.exits import ExitCode
from drumbeat.cli.logs import client_warnings
from drumbeat.cli.record_lines import as_json, as_line, as_raw

if TYPE_CHECKING:
    from drumbeat.client import ConsumerRecord, SyncConsumer, TopicPartition

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_POLL_MS = 500
_POLL_RECORDS = 500
_TERMINATED = 143  # what a shell shows for SIGTERM


class RecordOutput(StrEnum):
    TABLE = "table"
    JSON = "json"
    RAW = "raw"


class Isolation(StrEnum):
    READ_UNCOMMITTED = "read_uncommitted"
    READ_COMMITTED = "read_committed"


_WRITERS = {RecordOutput.TABLE: as_line, RecordOutput.JSON: as_json, RecordOutput.RAW: as_raw}


@app.command()
def consume(
    topics: Annotated[
        list[str], typer.Argument(metavar="TOPIC", help="What.", autocompletion=topic_names)
    ],
    *,
    group: Annotated[
        str | None,
        typer.Option(
            metavar="G",
            help="Join this group: share its partitions, go on where it was, commit.",
            autocompletion=group_ids,
        ),
    ] = None,
    from_beginning: Annotated[
        bool,
        typer.Option(
            "--from-beginning", help="All there is; for a group, where nothing is committed."
        ),
    ] = False,
    offset: Annotated[
        str | None,
        typer.Option(
            metavar="OFFSET", help="Where to begin: a number, -N from the end, earliest, latest."
        ),
    ] = None,
    partition: Annotated[
        list[int] | None, typer.Option(min=0, help="Only this one; may be repeated.")
    ] = None,
    max_messages: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="End after so many.")
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            "--timeout", min=0.1, metavar="SECONDS", help="End when nothing came for so long."
        ),
    ] = None,
    isolation_level: Annotated[
        Isolation, typer.Option(help="Whether to show what transactions have not committed.")
    ] = Isolation.READ_UNCOMMITTED,
    output: Annotated[
        RecordOutput,
        typer.Option(help="json: one object per line. raw: values only, as they are."),
    ] = RecordOutput.TABLE,
    bootstrap_server: ServersOption = DEFAULT_SERVERS,
) -> None:
    """Read records of topics, alone or as a member of a group; from now on unless told otherwise.

    Ctrl-C ends it. A member commits what was written, and leaves the group. Exits with 1 if fewer
    records came than --max-messages asked for.
    """
    _check(topics, group, offset, partition)
    start = "earliest" if from_beginning else _start(offset)
    target = Target(bootstrap_server, TIMEOUT_S)
    options = {
        **target.options(),
        "group_id": group,
        "auto_offset_reset": "earliest" if from_beginning else "latest",
        "enable_auto_commit": False,
        "allow_auto_create_topics": False,
        "max_poll_records": min(max_messages or _POLL_RECORDS, _POLL_RECORDS),
        "isolation_level": isolation_level.value,
    }
    with reporting_errors(target), client_warnings(), _leaving_when_terminated():
        from drumbeat.client import SyncConsumer

        with SyncConsumer(options) as consumer:
            tps = _existing(consumer, topics, partition)
            if group is not None:
                consumer.subscribe(topics)
            else:
                consumer.assign(tps)
                _seek(consumer, tps, start)
            writing = _Writing(consumer, group is not None, output)
            writing.run(max_messages, timeout)
    if max_messages is not None and writing.count < max_messages:
        fail(ExitCode.FAILED, f"{writing.count:,} of {max_messages:,} records came in time")


@contextmanager
def _leaving_when_terminated() -> Iterator[None]:
    """SIGTERM ends it as Ctrl-C does: a member leaves its group first."""
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(_TERMINATED))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _check(
    topics: list[str], group: str | None, offset: str | None, partition: list[int] | None
) -> None:
    if group is not None and (offset is not None or partition):
        raise UsageProblem(
            "--group is given its partitions and offsets: leave out --offset and --partition, or "
            "move the group with 'drumbeat groups reset'"
        )
    if partition and len(topics) > 1:
        raise UsageProblem("--partition takes one topic; leave out the others")


def _start(text: str | None) -> str | int:
    if text in (None, "latest", "earliest"):
        return text or "latest"
    try:
        return int(text or "")
    except ValueError:
        raise UsageProblem(
            f"--offset takes a number, -N (from the end), earliest or latest, not {text!r}"
        ) from None


def _existing(
    consumer: "SyncConsumer", topics: list[str], wanted: list[int] | None
) -> "list[TopicPartition]":
    from drumbeat.client import TopicPartition

    tps = []
    for topic in topics:
        found = consumer.partitions_for(topic)
        if found is None:
            advice = f"create it with 'drumbeat topics create {topic}', or check its name"
            fail(ExitCode.FAILED, f"topic {topic} does not exist; {advice}")
        indexes = [one.index for one in found]
        if missing := sorted(set(wanted or ()) - set(indexes)):
            last = f"{topic} has partitions 0 to {indexes[-1]}"
            fail(ExitCode.FAILED, f"there is no partition {missing[0]}; {last}")
        tps += [TopicPartition(topic, index) for index in wanted or indexes]
    return tps


def _seek(consumer: "SyncConsumer", tps: "list[TopicPartition]", start: str | int) -> None:
    if start == "earliest":
        consumer.seek_to_beginning(*tps)
    elif isinstance(start, int):
        bounds = consumer.beginning_offsets(tps), consumer.end_offsets(tps)
        for tp in tps:
            first, end = (bound[tp] for bound in bounds)
            at = min(max(start if start >= 0 else end + start, first), end)
            if start >= 0 and at != start:
                note(f"{tp} holds offsets {first} to {end}; beginning at {at}")
            consumer.seek(tp, at)
    else:
        consumer.seek_to_end(*tps)


class _Writing:
    """Writes what is polled; commits it when it is written, if it is for a group."""

    def __init__(self, consumer: "SyncConsumer", commits: bool, output: RecordOutput) -> None:
        self.count = 0
        self._consumer = consumer
        self._commits = commits
        self._write = _WRITERS[output]

    def run(self, max_messages: int | None, timeout_s: float | None) -> None:
        from drumbeat.client.clock import monotonic_ms

        patience_ms = None if timeout_s is None else int(timeout_s * 1000)
        heard_ms = monotonic_ms()
        while max_messages is None or self.count < max_messages:
            left_ms = _POLL_MS if patience_ms is None else patience_ms + heard_ms - monotonic_ms()
            if left_ms <= 0:
                return
            polled = self._consumer.poll(min(left_ms, _POLL_MS))
            if polled:
                left = sys.maxsize if max_messages is None else max_messages - self.count
                records = [record for batch in polled.values() for record in batch]
                self._put(records[:left])
                heard_ms = monotonic_ms()

    def _put(self, records: "list[ConsumerRecord]") -> None:
        out: Any = sys.stdout.buffer
        for record in records:
            out.write(self._write(record))
        out.flush()
        self.count += len(records)
        if self._commits:
            self._commit(records)

    def _commit(self, records: "list[ConsumerRecord]") -> None:
        from drumbeat.client import OffsetAndMetadata, TopicPartition
        from drumbeat.client.errors import CommitFailedError, RebalanceInProgressError

        offsets = {
            TopicPartition(record.topic, record.partition): OffsetAndMetadata(
                record.offset + 1, leader_epoch=record.leader_epoch
            )
            for record in records
        }
        try:
            self._consumer.commit(offsets)
        except (CommitFailedError, RebalanceInProgressError):
            note(f"the group rebalanced; {len(records):,} records may be read a second time")
