"""Why a question cannot be answered: each text says what is wrong, and what helps."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from drumbeat.pipeline.errors import PipelineError


class HistoryError(PipelineError):
    """The question cannot be answered from this warehouse."""


class UnknownGroup(HistoryError):  # noqa: N818 - named after Kafka's own errors
    """The warehouse has no record of the group."""

    def __init__(self, group_id: str, known: Iterable[str]) -> None:
        near = get_close_matches(group_id, list(known))
        advice = f"did you mean {' or '.join(map(repr, near))}?" if near else "see history groups"
        super().__init__(f"the warehouse knows no group {group_id!r}; {advice}")
