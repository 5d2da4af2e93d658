"""One record as a line, for people and for programs. Keys and values are bytes of any kind."""

import json
from base64 import b64encode
from typing import TYPE_CHECKING, Any

from drumbeat.cli.logs import escaped
from drumbeat.pipeline.history.times import time_text

if TYPE_CHECKING:
    from drumbeat.client import ConsumerRecord

_NO_TIMESTAMP = -1


def plain(data: bytes | None) -> str | dict[str, str] | None:
    """As JSON has it: text if it is UTF-8, else {"base64": ...}; a null stays one."""
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(data).decode()}


def readable(data: bytes | None) -> str:
    """For a terminal: nothing in it can steer one."""
    return "-" if data is None else escaped(data.decode("utf-8", "backslashreplace"))


def headers_document(headers: tuple[tuple[str, bytes | None], ...]) -> list[list[Any]]:
    """Pairs in order: a name may stand there several times, and need not be UTF-8."""
    return [
        [name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace"), plain(value)]
        for name, value in headers
    ]


def time_or_none(timestamp: int) -> str | None:
    return None if timestamp == _NO_TIMESTAMP else time_text(timestamp)


def as_json(record: "ConsumerRecord") -> bytes:
    document = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": plain(record.key),
        "value": plain(record.value),
        "headers": headers_document(record.headers),
    }
    return json.dumps(document, ensure_ascii=False).encode() + b"\n"


def as_line(record: "ConsumerRecord") -> bytes:
    where = f"{record.topic}-{record.partition}"
    when = time_or_none(record.timestamp) or "-"
    cells = f"{where}  {record.offset:>8}  {when:24}  {readable(record.key)}  "
    return f"{cells}{readable(record.value)}\n".encode()


def as_raw(record: "ConsumerRecord") -> bytes:
    return (record.value or b"") + b"\n"
