"""Log lines for people, on standard error."""

import logging

# A client's own words (ids, names) appear in log lines; none of them may forge a line of its own
# or steer the terminal.
_ESCAPES = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if code != 10}


class EscapingFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        if record.exc_info:
            return text.translate(_ESCAPES)
        return text.translate(_ESCAPES).replace("\n", "\\n")


def set_up(level: str) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(EscapingFormatter("%(asctime)s %(levelname)-8s %(message)s", "%H:%M:%S"))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
