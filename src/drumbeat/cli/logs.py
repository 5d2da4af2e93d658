"""Log lines for people, on standard error."""

import logging


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


class EscapingFormatter(logging.Formatter):
    """One line per entry; a traceback follows, marked as what it is."""

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        lines = text.splitlines() if record.exc_info or record.stack_info else [text]
        return _CONTINUED.join(line.translate(_ESCAPES) for line in lines)


def set_up(level: str) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(EscapingFormatter("%(asctime)s %(levelname)-8s %(message)s", "%H:%M:%S"))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
