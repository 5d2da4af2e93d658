"""Log lines on standard error: for people, or one JSON object per line for machines.

A message says everything in words. What a machine may want to select by, such as the group, the
member or the reason, comes with it as `extra={"fields": {...}}` and stands beside it in JSON.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager


class _Escapes(dict[int, str]):
    """What each character is written as; looked up once per character that appears.

    A client's own words (ids, names) appear in log lines; none of them may forge a line of its
    own or steer the terminal.
    """

    def __missing__(self, code: int) -> str:
        text = chr(code)
        self[code] = text if text.isprintable() else text.encode("unicode_escape").decode()
        return self[code]


_ESCAPES = _Escapes()
_CONTINUED = "\n    | "  # begins a traceback's lines, so that none looks like an entry


def escaped(text: str) -> str:
    """In one line, and nothing that a terminal obeys."""
    return text.translate(_ESCAPES)


class EscapingFormatter(logging.Formatter):
    """One line per entry; a traceback follows, marked as what it is."""

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        lines = text.splitlines() if record.exc_info or record.stack_info else [text]
        return _CONTINUED.join(map(escaped, lines))


def set_up(level: str, style: str = "text") -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(_FORMATTERS[style]())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)


def _text_formatter() -> logging.Formatter:
    return EscapingFormatter("%(asctime)s %(levelname)-8s %(message)s", "%H:%M:%S")


def _json_formatter() -> logging.Formatter:
    from drumbeat.cli.json_logs import JsonFormatter

    return JsonFormatter()


_FORMATTERS = {"text": _text_formatter, "json": _json_formatter}


@contextmanager
def client_warnings() -> Iterator[None]:
    """Show what a consumer or producer meets while it goes on: lost connections, slow brokers."""
    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    handler.setFormatter(EscapingFormatter("drumbeat: %(message)s"))
    with _handled_by(handler):
        yield


@contextmanager
def no_client_logs() -> Iterator[None]:
    """What matters to a single question is its error."""
    with _handled_by(logging.NullHandler()):
        yield


@contextmanager
def _handled_by(handler: logging.Handler) -> Iterator[None]:
    logger = logging.getLogger("drumbeat.client")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
