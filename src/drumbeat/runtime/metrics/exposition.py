"""Numbers as Prometheus reads them: the text exposition format, version 0.0.4."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal, NamedTuple

from drumbeat.runtime.metrics.histogram import Histogram

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

LINES_PER_TURN = 1000  # others get their turn after so many

Kind = Literal["counter", "gauge", "histogram"]
Labels = Mapping[str, object]

_VALUE_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})
_HELP_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n"})


class Sample(NamedTuple):
    """One number; `suffix` tells the parts of a histogram apart."""

    labels: Labels
    value: float
    suffix: str = ""


class Family(NamedTuple):
    """All samples of one name."""

    name: str
    kind: Kind
    help: str
    samples: Iterable[Sample]


def counter(name: str, help_text: str, value: float) -> Family:
    return Family(name, "counter", help_text, (Sample({}, value),))


def gauge(name: str, help_text: str, value: float) -> Family:
    return Family(name, "gauge", help_text, (Sample({}, value),))


def by_label(
    kind: Kind, name: str, help_text: str, label: str, values: Mapping[str, float]
) -> Family:
    """A family with one label; `values` are by what that label says."""
    return Family(name, kind, help_text, [Sample({label: key}, n) for key, n in values.items()])


def histogram_samples(labels: Labels, histogram: Histogram) -> Iterator[Sample]:
    """Buckets count everything up to their bound, the smaller ones included."""
    below = 0
    for bound, count in zip((*histogram.bounds, "+Inf"), histogram.counts, strict=True):
        below += count
        yield Sample({**labels, "le": bound}, below, "_bucket")
    yield Sample(labels, histogram.total, "_sum")
    yield Sample(labels, below, "_count")


async def render(families: Iterable[Family]) -> str:
    """The whole page, made in turns: a node with many partitions has tens of thousands of lines."""
    lines: list[str] = []
    due = LINES_PER_TURN
    for family in families:
        lines += (
            f"# HELP {family.name} {family.help.translate(_HELP_ESCAPES)}",
            f"# TYPE {family.name} {family.kind}",
        )
        for sample in family.samples:
            lines.append(_line(family.name, sample))
            if len(lines) >= due:
                due += LINES_PER_TURN
                await asyncio.sleep(0)
    lines.append("")
    return "\n".join(lines)


def _line(name: str, sample: Sample) -> str:
    labels, value, suffix = sample
    if not labels:
        return f"{name}{suffix} {value}"
    text = ",".join(
        f'{label}="{str(words).translate(_VALUE_ESCAPES)}"' for label, words in labels.items()
    )
    return f"{name}{suffix}{{{text}}} {value}"
