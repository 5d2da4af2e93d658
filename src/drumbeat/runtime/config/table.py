"""The notation of the key tables, and a mapping over them that parses a row when it is asked for.

A row is ``name type default [rule] [flags]``; ``null`` is no default, ``""`` an empty one. Flags:
``dynamic``, ``internal`` and ``server=<broker key>``. Indented lines under a row document it.
Text costs nothing at import: a start-up needs some eighty of the four hundred rows.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from drumbeat.runtime.config.definitions import ConfigDef, ConfigType
from drumbeat.runtime.config.rules import parse_rule


class Section(NamedTuple):
    """Some rows under a heading of the reference page."""

    title: str
    rows: str


class ConfigTable(Mapping[str, ConfigDef]):
    """Keys by name, in the order of the tables."""

    def __init__(self, *, used: tuple[Section, ...], accepted: tuple[Section, ...]) -> None:
        self.used = used
        self.accepted = accepted
        self._parsed: dict[str, ConfigDef] = {}

    def __getitem__(self, name: str) -> ConfigDef:
        found = self._parsed.get(name)
        if found is None:
            is_used, lines = self._rows[name]
            found = self._parsed[name] = _parse_row(lines, is_used=is_used)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def names(self, section: Section) -> list[str]:
        """The keys of one section."""
        return [_name(lines) for lines in _split_rows(section.rows)]

    @cached_property
    def _rows(self) -> dict[str, tuple[bool, list[str]]]:
        rows: dict[str, tuple[bool, list[str]]] = {}
        for is_used, sections in ((True, self.used), (False, self.accepted)):
            for section in sections:
                for lines in _split_rows(section.rows):
                    assert _name(lines) not in rows, f"two rows for {_name(lines)}"
                    rows[_name(lines)] = is_used, lines
        return rows


def _split_rows(text: str) -> list[list[str]]:
    rows: list[list[str]] = []
    for line in text.splitlines():
        if line.startswith(" "):
            rows[-1].append(line.strip())
        elif line:
            rows.append([line])
    return rows


def _name(lines: list[str]) -> str:
    return lines[0].partition(" ")[0]


def _parse_row(lines: list[str], *, is_used: bool) -> ConfigDef:
    name, type_name, default, *rest = lines[0].split()
    rules = [token for token in rest if token not in _FLAGS and not token.startswith("server=")]
    server = [token.removeprefix("server=") for token in rest if token.startswith("server=")]
    return ConfigDef(
        name=name,
        type=ConfigType[type_name.upper()],
        default=_DEFAULTS.get(default, default),
        rule=parse_rule(rules[0]) if rules else None,
        is_used=is_used,
        is_dynamic="dynamic" in rest,
        is_internal="internal" in rest,
        server_default=server[0] if server else None,
        documentation=" ".join(lines[1:]),
    )


_FLAGS = {"dynamic", "internal"}
_DEFAULTS = {"null": None, '""': ""}
