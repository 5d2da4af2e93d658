"""What both generators share: lines with indentation, fresh variable names, named constants."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Source:
    def __init__(self, message: type[Any], version: int, is_flexible: bool) -> None:
        self.message = message
        self.version = version
        self.is_flexible = is_flexible
        self.names: dict[str, Any] = {}  # globals of the generated function
        self._lines: list[str] = []
        self._depth = 0
        self._variables = 0

    def source(self) -> str:
        return "\n".join(self._lines) + "\n"

    def line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    @contextmanager
    def indented(self) -> Iterator[None]:
        self._depth += 1
        yield
        self._depth -= 1

    def variable(self, hint: str) -> str:
        self._variables += 1
        return f"{hint}_{self._variables}"

    def constant(self, value: Any) -> str:
        """An expression for `value`: itself if it is a simple literal, else a global's name."""
        if value is None or isinstance(value, bool | int | str | bytes) or value == ():
            return repr(value) if value != () else "()"
        for name, known in self.names.items():
            if known is value:
                return name
        name = self.variable(getattr(value, "__name__", "constant").strip("<>"))
        self.names[name] = value
        return name
