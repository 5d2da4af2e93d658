"""drumbeat pipeline: the offsets log becomes tables, on Spark."""

import logging
import re
import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from drumbeat.cli.common import key_values

if TYPE_CHECKING:
    from drumbeat.pipeline.derive import DeriveReport
    from drumbeat.pipeline.job import StageReport
    from drumbeat.pipeline.manifest import Manifest
    from drumbeat.pipeline.pass_over import PassReport

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_INTERVAL = re.compile(r"([0-9]{1,9})(ms|s|m|h)")
_UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}

EXIT_DAMAGE, EXIT_CONFIG, EXIT_FAILED, EXIT_INTERRUPTED = 1, 2, 3, 130


@app.callback()
def pipeline() -> None:
    """Turn the offsets log of a cluster into tables, on Spark."""


@app.command()
def run(
    *,
    source: Annotated[
        str,
        typer.Option(
            metavar="DIR|HOST:PORT",
            help="Data directory of a node, Drumbeat's or Kafka's, or addresses of brokers.",
        ),
    ],
    warehouse: Annotated[
        str, typer.Option(metavar="DIR", help="Where the tables are, or will be.")
    ],
    master: Annotated[
        str, typer.Option(metavar="URL", help="Spark's master; local[*] is this machine alone.")
    ] = "local[*]",
    cluster_id: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Whose log it is, if the source does not say."),
    ] = None,
    command_property: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="How to reach brokers; may be repeated."),
    ] = None,
    stage_only: Annotated[
        bool, typer.Option("--stage-only", help="Only log_records; no table is derived from it.")
    ] = False,
    follow: Annotated[
        bool, typer.Option("--follow", help="Go on as the log grows, until Ctrl-C.")
    ] = False,
    interval: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="With --follow: between two looks.")
    ] = 10.0,
    lag_interval: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="How finely lag is told over time: 1s, 5m, 1h. Another one derives all anew.",
        ),
    ] = "60s",
) -> None:
    """Read what is new in a log and bring the tables up to date.

    May be repeated and interrupted at any time: each record appears once. A source directory and
    the warehouse are directories that all machines of the Spark cluster see. Exits with 1 if a part
    of the log is damaged and could not be read, or if the log breaks a promise of a group
    coordinator (table verification), with 3 if nothing could be done.
    """
    try:
        from drumbeat.pipeline.errors import PipelineError
        from drumbeat.pipeline.job import open_stage_job
    except ModuleNotFoundError as missing:
        _fail_for_missing(missing)
    from drumbeat.pipeline.follow import Follower
    from drumbeat.pipeline.pass_over import run_pass
    from drumbeat.pipeline.progress import reporter
    from drumbeat.pipeline.session import COORDINATING, spark_session

    # What matters is raised; py4j also logs it, and even a Ctrl-C, with tracebacks.
    logging.basicConfig(handlers=[logging.NullHandler()])
    options = key_values(command_property or [], "--command-property")
    lag_interval_ms = _interval_ms(lag_interval)
    try:
        with (
            open_stage_job(source, warehouse, cluster_id, options) as job,
            spark_session(master, COORDINATING) as spark,
        ):
            make_pass = partial(
                run_pass,
                job,
                spark,
                partial(reporter, sys.stderr),
                stage_only=stage_only,
                lag_interval_ms=lag_interval_ms,
            )
            if follow:
                follower = Follower(job, spark, lambda: _tell_pass(make_pass()))
                follower.run(source, options, int(interval * 1000))
                print(f"ended; state {job.writer.manifest.number}")
                return
            report = make_pass(asks_coordinators=True)
    except PipelineError as problem:
        _fail(EXIT_FAILED, str(problem))
    except KeyboardInterrupt:
        _fail(EXIT_INTERRUPTED, "interrupted; what was not finished is as it was")
    _tell(report)


@app.command()
def generate(
    directory: Annotated[
        str, typer.Argument(metavar="DIR", help="Data directory to make, with an offsets log.")
    ],
    records: Annotated[int, typer.Option(metavar="N", min=0, help="How many records.")] = 1_000_000,
    groups: Annotated[int, typer.Option(metavar="N", min=1, help="Of how many groups.")] = 2_000,
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, help="The same seed gives the same log.")
    ] = 0,
) -> None:
    """Write an offsets log as a busy cluster would: for trying the pipeline out, at any size."""
    try:
        from drumbeat.pipeline.generator import write_data_directory
    except ModuleNotFoundError as missing:
        _fail_for_missing(missing)

    try:
        summary = write_data_directory(directory, records=records, groups=groups, seed=seed)
    except FileExistsError:
        _fail(EXIT_FAILED, f"{directory} is there already and not empty; choose another directory")
    except OSError as problem:
        _fail(EXIT_FAILED, f"cannot write to {directory}: {problem.strerror or problem}")
    hours = (summary.end_ms - summary.start_ms) / 3_600_000
    print(
        f"{summary.records:,} records of {summary.groups:,} groups, {hours:.1f} hours, "
        f"{summary.bytes / 1e6:,.1f} MB in {directory}"
    )


def _interval_ms(text: str) -> int:
    match = _INTERVAL.fullmatch(text)
    if match is None or not int(match[1]):
        raise typer.BadParameter(f"--lag-interval {text!r}: a number and ms, s, m or h, such as 1s")
    return int(match[1]) * _UNITS_MS[match[2]]


def _tell_pass(report: "PassReport") -> None:
    """One line, and what is wrong."""
    from drumbeat.pipeline.progress import Counts, describe

    staged, derived = report.staged, report.derived
    if not report.is_news:
        return
    elapsed_ms = staged.elapsed_ms + (derived.elapsed_ms if derived is not None else 0)
    said = describe(Counts(staged.rows), elapsed_ms)
    print(f"{said}, {elapsed_ms / 1000:.1f} s, state {report.manifest.number}", flush=True)
    _tell_problems(report)


def _tell(report: "PassReport") -> None:
    _tell_staged(report.staged)
    if report.derived is not None:
        _tell_derived(report.derived)
    _tell_tables(report.manifest)
    if _tell_problems(report):
        raise typer.Exit(EXIT_DAMAGE)


def _tell_staged(report: "StageReport") -> None:
    from drumbeat.pipeline.progress import Counts, describe

    if not report.rows:
        print("nothing new in the log")
        return
    counts = Counts(report.rows, report.bytes)
    seconds = report.elapsed_ms / 1000
    print(f"staged {describe(counts, report.elapsed_ms)}, {seconds:.1f} s, {report.files} files")


def _tell_derived(report: "DeriveReport") -> None:
    from drumbeat.pipeline.progress import Counts, describe

    if not report.partitions:
        print("derived tables are up to date")
        return
    said = describe(Counts(report.records), report.elapsed_ms)
    seconds = report.elapsed_ms / 1000
    print(f"derived from {said}, {seconds:.1f} s, {report.partitions} log partitions")


def _tell_tables(manifest: "Manifest") -> None:
    from rich.console import Console
    from rich.table import Table

    from drumbeat.pipeline.schemas import TABLES

    shown = Table(box=None, pad_edge=False, header_style="")
    shown.add_column("table")
    shown.add_column("rows", justify="right")
    for name in TABLES:
        if name in manifest.tables:
            shown.add_row(name, f"{manifest.rows(name):,}")
    Console().print(shown)
    print(f"state {manifest.number}")


def _tell_problems(report: "PassReport") -> bool:
    """On standard error; whether there is one that the exit code has to tell."""
    for text in report.staged.damage:
        print(f"drumbeat pipeline: damaged, read up to there: {text}", file=sys.stderr)
    for invariant in report.broken:
        line = f"{invariant.certainty} of {invariant.invariant}, times: {invariant.times:,}"
        print(f"drumbeat pipeline: {line} (table verification)", file=sys.stderr)
    return bool(report.staged.damage) or any(each.is_violation for each in report.broken)


def _fail_for_missing(missing: ModuleNotFoundError) -> NoReturn:
    _fail(EXIT_CONFIG, f"{missing.name} is not installed; pip install 'drumbeat[spark]'")


def _fail(code: int, text: str) -> NoReturn:
    print(f"drumbeat pipeline: {text}", file=sys.stderr)
    raise typer.Exit(code)
