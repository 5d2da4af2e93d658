"""drumbeat log: what is in the files of a node, and whether they are sound."""

from collections.abc import Iterable
from typing import Annotated

import typer

from drumbeat.cli.common import Output, OutputOption, fail
from drumbeat.cli.exits import ExitCode
from drumbeat.cli.log.dump import Contents, Dump
from drumbeat.cli.log.files import NotALogError, PartitionFiles, find_partitions

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True)

_DUMP_ROWS = 100

PathArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="PATH", help="Data directory, partition directory, or .log file of a segment."
    ),
]


@app.callback()
def log() -> None:
    """Look into the log files of a node, Drumbeat's or Kafka's, without the node."""


@app.command()
def dump(
    paths: PathArgument,
    *,
    contents: Annotated[
        Contents,
        typer.Option(
            "--show",
            help="batches: headers only. records: keys and values. offsets: what the records of "
            "__consumer_offsets say; also without being asked, in a directory of that name.",
        ),
    ] = Contents.AUTO,
    from_offset: Annotated[
        int, typer.Option(min=0, metavar="N", help="Leave out what comes before.")
    ] = 0,
    limit: Annotated[
        int, typer.Option(min=0, metavar="N", help="Rows of a table to show; 0 is all.")
    ] = _DUMP_ROWS,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show batches or records, in order. JSON is one object per line, and all of them."""
    try:
        partitions = find_partitions(paths)
        found = Dump(contents, from_offset, output, limit).write(partitions)
    except NotALogError as problem:
        fail(ExitCode.UNAVAILABLE, str(problem))
    except OSError as problem:
        fail(ExitCode.UNAVAILABLE, f"cannot read {problem.filename}: {problem.strerror}")
    if found is not None:
        fail(ExitCode.FAILED, f"{found}; 'drumbeat log verify' shows all damage")


@app.command()
def verify(paths: PathArgument, output: OutputOption = Output.TABLE) -> None:
    """Check everything: checksums, offsets, order, records, indexes, checkpoint files.

    Changes nothing, and may run beside a node: what is written meanwhile can look like a torn end.
    Exits with 1 if something is wrong.
    """
    from drumbeat.cli.log.report import write_report
    from drumbeat.cli.log.verify import verify_partition

    try:
        partitions = find_partitions(paths)
        reports = [verify_partition(partition) for partition in _with_progress(partitions)]
    except NotALogError as problem:
        fail(ExitCode.UNAVAILABLE, str(problem))
    except OSError as problem:
        fail(ExitCode.UNAVAILABLE, f"cannot read {problem.filename}: {problem.strerror}")
    if not write_report(reports, output):
        raise typer.Exit(ExitCode.FAILED)


def _with_progress(partitions: list[PartitionFiles]) -> Iterable[PartitionFiles]:
    """A bar on standard error, if that is a terminal."""
    from rich.console import Console
    from rich.progress import track

    shown = Console(stderr=True)
    return track(
        partitions, "verifying", console=shown, transient=True, disable=not shown.is_terminal
    )
