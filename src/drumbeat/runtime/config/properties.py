"""Java's .properties text, the format of server.properties, read as java.util.Properties does.

Pure on text. Comments start with ``#`` or ``!``; a key ends at the first bare ``=``, ``:`` or
blank; a line that ends in an odd number of backslashes continues on the next; ``\\uXXXX``, ``\\t``,
``\\n``, ``\\r`` and ``\\f`` are escapes with a meaning, any other escaped character is itself.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple


class PropertiesError(ValueError):
    """Text that is not .properties; says which line."""

    def __init__(self, line_number: int, message: str) -> None:
        super().__init__(message)
        self.line_number = line_number


class Property(NamedTuple):
    """One entry, and the line it starts on."""

    key: str
    value: str
    line_number: int


def decode_properties(data: bytes) -> str:
    """A file's text: UTF-8 where it is that, else ISO-8859-1, which is what Java reads."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("iso-8859-1")


def parse_properties(text: str) -> list[Property]:
    """The entries of `text` in order; of several with one key Java keeps the last."""
    return [_split_entry(line, line_number) for line_number, line in _logical_lines(text)]


# Java's blanks; form feed is one, vertical tab and the Unicode spaces are not.
_BLANKS = " \t\f"
# A lone backslash continues nothing: what follows is a line of its own.
_EMPTY = ("", "\\")
_LINE_END = re.compile(r"\r\n|\r|\n")
_TRAILING_BACKSLASHES = re.compile(r"\\*\Z")
_KEY = re.compile(r"(?:\\.|[^\\=: \t\f])*", re.DOTALL)
_SEPARATOR = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")
_ESCAPE = re.compile(r"\\(u.{0,4}|.)", re.DOTALL)
_HEX4 = re.compile(r"u[0-9a-fA-F]{4}")
_CONTROL = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines that hold an entry, joined with their continuations, with where they start."""
    lines = iter(enumerate(_LINE_END.split(text), start=1))
    for line_number, natural in lines:
        line = natural.lstrip(_BLANKS)
        if line in _EMPTY or line[0] in "#!":
            continue
        while _is_continued(line):
            line = line[:-1] + next(lines, (0, ""))[1].lstrip(_BLANKS)
        yield line_number, line


def _is_continued(line: str) -> bool:
    backslashes = _TRAILING_BACKSLASHES.search(line)
    assert backslashes is not None
    return len(backslashes[0]) % 2 == 1


def _split_entry(line: str, line_number: int) -> Property:
    key = _KEY.match(line)
    assert key is not None
    separator = _SEPARATOR.match(line, key.end())
    assert separator is not None
    value = line[separator.end() :]
    return Property(_unescape(key[0], line_number), _unescape(value, line_number), line_number)


def _unescape(text: str, line_number: int) -> str:
    if "\\" not in text:
        return text

    def replace(match: re.Match[str]) -> str:
        escape = match[1]
        if escape[0] != "u":
            return _CONTROL.get(escape, escape)
        if _HEX4.fullmatch(escape) is None:
            raise PropertiesError(line_number, f"\\u needs four hexadecimal digits: {match[0]!r}")
        return chr(int(escape[1:], 16))

    unescaped = _ESCAPE.sub(replace, text)
    try:
        # Java's characters are UTF-16 units: a pair of escapes is one character here.
        return unescaped.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise PropertiesError(line_number, "half of a surrogate pair") from None
