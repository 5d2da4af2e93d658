"""Assignors: how a group's leader divides the partitions, with the same results as Java's.

The members of a group may run different clients; whichever leads, the answer is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches

from drumbeat.client.assignors.cooperative_sticky import CooperativeStickyAssignor
from drumbeat.client.assignors.port import Assignor
from drumbeat.client.assignors.range import RangeAssignor
from drumbeat.client.assignors.roundrobin import RoundRobinAssignor
from drumbeat.client.assignors.sticky import StickyAssignor
from drumbeat.client.errors import ConfigError

# What `partition_assignment_strategy` takes: a name, Java's class name, a class or an instance.
AssignorChoice = str | Callable[[], Assignor] | Assignor

_JAVA_PACKAGE = "org.apache.kafka.clients.consumer."
_NAMED: dict[str, Callable[[], Assignor]] = {
    "range": RangeAssignor,
    "roundrobin": RoundRobinAssignor,
    "sticky": StickyAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}
_BY_JAVA_NAME: dict[str, Callable[[], Assignor]] = {
    f"{_JAVA_PACKAGE}RangeAssignor": RangeAssignor,
    f"{_JAVA_PACKAGE}RoundRobinAssignor": RoundRobinAssignor,
    f"{_JAVA_PACKAGE}StickyAssignor": StickyAssignor,
    f"{_JAVA_PACKAGE}CooperativeStickyAssignor": CooperativeStickyAssignor,
}
_MAKERS = _NAMED | _BY_JAVA_NAME


def assignors(strategy: Iterable[AssignorChoice]) -> tuple[Assignor, ...]:
    """One for each entry of `partition_assignment_strategy`, the preferred one first."""
    chosen = tuple(assignor(choice) for choice in strategy)
    names = [one.name for one in chosen]
    if not chosen:
        raise ConfigError(f"partition_assignment_strategy is empty; {_offer()}")
    if len(set(names)) < len(names):
        raise ConfigError(
            f"partition_assignment_strategy has the same name twice: {', '.join(names)}"
        )
    return chosen


def assignor(choice: AssignorChoice) -> Assignor:
    """The assignor of that name, or of that class, or the one given."""
    made = _made(choice)
    if not isinstance(made, Assignor):
        raise ConfigError(
            f"{made!r} in partition_assignment_strategy is no assignor: it needs what "
            f"{Assignor.__module__}.Assignor has; or {_offer()}"
        )
    return made


def _made(choice: AssignorChoice) -> object:
    if isinstance(choice, str):
        if choice not in _MAKERS:
            near = get_close_matches(choice.lower(), _NAMED, 1) or get_close_matches(
                choice, _MAKERS, 1
            )
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise ConfigError(
                f"{choice!r} in partition_assignment_strategy is not known: {hint}{_offer()}"
            )
        return _MAKERS[choice]()
    return choice() if isinstance(choice, type) else choice


def _offer() -> str:
    return f"use {', '.join(_NAMED)}, or an assignor of your own (class or instance)"
