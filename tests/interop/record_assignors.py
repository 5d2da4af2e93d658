"""Records the answers of Java's assignors to some generated histories, for the unit tests."""

import json
import tempfile
from pathlib import Path

from client.assignors.golden import FOLDER
from client.assignors.histories import History, as_runs
from interop.assignors import Answer, java_answers, known_difference
from interop.java_programs import compile_ours

BYTES_MAX = 5_000  # of a history; larger ones say little more
SEEDS = range(34)
# Seeds of histories in which several partitions of a topic have moved when one is to return, and
# of some in which it matters that a member had to give something up.
RARE_SEEDS = {
    "sticky": (684, 972, 1185, 1209, 1242, 1626, 2330, 2369, 4663, 5496, 5534),
    "cooperative-sticky": (548, 753, 912, 2251, 2417, 3142, 3841, 4148, 4257, 4502, 5732),
}


def record(name: str, classes: Path) -> None:
    seeds = (*SEEDS, *RARE_SEEDS.get(name, ()))
    histories = [history for seed in seeds if _is_small(history := History(name, seed))]
    answers = java_answers((history.as_json() for history in histories), classes)
    with (FOLDER / f"{name}.jsonl").open("w") as out:
        for history, rounds in zip(histories, answers, strict=True):
            if _differs_as_known(history, rounds):
                continue
            results = [
                {member_id: as_runs(share) for member_id, share in answer.assignment.items()}
                for answer in rounds
            ]
            out.write(_line(history.as_json() | {"results": results}) + "\n")


def _is_small(history: History) -> bool:
    return len(_line(history.as_json())) <= BYTES_MAX


def _differs_as_known(history: History, rounds: list[Answer]) -> bool:
    return any(
        answer.assignment != result and known_difference(history, index) is not None
        for index, (answer, result) in enumerate(zip(rounds, history.results, strict=True))
    )


def _line(data: dict[str, object]) -> str:
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        compile_ours(Path(folder))
        for name in ("range", "roundrobin", "sticky", "cooperative-sticky"):
            record(name, Path(folder))
