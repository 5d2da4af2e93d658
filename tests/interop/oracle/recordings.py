"""What Apache Kafka answered to the regressions, kept, so that they need no Java every time."""

import json
import re
from pathlib import Path

from interop.oracle.brokers import Drumbeat, Kafka
from interop.oracle.campaign import Steps
from interop.oracle.normal import Plain
from interop.oracle.regressions import REGRESSIONS
from interop.oracle.solo import Solo

FILE = Path(__file__).parents[2] / "golden/regressions.json"
PREFIX = "recorded-"

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

# A write without an answer is seen some time later: when, only two brokers can tell together.
RECORDED: dict[str, Steps] = {
    name: steps for name, steps in REGRESSIONS.items() if not any(step.is_silent for step in steps)
}


async def answers(broker: Kafka | Drumbeat, name: str) -> list[Plain]:
    """The answers to a regression, without what is drawn anew each time."""
    solo = Solo(broker, f"{PREFIX}{list(RECORDED).index(name)}-")
    try:
        return _scrubbed(await solo.play(RECORDED[name]))
    finally:
        solo.close()


def load() -> dict[str, list[Plain]]:
    recorded: dict[str, list[Plain]] = json.loads(FILE.read_text())
    return recorded


def save(recorded: dict[str, list[Plain]]) -> None:
    """A line for each answer, so that a change can be read."""
    sequences = (
        f"{json.dumps(name)}: [\n" + ",\n".join(map(json.dumps, answered)) + "\n]"
        for name, answered in recorded.items()
    )
    FILE.write_text("{\n" + ",\n".join(sequences) + "\n}\n")


def _scrubbed(answered: list[Plain]) -> list[Plain]:
    """As JSON has it, with member ids numbered as they appear."""
    text = json.dumps(answered, default=lambda raw: f"hex {raw.hex()}")
    numbers: dict[str, str] = {}
    scrubbed: list[Plain] = json.loads(
        _UUID.sub(lambda found: numbers.setdefault(found[0], f"<uuid-{len(numbers)}>"), text)
    )
    return scrubbed
