"""What Java's assignors say to generated groups, and where ours is meant to differ."""

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from client.assignors.histories import Assignment, History, Round, from_runs
from drumbeat.client.assignors.cooperative_sticky import claim_of
from drumbeat.client.assignors.stickiness.claims import Claim
from drumbeat.client.assignors.user_data import decode_sticky
from interop.java_programs import java_command

ANSWER_TIMEOUT_S = 300.0


class Answer(NamedTuple):
    """What each member gets and the user data (base64) it sends next, or what was thrown."""

    assignment: Assignment
    user_data: dict[str, str | None]
    error: str | None


def java_answers(histories: Iterable[dict[str, Any]], classes: Path) -> list[list[Answer]]:
    """One process answers all; a history in JSON is a line to it."""
    done = subprocess.run(
        java_command("Assignors", classes=classes),
        input="".join(json.dumps(history) + "\n" for history in histories),
        capture_output=True,
        text=True,
        check=False,
        timeout=ANSWER_TIMEOUT_S,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return [[_answer(one) for one in json.loads(line)] for line in done.stdout.splitlines()]


def _answer(data: dict[str, Any]) -> Answer:
    assignment = {m: from_runs(runs) for m, runs in data.get("assignment", {}).items()}
    return Answer(assignment, data.get("user_data", {}), data.get("error"))


def known_difference(history: History, index: int) -> str | None:
    """Why Java may assign badly, or fail, in that round; None where it must agree with us."""
    if "sticky" not in history.name:
        return None
    seen = [_claims(history.name, one) for one in history.rounds[: index + 1]]
    newest = max(claim.generation_id for claims in seen for claim in claims.values())
    one, claims = history.rounds[index], seen[-1]
    return _stray(one, claims, newest) or _gone(one, claims) or _idle(one)


def _stray(one: Round, claims: dict[str, Claim], newest: int) -> str | None:
    """Java gives a partition back to a member that does not want its topic any more."""
    strays = (
        tp
        for member_id, claim in claims.items()
        for tp in claim.partitions
        if claim.generation_id < newest and tp.topic not in one.members[member_id].topics
    )
    return "an old claim of a member that wants the topic no more" if any(strays) else None


def _gone(one: Round, claims: dict[str, Claim]) -> str | None:
    """Java gives other partitions of that topic to two members."""
    gone = (
        tp
        for claim in claims.values()
        for tp in claim.partitions
        if tp.partition >= len(one.cluster.get(tp.topic, ())) > 0
    )
    return "a claim to a partition that is gone" if any(gone) else None


def _idle(one: Round) -> str | None:
    """Java gives partitions to a member that wants none, if it comes first in its map."""
    wishes = {frozenset(member.topics) for member in one.members.values()}
    is_idle_or_same = frozenset() in wishes and len(wishes) <= 2
    return "a member that wants nothing" if is_idle_or_same else None


def _claims(name: str, one: Round) -> dict[str, Claim]:
    if name == "sticky":
        return {m: decode_sticky(member.user_data) for m, member in one.members.items()}
    return {m: claim_of(member) for m, member in one.members.items()}
