"""The `drumbeat` command: one file per verb, each imported only when it is called."""

import importlib
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup

# verb -> module in drumbeat.cli and its line in the overview; the module has an `app`
VERBS = {
    "up": ("up", "Start a node and serve until stopped."),
    "demo": ("demo", "Watch a node at work: start, produce, consume, show."),
    "pipeline": ("pipeline", "Turn the offsets log of a cluster into tables, on Spark."),
    "history": ("history", "Ask those tables: who consumed what, when, and why it stopped."),
}


class LazyGroup(TyperGroup):
    """Knows its verbs by name; importing them all would cost more than starting a node."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"drumbeat.cli.{VERBS[cmd_name][0]}")
        command = typer.main.get_command(module.app)
        command.name = cmd_name
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(verb, text) for verb, (_, text) in VERBS.items()])


app = typer.Typer(
    cls=LazyGroup,
    name="drumbeat",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,  # a traceback belongs into the log as it is, without values
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def drumbeat() -> None:
    """Kafka's consumer-group system in Python.

    Run 'drumbeat VERB --help' for a verb's options.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    app(arguments)


if __name__ == "__main__":
    main()
