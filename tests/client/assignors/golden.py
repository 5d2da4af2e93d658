"""Recorded answers of Apache Kafka's assignors, one generated history a line.

To record them again, where Java is: `PYTHONPATH=tests python -m interop.record_assignors`.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

from client.assignors.histories import Assignment, Round, from_runs

FOLDER = Path(__file__).parent / "golden"
GOLDEN = sorted(FOLDER.glob("*.jsonl"))


class Recorded(NamedTuple):
    name: str
    rounds: list[Round]
    results: list[Assignment]
    data: dict[str, Any]


def recorded(path: Path) -> list[Recorded]:
    return [_history(json.loads(line)) for line in path.read_text().splitlines()]


def _history(data: dict[str, Any]) -> Recorded:
    rounds = [Round.from_json(one) for one in data["rounds"]]
    results = [
        {member_id: from_runs(runs) for member_id, runs in result.items()}
        for result in data["results"]
    ]
    return Recorded(data["assignor"], rounds, results, data)
