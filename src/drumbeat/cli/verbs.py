"""The verbs of the `drumbeat` command: one file each, imported only when it is called."""

import importlib
from difflib import get_close_matches
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from drumbeat.cli.exits import MEANINGS

# verb -> module in drumbeat.cli and its line in the overview; the module has an `app`
VERBS = {
    "up": ("up", "Start a node and serve until stopped."),
    "demo": ("demo", "Watch the whole system at work, in about a minute."),
    "topics": ("topics", "List, describe, create, alter and delete topics."),
    "produce": ("produce", "Write lines to a topic."),
    "consume": ("consume", "Read records of topics, alone or as a member of a group."),
    "groups": ("groups", "List, describe, reset and delete consumer groups."),
    "log": ("log", "Look into the log files of a node, Drumbeat's or Kafka's."),
    "config": ("config", "Check a server.properties."),
    "pipeline": ("pipeline", "Turn the offsets log of a cluster into tables, on Spark."),
    "history": ("history", "Ask those tables: who consumed what, when, and why it stopped."),
}


class LazyGroup(TyperGroup):
    """Knows its verbs by name; importing them all would cost more than starting a node."""

    _needs_names_only = False

    def list_commands(self, ctx: Any) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in VERBS:
            return None
        module, text = VERBS[cmd_name]
        if self._needs_names_only:
            return TyperCommand(cmd_name, help=text)
        command = typer.main.get_command(importlib.import_module(f"drumbeat.cli.{module}").app)
        command.name = cmd_name
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in VERBS and not ctx.resilient_parsing:
            nearest = get_close_matches(args[0], VERBS, n=1)
            advice = f"did you mean {nearest[0]!r}?" if nearest else f"it is one of {_names()}"
            ctx.fail(f"There is no verb {args[0]!r}; {advice}")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """A shell shows a verb and its line: nothing has to be loaded for that."""
        self._needs_names_only = True
        try:
            return super().shell_complete(ctx, incomplete)
        finally:
            self._needs_names_only = False

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(verb, text) for verb, (_, text) in VERBS.items()])
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(int(code)), text) for code, text in MEANINGS.items()])


def _names() -> str:
    return ", ".join(VERBS)


app = typer.Typer(
    cls=LazyGroup,
    name="drumbeat",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,  # a traceback belongs into the log as it is, without values
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def drumbeat() -> None:
    """Kafka's consumer-group system in Python.

    Run 'drumbeat VERB --help' for a verb's options.
    """
