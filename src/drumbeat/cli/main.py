"""The `drumbeat` command. To start a node is its most frequent use, and has a short way in."""

import gc
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given[:1] == ["up"]:
        gc.disable()  # until all is imported, of which nothing is garbage
        from drumbeat.cli.plain_options import plain_options

        # Typer takes longer to import than a node to start; it is asked for help, and when
        # something is wrong.
        options = plain_options(given[1:])
        if options is not None:
            from drumbeat.cli.serving import serve

            serve(options)
            return
    from drumbeat.cli.verbs import app

    app(given, prog_name="drumbeat")


if __name__ == "__main__":
    main()
