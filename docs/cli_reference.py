"""The page cli.md: what every verb of the command line says to `--help`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from drumbeat.cli.verbs import app

WIDTH = 100
HEAD = """# The command line

This page is made from the commands themselves; `drumbeat VERB --help` says the same.
"""


def render() -> str:
    root: Any = typer.main.get_command(app)
    context = _context(root, "drumbeat")
    sections = [_section(context), *_sections(context)]
    return "\n".join([HEAD, *sections]).rstrip() + "\n"


def _sections(parent: Any) -> Iterator[str]:
    if not hasattr(parent.command, "list_commands"):
        return
    for name in parent.command.list_commands(parent):
        context = _context(parent.command.get_command(parent, name), name, parent)
        yield _section(context)
        yield from _sections(context)


def _section(context: Any) -> str:
    depth = min(len(context.command_path.split()) + 1, 3)
    lines = "\n".join(line.rstrip() for line in context.get_help().strip().splitlines())
    return f"{'#' * depth} {context.command_path}\n\n```text\n{lines}\n```\n"


def _context(command: Any, name: str, parent: Any = None) -> Any:
    return command.make_context(
        name,
        [],
        parent=parent,
        resilient_parsing=True,
        terminal_width=WIDTH,
        max_content_width=WIDTH,
    )
