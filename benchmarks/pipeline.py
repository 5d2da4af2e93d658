"""How fast, and at what cost, the pipeline turns an offsets log into tables, by size and cores.

    python benchmarks/pipeline.py [--records N ...] [--masters URL ...] [--no-derive]

For each size a log is generated, of one group per 5,000 records, and then, in Spark sessions in
which a small log was processed before:

decode  every record decoded in a task and dropped: what staging cannot be faster than
source  the data source `drumbeat_log` read by Spark, rows in the JVM, and dropped
stage   segments to typed Parquet files, as `drumbeat pipeline run --stage-only`
derive  all other tables from those files, as the rest of `drumbeat pipeline run`

Goals: stage 1.2 M records/s on two cores and at least 70 % of `source`; the cost per record of
10^6, 10^7 and 10^8 records within 20 % (`--records 1000000 10000000 100000000` takes some 15 GB of
disk). CPU time is that of all processes, the JVM included; memory that of the largest worker.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from pyspark.sql import SparkSession

from drumbeat.pipeline.decode.batches import OffsetRange
from drumbeat.pipeline.derive import DeriveJob
from drumbeat.pipeline.generator import write_data_directory
from drumbeat.pipeline.job import SHARED_BYTES_MAX, open_stage_job
from drumbeat.pipeline.progress import show_nothing
from drumbeat.pipeline.session import COORDINATING, register_sources, spark_session
from drumbeat.pipeline.sources.log_folder import LogFolder, LogRange
from drumbeat.pipeline.sources.log_source import read_segment
from drumbeat.pipeline.tasks import run_tasks

SIZES = (1_000_000, 3_000_000)
MASTERS = ("local[1]", "local[2]")
SOURCE = "source"
RECORDS_PER_GROUP = 5_000  # the same at all sizes, and with it what a log consists of
WARM_UP_RECORDS = 20_000
WARM_UPS = 2
EVERYTHING = OffsetRange.of(None, None)
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
HEADER = "   records  step    master    seconds  M records/s     CPU s  CPU us/record  worker MB"


class Sample(NamedTuple):
    records: int
    step: str
    master: str
    seconds: float
    cpu_s: float
    worker_bytes: int  # the most that a worker held at a time

    def __str__(self) -> str:
        return (
            f"{self.records:>10,}  {self.step:<7} {self.master:<9} {self.seconds:>7.2f}"
            f"  {self.rate / 1e6:>11.2f}  {self.cpu_s:>8.2f}  {self.cpu_us:>13.2f}"
            f"  {self.worker_bytes / 1e6:>9.0f}"
        )

    @property
    def rate(self) -> float:
        return self.records / self.seconds

    @property
    def cpu_us(self) -> float:
        return self.cpu_s / self.records * 1e6


# -- the steps -------------------------------------------------------------------------------------


class Decoded(NamedTuple):
    rows: int


def decode_range(log_range: LogRange, directory: str, name: str) -> Decoded:
    """What a task of the stage job does, without the file."""
    segments = log_range.segments
    return Decoded(
        sum(len(rows) for each in segments for rows in read_segment(log_range.source, each))
    )


def decode(spark: SparkSession, log: str, warehouse: str) -> int:
    folder = LogFolder.open(log)
    ranges = [each for source in folder.sources() for each in folder.ranges(source, EVERYTHING)]
    results = run_tasks(spark, ranges, warehouse, decode_range, show_nothing, SHARED_BYTES_MAX)
    return sum(result.rows for result in results)


def read_source(spark: SparkSession, log: str, warehouse: str) -> None:
    rows = spark.read.format("drumbeat_log").load(log)
    rows.write.format("noop").mode("overwrite").save()


def stage(spark: SparkSession, log: str, warehouse: str) -> int:
    with open_stage_job(log, warehouse) as job:
        return job.run(spark).rows


def derive(spark: SparkSession, log: str, warehouse: str) -> int:
    with open_stage_job(log, warehouse) as job:
        return DeriveJob(job.log, job.writer).run(spark).records


Step = Callable[[SparkSession, str, str], int | None]
STEPS: dict[str, Step] = {
    "decode": decode,
    SOURCE: read_source,
    "stage": stage,
    "derive": derive,
}


# -- what processes take ---------------------------------------------------------------------------


class Process(NamedTuple):
    parent: int
    cpu_s: float  # with all of its children that have ended
    is_worker: bool

    @classmethod
    def read(cls, pid: str) -> Process:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
        ticks = sum(map(int, fields[11:15]))
        return cls(int(fields[1]), ticks / TICKS_PER_S, b"pyspark.daemon" in command)


def descendants() -> dict[int, Process]:
    """This process and all below it: the JVM, and the Python workers below that."""
    found: dict[int, Process] = {}
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            found[int(pid)] = Process.read(pid)
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended
    ours = {os.getpid()}
    while more := {pid for pid, each in found.items() if each.parent in ours} - ours:
        ours |= more
    return {pid: each for pid, each in found.items() if pid in ours}


def cpu_s() -> float:
    return sum(process.cpu_s for process in descendants().values())


def largest_worker_bytes() -> int:
    return max(
        (peak_bytes(pid) for pid, each in descendants().items() if each.is_worker), default=0
    )


def peak_bytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


# -- all of it -------------------------------------------------------------------------------------


def measure(spark: SparkSession, step: str, log: str, warehouse: str, records: int) -> Sample:
    cpu_before, started = cpu_s(), perf_counter()
    done = STEPS[step](spark, log, warehouse)
    seconds, cpu = perf_counter() - started, cpu_s() - cpu_before
    assert done in (None, records), f"{step}: {done} of {records} records"
    master = spark.sparkContext.master
    return Sample(records, step, master, seconds, cpu, largest_worker_bytes())


@contextmanager
def generated(directory: str, records: int) -> Iterator[str]:
    log = os.path.join(directory, f"log-{records}")
    groups = max(1, records // RECORDS_PER_GROUP)
    write_data_directory(log, records=records, groups=groups, seed=0)
    try:
        yield log
    finally:
        shutil.rmtree(log)


@contextmanager
def session(master: str, steps: Sequence[str], directory: str) -> Iterator[SparkSession]:
    """A session whose workers are there and have imported what they need."""
    settings = {} if SOURCE in steps else COORDINATING
    with spark_session(master, settings) as spark, generated(directory, WARM_UP_RECORDS) as log:
        register_sources(spark)
        for _ in range(WARM_UPS):
            run(spark, steps, log, directory, WARM_UP_RECORDS)
        yield spark


def run(
    spark: SparkSession, steps: Sequence[str], log: str, directory: str, records: int
) -> list[Sample]:
    with tempfile.TemporaryDirectory(dir=directory) as warehouse:
        return [measure(spark, step, log, warehouse, records) for step in steps]


def samples(
    sizes: Sequence[int], masters: Sequence[str], steps: Sequence[str], directory: str
) -> Iterator[Sample]:
    """Rows enter the JVM in one step only, which therefore needs another kind of session."""
    jobs = [step for step in steps if step != SOURCE]
    with ExitStack() as logs:
        paths = {size: logs.enter_context(generated(directory, size)) for size in sorted(sizes)}
        for master in masters:
            for together in ([SOURCE], jobs):
                with session(master, together, directory) as spark:
                    for size, path in paths.items():
                        yield from run(spark, together, path, directory, size)


def summary(found: list[Sample]) -> Iterator[str]:
    """What the goals speak of."""
    by_place = {(each.step, each.records, each.master): each for each in found}
    sizes, masters = (
        {getattr(each, name): None for each in found} for name in ("records", "master")
    )
    for records in sizes:
        for master in masters:
            staged, read = (by_place[step, records, master] for step in ("stage", SOURCE))
            decoded = by_place["decode", records, master]
            yield (
                f"{records:,} on {master}: stage reaches {staged.rate / read.rate:.0%} of source, "
                f"{staged.rate / decoded.rate:.0%} of decode"
            )
    first, *others = sizes
    one, *more = masters
    for step in {each.step: None for each in found}:
        for records in others:
            costs = [by_place[step, size, one].cpu_us for size in (first, records)]
            yield f"{step}: {records:,} records cost {costs[1] / costs[0]:.2f} x {first:,}, each"
        for master in more:
            for records in sizes:
                rates = [by_place[step, records, each].rate for each in (one, master)]
                yield f"{step}, {records:,}: {master} is {rates[1] / rates[0]:.2f} x {one}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, nargs="+", default=SIZES)
    parser.add_argument("--masters", nargs="+", default=MASTERS)
    parser.add_argument("--no-derive", action="store_true")
    parser.add_argument("--directory", help="for logs and warehouses; removed afterwards")
    options = parser.parse_args()
    steps = tuple(step for step in STEPS if step != "derive" or not options.no_derive)
    found = []
    with tempfile.TemporaryDirectory(prefix="drumbeat-bench-", dir=options.directory) as directory:
        print(HEADER, flush=True)
        for sample in samples(options.records, options.masters, steps, directory):
            print(sample, flush=True)
            found.append(sample)
    print(*summary(found), sep="\n")


if __name__ == "__main__":
    main()
