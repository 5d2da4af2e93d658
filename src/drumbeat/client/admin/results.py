"""Answers about many things at once: what was found, and the errors of the rest."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, TypeVar

from drumbeat.client.errors import DrumbeatError, KafkaError, error_for

K = TypeVar("K", bound=Hashable)
R = TypeVar("R")


class SomeFailedError(DrumbeatError):
    """Several things were asked for, and some failed: `errors` by thing, `results` of the others.

    Where one thing was asked for, its own error is raised instead.
    """

    def __init__(self, errors: Mapping[Any, KafkaError], results: Mapping[Any, Any]) -> None:
        super().__init__(errors, results)
        self.errors = dict(errors)
        self.results = dict(results)

    def __str__(self) -> str:
        total = len(self.errors) + len(self.results)
        causes = "; ".join(f"{thing}: {error}" for thing, error in self.errors.items())
        return f"{len(self.errors)} of {total} failed: {causes}"


def named_error(thing: object, code: int, message: str | None = None) -> KafkaError:
    """The error with the thing that it is about in its text."""
    return error_for(code, f"{thing}: {error_for(code, message).message}")


def checked(answers: Mapping[K, R | KafkaError]) -> dict[K, R]:
    """The results, if there is one for everything."""
    errors = {thing: one for thing, one in answers.items() if isinstance(one, KafkaError)}
    results = {thing: one for thing, one in answers.items() if not isinstance(one, KafkaError)}
    if not errors:
        return results
    if len(answers) == 1:
        raise next(iter(errors.values()))
    raise SomeFailedError(errors, results)
