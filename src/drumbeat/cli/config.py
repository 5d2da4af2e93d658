"""drumbeat config: what a server.properties means here."""

import re
from typing import Annotated, Any, NamedTuple

import typer

from drumbeat.cli.common import Output, OutputOption, fail, show, show_json
from drumbeat.cli.exits import ExitCode
from drumbeat.cli.logs import escaped
from drumbeat.pipeline.history.answer import Answer
from drumbeat.runtime.config import ConfigError, load_config
from drumbeat.runtime.config.broker import definition_of, has_effect
from drumbeat.runtime.config.properties import (
    PropertiesError,
    Property,
    decode_properties,
    parse_properties,
)

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True)

_HIDDEN = "(hidden)"


class KeyRow(NamedTuple):
    line: int
    key: str
    value: str
    verdict: str
    why: str | None


@app.callback()
def config() -> None:
    """Check a server.properties before a node meets it."""


@app.command()
def check(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A Kafka server.properties.")],
    output: OutputOption = Output.TABLE,
) -> None:
    """Say of each key whether it takes effect here, and of each wrong value what would be right.

    Exits with 1 if a node would refuse the file.
    """
    text = _read(file)
    entries = _entries(text, file)
    problems, notes = _judge(text, file)
    rows = [_row(entry, entries, problems, file) for entry in entries]
    if output is Output.JSON:
        keys = [row._asdict() for row in rows]
        document: dict[str, Any] = {"file": file, "is_usable": not problems, "keys": keys}
        show_json(document | {"problems": problems, "notes": notes})
    else:
        _write(rows, problems, notes)
    if problems:
        raise typer.Exit(ExitCode.FAILED)


def _read(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return decode_properties(file.read())
    except OSError as problem:
        fail(ExitCode.UNAVAILABLE, f"{problem.strerror}: {path}; name a server.properties")


def _entries(text: str, name: str) -> list[Property]:
    try:
        return parse_properties(text)
    except PropertiesError as problem:
        fail(ExitCode.FAILED, f"{name}:{problem.line_number}: {problem}")


def _judge(text: str, name: str) -> tuple[list[str], list[str]]:
    """What a node would refuse the file for, or else what it would note."""
    try:
        loaded = load_config(text, properties_name=name)
    except ConfigError as problem:
        return list(problem.problems), []
    return [], loaded.notes


def _row(entry: Property, entries: list[Property], problems: list[str], name: str) -> KeyRow:
    key = entry.key
    definition = definition_of(key)
    is_secret = definition.is_sensitive if definition is not None else _looks_secret(key)
    verdict, why = _verdict(entry, entries, problems, name)
    return KeyRow(entry.line_number, key, _HIDDEN if is_secret else entry.value, verdict, why)


def _verdict(
    entry: Property, entries: list[Property], problems: list[str], name: str
) -> tuple[str, str | None]:
    place = f"{name}:{entry.line_number}: "
    last = [other.line_number for other in entries if other.key == entry.key][-1]
    if last != entry.line_number:
        return "overridden", f"line {last} says it again, and the last one counts"
    wrong = [problem.removeprefix(place) for problem in problems if problem.startswith(place)]
    if wrong:
        return "wrong", "; ".join(wrong).removeprefix(f"{entry.key}: ")
    return ("takes effect", None) if has_effect(entry.key) else ("no effect here", None)


def _looks_secret(key: str) -> bool:
    return re.search(r"password|secret|jaas|credential|token", key, re.IGNORECASE) is not None


def _write(rows: list[KeyRow], problems: list[str], notes: list[str]) -> None:
    show(Answer(KeyRow._fields, rows), Output.TABLE)
    for text in (*notes, *problems):
        print(escaped(text))
    verdicts = [row.verdict for row in rows]
    effective = verdicts.count("takes effect")
    summary = f"{effective} of {len(rows)} keys take effect"
    print(f"{summary}; {len(problems)} problems" if problems else f"{summary}; the file is usable")
