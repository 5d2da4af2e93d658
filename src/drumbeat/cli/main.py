"""The `drumbeat` command. To start a node is its most frequent use, and has a short way in."""

import gc
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given[:1] == ["up"] and _served(given[1:]):
        return
    from drumbeat.cli.verbs import app

    app(given, prog_name="drumbeat")


def _served(arguments: Sequence[str]) -> bool:
    """Whether that was possible without Typer, which takes longer to import than a node to start.

    It is asked for help, and when something is wrong.
    """
    gc.disable()  # until all is imported, of which nothing is garbage
    try:
        from drumbeat.cli.plain_options import plain_options

        options = plain_options(arguments)
        if options is None:
            return False
        from drumbeat.cli.serving import serve

        serve(options)
        return True
    finally:
        gc.enable()


if __name__ == "__main__":
    main()
