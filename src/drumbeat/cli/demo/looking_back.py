"""The second half of the demo: Spark turns the log into tables, and the tables tell the story."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

from drumbeat.cli.demo.live import LiveGroup
from drumbeat.cli.demo.telling import DemoError, Teller

LAG_INTERVAL = "1s"  # the whole story takes less than a minute
NEEDED = ("pyspark", "pyarrow", "duckdb", "matplotlib")


def missing_packages() -> list[str]:
    return [name for name in NEEDED if importlib.util.find_spec(name) is None]


def look_back(folder: str, data: str, live: list[LiveGroup], tell: Teller) -> None:
    warehouse = os.path.join(folder, "warehouse")
    tell.scene("Spark turns the offsets log into tables")
    into = ["--warehouse", warehouse, "--lag-interval", LAG_INTERVAL]
    _drumbeat(["pipeline", "run", "--source", data, *into], tell)
    tell.scene("Why did the groups rebalance?")
    _drumbeat(["history", "rebalances", "--warehouse", warehouse], tell)
    tell.scene("How far behind are they?")
    _drumbeat(["history", "lag", "--warehouse", warehouse], tell)
    tell.scene("Is the history true?")
    verify(warehouse, live, tell)
    tell.scene("The same as a picture")
    for group in live:
        out = os.path.join(folder, f"{group.group_id}.png")
        _drumbeat(
            ["history", "plot", "--warehouse", warehouse, "--group", group.group_id, "--out", out],
            tell,
        )


def verify(warehouse: str, live: list[LiveGroup], tell: Teller) -> None:
    """The log, replayed with the coordinator's own code, against what the coordinator answered."""
    from drumbeat.pipeline.history.replay import replay_of_group
    from drumbeat.pipeline.history.states import group_state
    from drumbeat.pipeline.history.store import open_history
    from drumbeat.pipeline.history.times import END_OF_TIME_MS

    with open_history(warehouse) as history:
        for group in live:
            replay = replay_of_group(history, group.group_id, None)
            found = group_state(history, replay, END_OF_TIME_MS)
            replayed = LiveGroup(
                group.group_id,
                found.state,
                {(p.topic, p.partition): p.member_id for p in found.partitions if p.member_id},
                {
                    (p.topic, p.partition): p.committed_offset
                    for p in found.partitions
                    if p.committed_offset is not None
                },
            )
            if replayed != group:
                raise DemoError(f"replay of {group.group_id!r} gives {replayed}, live was {group}")
            tell.say(
                f"{group.group_id}: replay equals the live coordinator: {group.state}, "
                f"{len(group.owners)} owners, {len(group.committed)} committed offsets"
            )


def _drumbeat(words: list[str], tell: Teller) -> None:
    """As a command of its own, shown as one would type it."""
    tell.command(words)
    sys.stdout.flush()
    ended = subprocess.run([sys.executable, "-m", "drumbeat.cli.main", *words], check=False)
    if ended.returncode:
        raise DemoError(f"'drumbeat {' '.join(words[:2])}' ended with {ended.returncode}")
