"""Sequences of steps, drawn by Hypothesis.

A step is a kind, a client, a version, and up to two deviations from what a well-behaved client
would send. Most steps have none: a sequence of nothing but errors finds little. Whole phrases
(everybody joins, everybody syncs) make groups that live. The first choice of every draw is the
plainest one, and "nothing" the plainest step, so that what fails shrinks to what matters.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st

from interop.oracle.vocabulary import Step, Wait

STEPS = 30
OLD_VERSION_IN = 3  # one of so many steps is sent in an older version

Deviation = dict[str, Any]
Phrase = Callable[[tuple[int, ...]], tuple[Step, ...]]


class Kind(NamedTuple):
    """A kind of step: how often it comes, and how it may deviate."""

    weight: int
    step: type[Step]
    plain: int  # so many deviations are none
    deviations: tuple[Deviation, ...] = ()

    @property
    def choices(self) -> tuple[Deviation, ...]:
        return ({},) * self.plain + self.deviations


class Language(NamedTuple):
    """What the sequences of one subject are made of."""

    casts: tuple[tuple[int, ...], ...]  # the clients that take part
    kinds: tuple[Kind, ...]
    phrases: tuple[tuple[int, Phrase], ...] = ()  # with their weights
    opening: tuple[Step, ...] = ()


def sequences(language: Language) -> st.SearchStrategy[tuple[Step, ...]]:
    return _sequences(language)


@st.composite
def _sequences(draw: st.DrawFn, language: Language) -> tuple[Step, ...]:
    cast = draw(st.sampled_from(language.casts))
    elements: list[Kind | Phrase | None] = [None]
    for kind in language.kinds:
        elements += [kind] * kind.weight
    for weight, phrase in language.phrases:
        elements += [phrase] * weight
    element, client = st.sampled_from(elements), st.sampled_from(cast)
    steps = list(language.opening)
    # A fixed number of draws, whatever they are: the shrinker can then blank out any of them.
    for _ in range(STEPS):
        chosen = draw(element)
        if isinstance(chosen, Kind):
            steps.append(_step(draw, chosen, draw(client)))
        elif chosen is not None:
            steps += chosen(cast)
    return tuple(steps)


def _step(draw: st.DrawFn, kind: Kind, client: int) -> Step:
    fields = {**draw(st.sampled_from(kind.choices)), **draw(st.sampled_from(kind.choices))}
    if kind.step is Wait:
        return Wait(**fields)
    version = draw(st.sampled_from(_version_choices(kind.step)))
    return kind.step(client=client, version=version, **fields)


def _version_choices(step: type[Step]) -> Sequence[int | None]:
    older = list(step.api.versions[:-1])
    return [None] * (max(1, len(older)) * (OLD_VERSION_IN - 1)) + older
