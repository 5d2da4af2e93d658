"""Measure Drumbeat and Apache Kafka side by side, show the table, keep JSON and a plot.

    python -m benchmarks.side_by_side [--quick] [--patience SECONDS]

Without Java, Maven or its registry, Drumbeat is measured alone. No ratio makes it fail.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.side_by_side import REPOSITORY, memory, report
from benchmarks.side_by_side.bench import FULL, QUICK, Bench, Plan
from benchmarks.side_by_side.brokers import (
    COMPILED,
    KAFKA,
    KAFKA_SYNCED,
    drumbeat,
    interpreted_drumbeat,
    kafka,
    kafka_jars,
)
from benchmarks.side_by_side.machine import describe
from benchmarks.side_by_side.phases import Systems, measure_all
from benchmarks.side_by_side.plot import plot
from benchmarks.side_by_side.processes import raise_descriptor_limit

RESULTS = REPOSITORY / "benchmarks" / "results"
SYNC_EVERY_APPEND = {"log.flush.interval.messages": "1"}


def main() -> None:
    arguments = _arguments()
    raise_descriptor_limit()
    plan = QUICK if arguments.quick else FULL
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="drumbeat-bench-", dir=arguments.dir) as name:
        folder = Path(name)
        systems = _systems(folder, plan)
        machine = describe(folder, has_kafka=len(systems.main) > 1)
        bench = Bench(plan, folder, arguments.patience)
        bench.say("memory is used once before anybody is measured")
        machine["memory used before"] = memory.touch()
        measure_all(bench, systems)
    machine["duration"] = f"{time.monotonic() - began:.0f} s"
    size = "quick" if arguments.quick else "full"
    path = RESULTS / f"{size}-{time.strftime('%Y%m%dT%H%M%S')}.json"
    report.write(bench.results, machine, path)
    report.show(bench.results, machine)
    print(f"written: {path.relative_to(REPOSITORY)}")
    _plot(path)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="only what the goals are about")
    parser.add_argument("--dir", default=None, help="where servers keep data; else a temporary one")
    parser.add_argument(
        "--patience",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="how long each measurement waits for the rest of the machine to be quiet",
    )
    return parser.parse_args()


def _systems(folder: Path, plan: Plan) -> Systems:
    if not COMPILED.exists():
        sys.exit(f"{COMPILED.relative_to(REPOSITORY)} is missing; `make compiled` builds it")
    beside = [interpreted_drumbeat()] if plan.growth else []
    found = kafka_jars()
    if isinstance(found, str):
        print(f"Drumbeat is measured alone. {found}")
        return Systems([drumbeat()], beside, [])
    flushing = kafka(KAFKA_SYNCED, folder, SYNC_EVERY_APPEND)
    return Systems([drumbeat(), kafka(KAFKA, folder)], beside, [flushing])


def _plot(path: Path) -> None:
    results, _ = report.read(path)
    plot(results, path.with_suffix(".png"))
    print(f"written: {path.with_suffix('.png').relative_to(REPOSITORY)}")


if __name__ == "__main__":
    main()
