"""drumbeat pipeline: the offsets log becomes tables, on Spark."""

import logging
import sys
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

if TYPE_CHECKING:
    from drumbeat.pipeline.derive import DeriveReport
    from drumbeat.pipeline.job import StageReport
    from drumbeat.pipeline.promises import Broken

app = typer.Typer(add_completion=False, rich_markup_mode=None)

EXIT_DAMAGE, EXIT_CONFIG, EXIT_FAILED, EXIT_INTERRUPTED = 1, 2, 3, 130


@app.callback()
def pipeline() -> None:
    """Turn the offsets log of a cluster into tables, on Spark."""


@app.command()
def run(
    source: Annotated[
        str,
        typer.Option(metavar="DIR", help="Data directory of a node, Drumbeat's or Kafka's."),
    ],
    warehouse: Annotated[
        str, typer.Option(metavar="DIR", help="Where the tables are, or will be.")
    ],
    master: Annotated[
        str, typer.Option(metavar="URL", help="Spark's master; local[*] is this machine alone.")
    ] = "local[*]",
    cluster_id: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Whose log it is, if the directory does not say."),
    ] = None,
    stage_only: Annotated[
        bool, typer.Option("--stage-only", help="Only log_records; no table is derived from it.")
    ] = False,
) -> None:
    """Read what is new in a log and bring the tables up to date.

    May be repeated and interrupted at any time: each record appears once. The source and the
    warehouse are directories that all machines of the Spark cluster see. Exits with 1 if a part of
    the log is damaged and could not be read, or if the log breaks a promise of a group coordinator
    (table verification), with 3 if nothing could be done.
    """
    try:
        from drumbeat.pipeline.derive import DeriveJob
        from drumbeat.pipeline.errors import PipelineError
    except ModuleNotFoundError as missing:
        _fail_for_missing(missing)
    from drumbeat.pipeline.job import open_stage_job
    from drumbeat.pipeline.progress import reporter
    from drumbeat.pipeline.promises import broken_promises
    from drumbeat.pipeline.session import COORDINATING, spark_session
    from drumbeat.pipeline.warehouse import Warehouse

    # What matters is raised; py4j also logs it, and even a Ctrl-C, with tracebacks.
    logging.basicConfig(handlers=[logging.NullHandler()])
    derived, broken = None, []
    try:
        with (
            open_stage_job(source, warehouse, cluster_id) as job,
            spark_session(master, COORDINATING) as spark,
        ):
            with reporter(sys.stderr, "staging") as show:
                staged = job.run(spark, show)
            if not stage_only:
                with reporter(sys.stderr, "deriving") as show:
                    derived = DeriveJob(job.folder, job.writer).run(spark, show)
                broken = broken_promises(Warehouse(warehouse), job.folder.cluster_id)
    except PipelineError as problem:
        _fail(EXIT_FAILED, str(problem))
    except KeyboardInterrupt:
        _fail(EXIT_INTERRUPTED, "interrupted; what was not finished is as it was")
    _tell_staged(staged)
    if derived is not None:
        _tell_derived(derived)
    _tell_tables(staged if derived is None else derived)
    _tell_problems(staged.damage, broken)


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


def _tell_tables(report: "StageReport | DeriveReport") -> None:
    from rich.console import Console
    from rich.table import Table

    from drumbeat.pipeline.schemas import TABLES

    manifest = report.manifest
    shown = Table(box=None, pad_edge=False, header_style="")
    shown.add_column("table")
    shown.add_column("rows", justify="right")
    for name in TABLES:
        if name in manifest.tables:
            shown.add_row(name, f"{manifest.rows(name):,}")
    Console().print(shown)
    print(f"state {manifest.number}")


def _tell_problems(damage: tuple[str, ...], broken: "list[Broken]") -> None:
    """On standard error; exits if there is a reason to."""
    for text in damage:
        print(f"drumbeat pipeline: damaged, read up to there: {text}", file=sys.stderr)
    for invariant in broken:
        line = f"{invariant.certainty} of {invariant.invariant}, times: {invariant.times:,}"
        print(f"drumbeat pipeline: {line} (table verification)", file=sys.stderr)
    if damage or any(invariant.is_violation for invariant in broken):
        raise typer.Exit(EXIT_DAMAGE)


def _fail_for_missing(missing: ModuleNotFoundError) -> NoReturn:
    _fail(EXIT_CONFIG, f"{missing.name} is not installed; pip install 'drumbeat[spark]'")


def _fail(code: int, text: str) -> NoReturn:
    print(f"drumbeat pipeline: {text}", file=sys.stderr)
    raise typer.Exit(code)
