"""What a configuration value must satisfy, in the notation of the key tables.

A rule is short text: ``1..`` (at least 1), ``0..1`` (between), ``-1|1..9``
(either), ``{a,b}`` (one of), ``{A,B}i`` (one of, in any case), ``nonempty`` and ``replicas``.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

ConfigValue = bool | int | float | str | tuple[str, ...] | None


class Rule(NamedTuple):
    """A check, and the words that finish the sentence "expected …" when it fails."""

    wants: str
    allows: Callable[[ConfigValue], bool]


def parse_rule(notation: str) -> Rule:
    """Read a rule of the key tables; the tables are ours, so a bad one is a bug."""
    if (named := _NAMED_RULES.get(notation)) is not None:
        return named
    if notation.startswith("{"):
        return _choice(notation)
    return _any_of([_range(part) for part in notation.split("|")])


def _any_of(rules: list[Rule]) -> Rule:
    if len(rules) == 1:
        return rules[0]
    wants = " or ".join(rule.wants for rule in rules)
    return Rule(wants, lambda value: any(rule.allows(value) for rule in rules))


def _range(notation: str) -> Rule:
    """``-1``, ``1..`` or ``1..9``; bounds are inclusive, as in Kafka."""
    low_text, dots, high_text = notation.partition("..")
    low = float(low_text) if "." in low_text else int(low_text)
    if not dots:
        return Rule(low_text, lambda value: value == low)
    if not high_text:
        return Rule(f"at least {low_text}", lambda value: _number(value) >= low)
    high = float(high_text) if "." in high_text else int(high_text)
    wants = f"between {low_text} and {high_text}"
    return Rule(wants, lambda value: low <= _number(value) <= high)


def _choice(notation: str) -> Rule:
    """``{a,b}``; for a list every element is held against it."""
    body, _, flag = notation[1:].partition("}")
    choices = body.split(",")
    allowed = {choice.lower() for choice in choices} if flag == "i" else set(choices)

    def allows(value: ConfigValue) -> bool:
        elements = value if isinstance(value, tuple) else (str(value),)
        return all((e.lower() if flag == "i" else e) in allowed for e in elements)

    return Rule(f"one of {', '.join(choices)}", allows)


def _number(value: ConfigValue) -> float:
    assert isinstance(value, int | float), value
    return value


_REPLICA = re.compile(r"[0-9]+:[0-9]+")


def _is_replica_list(value: ConfigValue) -> bool:
    assert isinstance(value, tuple), value
    return value == ("*",) or all(_REPLICA.fullmatch(replica) for replica in value)


_NAMED_RULES = {
    "nonempty": Rule("not empty", bool),
    "replicas": Rule("'*' or partition:broker pairs", _is_replica_list),
}
