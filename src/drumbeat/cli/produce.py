"""drumbeat produce: lines become records."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from typing import IO, TYPE_CHECKING, Annotated, NamedTuple

import typer

from drumbeat.cli.common import (
    DEFAULT_SERVERS,
    TIMEOUT_S,
    ServersOption,
    Target,
    TimeoutOption,
    UsageProblem,
    fail,
    note,
    reporting_errors,
)
from drumbeat.cli.completion import topic_names
from drumbeat.cli.exits import ExitCode
from drumbeat.cli.logs import client_warnings

if TYPE_CHECKING:
    from drumbeat.client import RecordMetadata, SyncProducer

app = typer.Typer(add_completion=False, rich_markup_mode=None)


class Codec(StrEnum):
    NONE = "none"
    GZIP = "gzip"
    SNAPPY = "snappy"
    LZ4 = "lz4"
    ZSTD = "zstd"


class Line(NamedTuple):
    number: int
    key: bytes | None
    value: bytes


@app.command()
def produce(
    topic: Annotated[
        str, typer.Argument(metavar="TOPIC", help="Where to.", autocompletion=topic_names)
    ],
    *,
    file: Annotated[
        str | None, typer.Option("--file", metavar="FILE", help="Read this; else standard input.")
    ] = None,
    key_separator: Annotated[
        str | None,
        typer.Option("--key-separator", metavar="TEXT", help="What stands between key and value."),
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option("--header", metavar="NAME=VALUE", help="For each record; may be repeated."),
    ] = None,
    partition: Annotated[
        int | None, typer.Option(min=0, help="This one; else by key, or spread.")
    ] = None,
    codec: Annotated[Codec, typer.Option(help="How to compress batches.")] = Codec.NONE,
    bootstrap_server: ServersOption = DEFAULT_SERVERS,
    timeout: TimeoutOption = TIMEOUT_S,
) -> None:
    """Write lines to a topic, each as one record.

    Lines are bytes: whatever stands between two line feeds arrives as it is.
    """
    headers = _headers(header or [])
    if key_separator == "":
        raise UsageProblem("--key-separator must not be empty")
    separator = None if key_separator is None else key_separator.encode()
    target = Target(bootstrap_server, timeout)
    with reporting_errors(target), client_warnings(), _opened(file) as lines:
        from drumbeat.client import SyncProducer

        options = {
            **target.options(),
            "compression_type": codec.value,
            "max_block_ms": int(timeout * 1000),
            "delivery_timeout_ms": max(120_000, int(timeout * 1000) + 1_000),
        }
        deliveries = _Deliveries()
        with SyncProducer(options) as producer:
            for line in _split(lines, separator):
                producer.send(
                    topic,
                    line.value,
                    key=line.key,
                    partition=partition,
                    headers=headers,
                    on_delivery=deliveries.on_delivery,
                )
                if deliveries.error is not None:
                    break
            _finish(producer, deliveries)
    print(f"{deliveries.count:,} records to {topic}")


class _Deliveries:
    """What became of the records; written by the producer's thread, read by ours."""

    def __init__(self) -> None:
        self.count = 0
        self.error: Exception | None = None

    def on_delivery(self, metadata: "RecordMetadata | None", error: Exception | None) -> None:
        if metadata is not None:
            self.count += 1
        elif self.error is None:
            self.error = error


def _finish(producer: "SyncProducer", deliveries: _Deliveries) -> None:
    producer.flush()
    if deliveries.error is not None:
        note(f"{deliveries.count:,} records were stored before the first error")
        raise deliveries.error


def _headers(settings: list[str]) -> tuple[tuple[str, bytes], ...]:
    """In the order given; a name may stand for several."""
    headers = []
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise UsageProblem(f"--header takes NAME=VALUE, not {setting!r}")
        headers.append((name, value.encode()))
    return tuple(headers)


@contextmanager
def _opened(path: str | None) -> Iterator[IO[bytes]]:
    if path is None:
        if sys.stdin.isatty():
            note("type records, one per line; Ctrl-D ends")
        yield sys.stdin.buffer
        return
    with ExitStack() as stack:
        try:
            file = stack.enter_context(open(path, "rb"))
        except OSError as problem:
            fail(ExitCode.UNAVAILABLE, f"--file: {problem.strerror}: {path}")
        yield file


def _split(lines: IO[bytes], separator: bytes | None) -> Iterator[Line]:
    for number, text in enumerate(lines, start=1):
        line = text.removesuffix(b"\n")
        if separator is None:
            yield Line(number, None, line)
            continue
        key, found, value = line.partition(separator)
        if not found:
            fail(
                ExitCode.FAILED,
                f"line {number} has no {separator.decode()!r} between key and value; lines before "
                "it were sent",
            )
        yield Line(number, key, value)
