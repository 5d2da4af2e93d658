"""Log entries as JSON: one object per line, ASCII only, so that nothing in it can end the line."""

import json
import logging
from datetime import UTC, datetime


class JsonFormatter(logging.Formatter):
    """`time`, `level`, `logger` and `message`, then the entry's own fields."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC)
        entry: dict[str, object] = {
            "time": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        for name, value in getattr(record, "fields", {}).items():
            entry.setdefault(name, value)  # no field may pass for one of the four
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        if record.stack_info:
            entry["stack"] = self.formatStack(record.stack_info)
        return json.dumps(entry, default=str)
