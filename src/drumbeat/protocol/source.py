"""What both generators share: lines with indentation, fresh variable names, globals.

The text they write is one function. It is either run on the spot, or put into a module that
mypyc compiles (`codec_modules`). So it says its types, which cost nothing where they are not
used, and each of its globals is known both as a value and as the source that makes it.
"""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar


class Source:
    kind: ClassVar[str]  # encode or decode
    helpers: ClassVar[tuple[Any, ...]]  # functions and classes that the text may name

    def __init__(self, message: type[Any], version: int, is_flexible: bool) -> None:
        self.message = message
        self.version = version
        self.is_flexible = is_flexible
        self.label = f"{message.__name__} v{version}"  # what errors call it
        self.name = function_name(self.kind, message, version, is_flexible)
        # i64 is mypyc's machine integer: it needs no arithmetic of Python's.
        self.names: dict[str, Any] = {"Any": Any, "i64": int}
        self.names |= {helper.__name__: helper for helper in self.helpers}
        self.constants: dict[str, str] = {}  # name -> its definition, as a line of a module
        self.modules: set[str] = set()  # that those definitions name
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

    # -- globals ---------------------------------------------------------------------------------

    def constant(self, value: Any) -> str:
        """An expression for a field's default: itself if it is a simple literal."""
        if value is None or isinstance(value, bool | int | str | bytes) or value == ():
            return repr(value)
        message = type(value)
        self.modules.add(message.__module__)
        return self._define(
            f"{message.__name__}_default", value, f"Final[Any] = {message.__module__}.{value!r}"
        )

    def message_class(self, message: type[Any]) -> str:
        name = message.__name__
        self.modules.add(message.__module__)
        return self._define(name, message, f"Final[Any] = {message.__module__}.{name}")

    def struct_method(self, method: str, formats: str) -> str:
        """A bound method of Struct, named for what it packs or unpacks."""
        return self._define(
            f"{method}_{formats.replace('?', 'bool')}",
            getattr(struct.Struct(f">{formats}"), method),
            f"Final = Struct({'>' + formats!r}).{method}",
        )

    def _define(self, name: str, value: Any, definition: str) -> str:
        line = f"{name}: {definition}"
        assert self.constants.get(name, line) == line, f"{name} means two things"
        self.names[name] = value
        self.constants[name] = line
        return name


def function_name(kind: str, message: type[Any], version: int, is_flexible: bool) -> str:
    return f"{kind}_{message.__name__}_v{version}{'_flexible' if is_flexible else ''}"
