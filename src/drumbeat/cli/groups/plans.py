"""Where a group is to be moved: the options of `groups reset`, of which exactly one is given."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from drumbeat.cli.common import UsageProblem, fail
from drumbeat.cli.exits import ExitCode
from drumbeat.client.admin import CannotReset, ResetTo
from drumbeat.pipeline.history.times import parse_time

_UNITS_MS = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1_000}
_ISO_DURATION = re.compile(
    r"(?P<sign>[+-]?)P(?:(?P<d>[+-]?\d+)D)?"
    r"(?:T(?:(?P<h>[+-]?\d+)H)?(?:(?P<m>[+-]?\d+)M)?(?:(?P<s>[+-]?\d+(?:\.\d{0,9})?)S)?)?",
    re.IGNORECASE,
)
_SHORT_DURATION = re.compile(r"(\d+)([dhms])")


class Choices(NamedTuple):
    """What the command line says; None and False are not given."""

    to_earliest: bool
    to_latest: bool
    to_current: bool
    to_offset: int | None
    shift_by: int | None
    to_datetime: str | None
    by_duration: str | None
    from_file: str | None
    from_group: str | None

    def given(self) -> list[str]:
        return [
            name
            for name, value in self._asdict().items()
            if value is not None and value is not False
        ]

    def plan(self, group_id: str) -> ResetTo:
        given = self.given()
        if len(given) != 1:
            options = ", ".join(map(_option, self._fields))
            got = ", ".join(map(_option, given)) or "none"
            raise UsageProblem(f"give one of {options}; there is {got}")
        return _PLANS[given[0]](getattr(self, given[0]), group_id)


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def duration_ms(text: str) -> int:
    """ISO 8601, as Kafka takes it (P7D, PT1H30M), or 7d, 90m, 30s."""
    short = _SHORT_DURATION.fullmatch(text)
    if short is not None:
        return int(short[1]) * _UNITS_MS[short[2]]
    iso = _ISO_DURATION.fullmatch(text)
    parts = {} if iso is None else {u: iso[u] for u in _UNITS_MS if iso[u] is not None}
    if iso is None or not parts or text[-1] in "tT":
        raise UsageProblem(f"--by-duration takes a duration such as PT1H30M or 90m, not {text!r}")
    total = sum(float(number) * _UNITS_MS[unit] for unit, number in parts.items())
    return int(-total if iso["sign"] == "-" else total)


def _datetime(text: str, _group_id: str) -> ResetTo:
    try:
        return ResetTo.timestamp(parse_time(text))
    except ValueError as problem:
        raise UsageProblem(f"--to-datetime: {problem}") from None


def _file(path: str, group_id: str) -> ResetTo:
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return ResetTo.lines(file, group_id)
    except OSError as problem:
        fail(ExitCode.UNAVAILABLE, f"--from-file: {problem.strerror}: {path}")
    except (CannotReset, UnicodeDecodeError) as problem:
        fail(ExitCode.FAILED, f"{path}: {problem}")


_PLANS: dict[str, Callable[[Any, str], ResetTo]] = {
    "to_earliest": lambda _, group_id: ResetTo.earliest(),
    "to_latest": lambda _, group_id: ResetTo.latest(),
    "to_current": lambda _, group_id: ResetTo.current(),
    "to_offset": lambda offset, group_id: ResetTo.offset(offset),
    "shift_by": lambda by, group_id: ResetTo.shift(by),
    "to_datetime": _datetime,
    "by_duration": lambda text, group_id: ResetTo.duration(duration_ms(text)),
    "from_file": _file,
    "from_group": lambda other, group_id: ResetTo.group(other),
}
