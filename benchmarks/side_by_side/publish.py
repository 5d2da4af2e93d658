"""Put a run's numbers into benchmarks/README.md and its picture into docs/.

python -m benchmarks.side_by_side.publish benchmarks/results/full-….json
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.side_by_side import REPOSITORY
from benchmarks.side_by_side.plot import plot
from benchmarks.side_by_side.report import goal_table, noise_text, read, value_table
from benchmarks.side_by_side.results import Results

README = REPOSITORY / "benchmarks" / "README.md"
PICTURE = REPOSITORY / "docs" / "benchmark.png"
BEGIN, END = "<!-- begin: written by publish.py -->\n", "<!-- end -->\n"


def main() -> None:
    (path,) = sys.argv[1:]
    results, machine = read(Path(path))
    before, _, rest = README.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    README.write_text(f"{before}{BEGIN}\n{_section(results, machine)}\n{END}{after}")
    plot(results, PICTURE)


def _section(results: Results, machine: dict[str, str]) -> str:
    facts = [f"- {name}: {value}" for name, value in machine.items()]
    facts.append(f"- {noise_text(results)}")
    return "\n\n".join(
        (
            "\n".join(facts),
            "### Goals",
            _markdown(*goal_table(results)),
            "### Everything, as median (lowest - highest)",
            _markdown(*value_table(results)),
        )
    )


def _markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


if __name__ == "__main__":
    main()
